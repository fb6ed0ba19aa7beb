// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A sliced tensor inside a gathered or partial buffer: each slice of dimension 0 is a whole tensor of its
// own, wherever the planner put it. Grouped matrix products take the array of pointers.
//
//     auto experts = ragged::slices(gathered, "experts.w1");      // 128 views of [2880, 5760]
//     grouped_gemm(experts.pointers(), experts.shape());
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/view/tensor_view.hpp>

namespace ragged {

/// Host. Valid while the buffer it was taken from stays in its state.
/// @tparam T  const element of a gathered buffer, element of a partial one
template <class T>
class SliceViews {
  public:
    /// @param data  first element of each slice, by its index along dimension 0
    SliceViews(std::vector<T*> data, const Shape& slice)
        : data_(std::move(data))
        , shape_(slice) {}

    std::int64_t size() const { return static_cast<std::int64_t>(data_.size()); }
    /// Shape of one slice.
    const Shape& shape() const { return shape_; }
    /// @pre 0 <= slice < size()
    TensorView<T> operator[](std::int64_t slice) const {
        return {data_[static_cast<std::size_t>(slice)], shape_};
    }
    /// First element of each slice, [size].
    std::span<T* const> pointers() const { return data_; }

    /// Elements from each slice to the next where that is the same for all, else nothing. Slices without gaps
    /// between them, or fewer than two, are shape().elements() apart.
    std::optional<std::int64_t> stride() const {
        if (data_.size() < 2)
            return shape_.elements();
        const std::int64_t first = data_[1] - data_[0];
        for (std::size_t i = 2; i < data_.size(); ++i)
            if (data_[i] - data_[i - 1] != first)
                return std::nullopt;
        return first;
    }

  private:
    std::vector<T*> data_;
    Shape shape_;
};

namespace detail {

/// A stack of no slices is placed as one empty tensor that still has dimension 0.
inline Shape slice_shape(const PlacedTensor& tensor) {
    return tensor.slice < 0 ? slice_of(tensor.spec).shape : tensor.spec.shape;
}

} // namespace detail

/// The slices of the sliced tensor called `name`. Local.
/// @throws PlanError when the group has no such tensor, or it is not sliced
template <class T, class Topology, class State, class PlanType>
auto slices(const DBuffer<T, Topology, State, PlanType>& buffer, std::string_view name) {
    detail::require_whole_tensors<State>();
    const auto [first, count] = buffer.plan().slices_of(name);
    using Access = state::access_t<State, T>;
    std::vector<Access*> data;
    data.reserve(static_cast<std::size_t>(count));
    for (std::size_t i = first; i < first + static_cast<std::size_t>(count); ++i)
        data.push_back(view(buffer, i).data());
    return SliceViews<Access>(std::move(data), detail::slice_shape(buffer.plan().tensors[first]));
}

/// Views of a temporary buffer would outlive its memory: give the buffer a name first.
template <class T, class Topology, class State, class PlanType>
void slices(const DBuffer<T, Topology, State, PlanType>&& buffer, std::string_view name) = delete;

} // namespace ragged
