// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Where a row-major tensor may be cut without cutting a block. A block of any kind becomes a grid of N-D
// blocks; from the grid follows the cut pattern: a step in flat elements, repeated within a period.
//
//     [6, 5] in 4x2 tiles: two rows of tiles, step 4*5 = 20; legal cuts at 0, 20, 30
//     [2, 6, 5] in 1x4x2 tiles: period 6*5 = 30; legal cuts at 0, 20, 30, 50, 60
#pragma once

#include <algorithm> // std::min

#include <ragged/core/integer.hpp>
#include <ragged/spec/tensor_spec.hpp>

namespace ragged {

/// Legal cuts of one tensor in flat elements: k * period + min(i * step, period). The run between two
/// neighbouring cuts is a **unit**: one block, or one row of tiles.
struct CutPattern {
    std::int64_t elements = 0;
    std::int64_t step = 1;   // the granularity
    std::int64_t period = 1; // at least 1; the last step of a period is shorter when step does not divide it

    constexpr bool operator==(const CutPattern&) const = default;

    constexpr std::int64_t units_per_period() const { return ceil_div(period, step); }
    constexpr std::int64_t num_units() const {
        return elements / period * units_per_period() + ceil_div(elements % period, step);
    }
    /// Whether every cut is a multiple of `step`: one period, or periods without a short last step.
    constexpr bool uniform() const { return elements <= period || period % step == 0; }

    /// The cuts that are also multiples of `stride`: what another axis keeps whole.
    /// @pre stride >= 1 is a product of trailing extents of the tensor
    constexpr CutPattern every(std::int64_t stride) const {
        if (stride == 1 || elements == 0)
            return *this;
        if (uniform())
            return {elements, saturating_lcm(step, stride), elements};
        // extents nest: the stride is whole periods, or divides the step
        return stride % period == 0 ? CutPattern{elements, stride, elements} : *this;
    }

    /// Flat position of cut `index` in [0, num_units()].
    constexpr std::int64_t cut(std::int64_t index) const {
        const std::int64_t units = units_per_period();
        const std::int64_t inside = index % units;
        // step * inside stays below period
        return std::min(elements, index / units * period + inside * step);
    }

    constexpr bool is_cut(std::int64_t position) const {
        return position >= 0 &&
               (position == elements || (position < elements && position % period % step == 0));
    }

    /// Whether first, first + distance, ... are all cuts, as far as they lie below `elements`. Closed form:
    /// how many there are does not matter.
    /// @pre first >= 0, distance >= 1
    constexpr bool are_cuts(std::int64_t first, std::int64_t distance) const {
        if (first >= elements)
            return true;
        const std::int64_t more = (elements - 1 - first) / distance; // behind the first
        if (!is_cut(first) || more == 0)
            return is_cut(first);
        if (uniform())
            return distance % step == 0;
        // The position inside the period moves up by `shift`, or down by what that lacks of a period. It
        // stays on cuts while that is whole steps and no end of the period is passed: the short step lies
        // there.
        const std::int64_t inside = first % period, shift = distance % period, lack = period - shift;
        if (shift % step == 0)
            return shift == 0 || more <= (period - 1 - inside) / shift;
        return lack % step == 0 && more <= inside / lack;
    }

    /// The unit that holds flat element `position`, or num_units() for position == elements.
    constexpr std::int64_t unit_of(std::int64_t position) const {
        if (position == elements)
            return num_units();
        return position / period * units_per_period() + position % period / step;
    }
};

/// A tensor as a grid of blocks: `shape` cut every `block[d]` along each dimension d. Blocks are numbered
/// row-major over the grid, independently of any sharding.
class BlockGrid {
  public:
    constexpr BlockGrid() = default;

    /// @pre check_block accepted the tensor
    constexpr BlockGrid(const Shape& shape, const Block& block) {
        switch (block.kind) {
        case Block::Kind::elements:
            shape_ = {shape.elements()};
            block_ = block.sizes;
            break;
        case Block::Kind::rows: {
            const std::int64_t columns = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
            shape_ = {columns == 0 ? 0 : shape.elements() / columns, columns};
            block_ = {block.sizes[0], std::max<std::int64_t>(columns, 1)};
            break;
        }
        case Block::Kind::tile:
            shape_ = shape;
            block_ = block.sizes;
            break;
        case Block::Kind::whole:
            shape_ = {shape.elements()};
            block_ = {std::max<std::int64_t>(shape.elements(), 1)};
            break;
        }
    }

    constexpr const Shape& shape() const { return shape_; }
    constexpr const Shape& block() const { return block_; }
    constexpr std::int64_t blocks_along(int dim) const { return ceil_div(shape_[dim], block_[dim]); }
    /// Blocks of the whole tensor; 0 when it has no elements.
    constexpr std::int64_t num_blocks() const {
        std::int64_t count = 1;
        for (int dim = 0; dim < shape_.rank(); ++dim)
            count *= blocks_along(dim);
        return count;
    }

    /// The block that holds flat element `position`.
    constexpr std::int64_t block_of(std::int64_t position) const {
        std::int64_t index = 0, stride = 1;
        for (int dim = shape_.rank() - 1; dim >= 0; --dim) {
            index += position % shape_[dim] / block_[dim] * stride;
            position /= shape_[dim];
            stride *= blocks_along(dim);
        }
        return index;
    }

    /// Flat positions of a block's first and last element.
    struct Span {
        std::int64_t first;
        std::int64_t last;
    };
    constexpr Span span_of(std::int64_t block) const {
        Span span{0, 0};
        std::int64_t stride = 1;
        for (int dim = shape_.rank() - 1; dim >= 0; --dim) {
            const std::int64_t along = block % blocks_along(dim) * block_[dim];
            span.first += along * stride;
            span.last += (std::min(along + block_[dim], shape_[dim]) - 1) * stride;
            block /= blocks_along(dim);
            stride *= shape_[dim];
        }
        return span;
    }

    /// The outermost dimension in which a block is thicker than one element decides: blocks that lie side by
    /// side further in are interleaved in memory, so a whole row of them stays together. (A short last row of
    /// tiles that is one element thick could be cut further; it is kept whole.)
    /// @throws PlanError when the step does not fit 64 bits
    constexpr CutPattern cuts() const {
        const int rank = shape_.rank();
        int dim = 0;
        while (dim + 1 < rank && block_[dim] == 1)
            ++dim;
        if (shape_.elements() == 0 || rank == 0)
            return {shape_.elements(), 1, 1};
        const std::int64_t inner = inner_elements(shape_, dim);
        return {shape_.elements(), checked_mul(block_[dim], inner, "granularity of a block"),
                shape_[dim] * inner};
    }

  private:
    Shape shape_;
    Shape block_;
};

/// Legal cuts of one tensor: between blocks, and where whole_from is set between whole steps of the dimension
/// before it.
/// @throws SpecError  the block or whole_from does not fit the tensor, or its granularity does not fit 64
/// bits
template <class Name>
constexpr CutPattern cuts_of(const BasicTensorSpec<Name>& tensor) {
    check_block(tensor);
    try {
        const CutPattern cuts = BlockGrid(tensor.shape, tensor.block).cuts();
        return tensor.whole_from < 0 ? cuts : cuts.every(inner_elements(tensor.shape, tensor.whole_from - 1));
    } catch (const Error& error) {
        throw SpecError(concat("tensor '", tensor.name, "': ", to_string(tensor.block), " on ",
                               to_string(tensor.shape), ": ", error.what()));
    }
}

} // namespace ragged
