// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// This rank's piece of one tensor: a run of the tensor's flat elements inside the rank's region, no copy.
//
//     auto piece = ragged::shard(master, "wq");
//     for (std::int64_t i = 0; i < piece.elements(); ++i) use(piece.first() + i, piece[i]);
#pragma once

#include <span>
#include <string_view>

#include <ragged/buffer/dbuffer.hpp>

namespace ragged {

/// Trivially copyable. An empty piece has 0 elements and must not be dereferenced.
template <class T>
class ShardView {
  public:
    RAGGED_HOST_DEVICE constexpr ShardView(T* data, const Shape& shape, std::int64_t first,
                                           std::int64_t elements)
        : data_(data)
        , first_(first)
        , elements_(elements)
        , shape_(shape) {}

    RAGGED_HOST_DEVICE constexpr T* data() const { return data_; }
    /// Flat element of the tensor at which the piece starts.
    RAGGED_HOST_DEVICE constexpr std::int64_t first() const { return first_; }
    RAGGED_HOST_DEVICE constexpr std::int64_t elements() const { return elements_; }
    /// Shape of the whole tensor.
    RAGGED_HOST_DEVICE constexpr const Shape& shape() const { return shape_; }
    RAGGED_HOST_DEVICE constexpr T& operator[](std::int64_t i) const { return data_[i]; }
    /// Host.
    constexpr std::span<T> flat() const { return {data_, static_cast<std::size_t>(elements_)}; }

  private:
    T* data_;
    std::int64_t first_;
    std::int64_t elements_;
    Shape shape_;
};

/// This rank's piece of the tensor at `index` in the plan. Local.
/// @throws BufferError when the plan has fewer tensors
template <class T, class Topology, class State, class PlanType>
auto shard(const DBuffer<T, Topology, State, PlanType>& buffer, std::size_t index) {
    static_assert(
        !std::is_same_v<State, state::Partial>,
        "ragged: a partial buffer has no shard yet; call reduce(std::move(buffer), mesh).wait() first");
    const auto& plan = buffer.plan();
    if (index >= plan.tensors.size())
        throw BufferError(
            concat("group '", plan.name, "' has no tensor ", index, ", it has ", plan.tensors.size()));
    const PlacedTensor& tensor = plan.tensors[index];
    const Piece piece = piece_of(plan, tensor, buffer.shard_rank());
    return ShardView(buffer.region(tensor.segment).data() + piece.region_offset, tensor.spec.shape,
                     piece.first, piece.elements);
}

/// This rank's piece of the tensor called `name`. Local. @throws PlanError when the group has none
template <class T, class Topology, class State, class PlanType>
auto shard(const DBuffer<T, Topology, State, PlanType>& buffer, std::string_view name) {
    return shard(buffer, buffer.plan().index_of(name));
}

/// A piece of a temporary buffer would outlive its memory: give the buffer a name first.
template <class T, class Topology, class State, class PlanType, class Which>
void shard(const DBuffer<T, Topology, State, PlanType>&& buffer, const Which& which) = delete;

} // namespace ragged
