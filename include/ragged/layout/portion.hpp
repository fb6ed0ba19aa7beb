// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What one rank holds of one tensor, whatever placements led to it, and the map between its elements and the
// tensor's: an even shard leaves a box of the tensor, a ragged one a run of the box.
//
//     [6, 5], columns 2 to 4, elements 3 to 10 of that box: local 0 is global 7, local 1 is global 8, ...
#pragma once

#include <algorithm> // std::min
#include <array>
#include <cstdint>

#include <ragged/spec/shape.hpp>

namespace ragged {

/// Chunk `index` of `count` of an extent, as Shard<dim> cuts it.
struct Chunk {
    std::int64_t first = 0;
    std::int64_t extent = 0;

    constexpr Chunk(std::int64_t whole, std::int64_t count, std::int64_t index) {
        const std::int64_t size = ceil_div(whole, count);
        first = size == 0 || index > whole / size ? whole : index * size;
        extent = std::min(size, whole - first);
    }
};

/// The flat elements [first, first + elements) of a row-major box of the tensor, stored one after another.
struct Portion {
    Shape shape;                                 // of the tensor
    Shape box;                                   // extents of the box
    std::array<std::int64_t, max_rank> corner{}; // of the box in the tensor
    std::int64_t first = 0;
    std::int64_t elements = 0;

    /// The whole tensor.
    static constexpr Portion of(const Shape& shape) { return {shape, shape, {}, 0, shape.elements()}; }

    constexpr bool operator==(const Portion&) const = default;
    constexpr bool is_whole() const { return elements == shape.elements(); }

    /// Flat element of the tensor at `local`. @pre 0 <= local < elements
    constexpr std::int64_t global(std::int64_t local) const {
        std::int64_t rest = first + local, result = 0, stride = 1;
        for (int dim = box.rank() - 1; dim >= 0; --dim) {
            result += (corner[static_cast<std::size_t>(dim)] + rest % box[dim]) * stride;
            rest /= box[dim];
            stride *= shape[dim];
        }
        return result;
    }

    /// Where flat element `global` of the tensor is stored; -1 when it is not held here.
    /// @pre 0 <= global < shape.elements()
    constexpr std::int64_t local(std::int64_t global) const {
        std::int64_t result = 0, stride = 1;
        for (int dim = box.rank() - 1; dim >= 0; --dim) {
            const std::int64_t inside = global % shape[dim] - corner[static_cast<std::size_t>(dim)];
            if (inside < 0 || inside >= box[dim])
                return -1;
            result += inside * stride;
            global /= shape[dim];
            stride *= box[dim];
        }
        return result < first || result >= first + elements ? -1 : result - first;
    }

    /// Call run(global, local, elements) for the longest contiguous runs, in ascending order of both.
    template <class Run>
    constexpr void for_each_run(const Run& run) const {
        // of the box's contiguous runs: what is whole further in, and one more dimension
        std::int64_t length = 1;
        int dim = box.rank() - 1;
        for (; dim >= 0 && box[dim] == shape[dim]; --dim)
            length *= box[dim];
        if (dim >= 0)
            length *= box[dim];
        for (std::int64_t done = 0; done < elements;) {
            const std::int64_t count = std::min(elements - done, length - (first + done) % length);
            run(global(done), done, count);
            done += count;
        }
    }

    /// Call visit(corner, extents, local) for the boxes of the tensor that together are the portion, in the
    /// order of `local`, where each starts: 2 * rank - 1 of them at most. What checkpoints and other systems
    /// are told.
    template <class Visit>
    constexpr void for_each_box(const Visit& visit) const {
        for (std::int64_t done = 0; done < elements;) {
            const std::int64_t position = first + done, left = elements - done;
            int dim = 0; // the outermost of which whole steps start here and fit
            std::int64_t step = box.rank() == 0 ? 1 : inner_elements(box, 0);
            while (position % step != 0 || left < step)
                step = inner_elements(box, ++dim);
            std::array<std::int64_t, max_rank> start = corner;
            Shape extents;
            std::int64_t rest = position, count = 1;
            for (int d = box.rank() - 1; d >= 0; --d) {
                const std::int64_t at = rest % box[d];
                start[static_cast<std::size_t>(d)] += at;
                rest /= box[d];
                if (d == dim)
                    count = std::min(left / step, box[d] - at);
            }
            for (int d = 0; d < box.rank(); ++d)
                extents.push_back(d < dim ? 1 : d == dim ? count : box[d]);
            visit(start, extents, done);
            done += count * step;
        }
    }

    /// Keep chunk `index` of `count` of dimension `dim`. The run must consist of whole steps of that
    /// dimension and all behind it; of whole rows for dimension 0.
    constexpr void keep_chunk(int dim, std::int64_t count, std::int64_t index) {
        const Chunk chunk(box[dim], count, index);
        const bool whole = first == 0 && elements == box.elements();
        if (dim == 0 && !whole) { // rows of the run, not of the box
            const std::int64_t row = inner_elements(box, 0);
            const Chunk rows(elements / row, count, index); // an empty run came from rows > 0
            first += rows.first * row;
            elements = rows.extent * row;
            return;
        }
        Shape cut;
        for (int d = 0; d < box.rank(); ++d)
            cut.push_back(d == dim ? chunk.extent : box[d]);
        const std::int64_t step = box[dim] * inner_elements(box, dim);
        const std::int64_t kept = chunk.extent * inner_elements(box, dim);
        first = step == 0 ? 0 : first / step * kept;
        elements = step == 0 ? 0 : elements / step * kept;
        corner[static_cast<std::size_t>(dim)] += chunk.first;
        box = cut;
    }

    /// Keep the run [begin, begin + count) of what is held.
    constexpr void keep_run(std::int64_t begin, std::int64_t count) {
        first += begin;
        elements = count;
    }
};

} // namespace ragged
