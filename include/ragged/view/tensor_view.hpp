// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A whole tensor inside a gathered or partial buffer: a pointer into the buffer and a row-major shape, no
// copy.
//
//     auto wq = ragged::view(gathered, "wq");          // [4096, 4096]
//     float first = float(wq(0, 0));
#pragma once

#include <concepts>
#include <span>
#include <string_view>

#include <ragged/buffer/dbuffer.hpp>
#include <ragged/plan/static_plan.hpp>

namespace ragged {

/// Trivially copyable; kernels take it by value. Valid while the buffer it was taken from stays in its state.
/// @tparam T        const element of a gathered buffer, element of a partial one
/// @tparam Extents  Shape, or StaticShape when the plan is a constant
template <class T, class Extents = Shape>
class TensorView {
  public:
    RAGGED_HOST_DEVICE constexpr TensorView(T* data, const Extents& shape)
        : data_(data)
        , shape_(shape) {}

    RAGGED_HOST_DEVICE constexpr T* data() const { return data_; }
    RAGGED_HOST_DEVICE constexpr const Extents& shape() const { return shape_; }
    RAGGED_HOST_DEVICE constexpr int rank() const { return shape_.rank(); }
    RAGGED_HOST_DEVICE constexpr std::int64_t extent(int dim) const { return shape_[dim]; }
    RAGGED_HOST_DEVICE constexpr std::int64_t elements() const { return shape_.elements(); }
    /// Elements between neighbours along `dim`.
    RAGGED_HOST_DEVICE constexpr std::int64_t stride(int dim) const {
        std::int64_t product = 1;
        for (int inner = dim + 1; inner < rank(); ++inner)
            product *= shape_[inner];
        return product;
    }

    /// One index per dimension. @pre each is inside its extent
    template <std::convertible_to<std::int64_t>... Indices>
    RAGGED_HOST_DEVICE constexpr T& operator()(Indices... indices) const {
        std::int64_t position = 0;
        int dim = 0;
        ((position = position * shape_[dim++] + static_cast<std::int64_t>(indices)), ...);
        return data_[position];
    }

    /// All elements in row-major order. Host.
    constexpr std::span<T> flat() const { return {data_, static_cast<std::size_t>(elements())}; }

  private:
    T* data_;
    [[no_unique_address]] Extents shape_;
};

namespace detail {

template <class State>
constexpr void require_whole_tensors() {
    static_assert(state::has_whole_tensors<State>,
                  "ragged: only a gathered or a partial buffer holds whole tensors; call "
                  "gather(std::move(buffer), mesh).wait() first");
}

} // namespace detail

/// The tensor at `index` in the plan. Local. @throws BufferError when the plan has fewer tensors
template <class T, class Topology, class State, class PlanType>
auto view(const DBuffer<T, Topology, State, PlanType>& buffer, std::size_t index) {
    detail::require_whole_tensors<State>();
    const auto& plan = buffer.plan();
    if (index >= plan.tensors.size())
        throw BufferError(
            concat("group '", plan.name, "' has no tensor ", index, ", it has ", plan.tensors.size()));
    const PlacedTensor& tensor = plan.tensors[index];
    using Access = state::access_t<State, T>;
    return TensorView<Access>(buffer.segment_data(tensor.segment) + tensor.offset, tensor.spec.shape);
}

/// The tensor called `name`. Local. @throws PlanError when the group has none
template <class T, class Topology, class State, class PlanType>
auto view(const DBuffer<T, Topology, State, PlanType>& buffer, std::string_view name) {
    return view(buffer, buffer.plan().index_of(name));
}

/// A tensor of a constant plan, with its extents in the type. Local.
/// @throws BufferError when the buffer lies over another plan
template <class T, class Topology, class State, class Extents, class PlanType>
auto view(const DBuffer<T, Topology, State, PlanType>& buffer, const StaticTensor<Extents>& tensor) {
    detail::require_whole_tensors<State>();
    const auto& plan = buffer.plan();
    const bool known = tensor.index < plan.tensors.size();
    if (!known || plan.tensors[tensor.index].segment != tensor.segment ||
        plan.tensors[tensor.index].offset != tensor.offset ||
        plan.tensors[tensor.index].spec.shape != Shape(tensor.shape))
        throw BufferError(concat("group '", plan.name, "': tensor ", tensor.index, " of the constant plan, ",
                                 to_string(Shape(tensor.shape)), " at ", tensor.offset, " of segment ",
                                 tensor.segment, ", is not what the buffer's plan has there"));
    using Access = state::access_t<State, T>;
    return TensorView<Access, Extents>(buffer.segment_data(tensor.segment) + tensor.offset, tensor.shape);
}

/// A view of a temporary buffer would outlive its memory: give the buffer a name first.
template <class T, class Topology, class State, class PlanType, class Which>
void view(const DBuffer<T, Topology, State, PlanType>&& buffer, const Which& which) = delete;

} // namespace ragged
