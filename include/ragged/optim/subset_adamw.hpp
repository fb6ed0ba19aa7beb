// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// AdamW for some tensors of every group: what an optimizer of matrices leaves. Its moments lie over subsets
// of the plans, so they take no memory for the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <type_traits>
#include <vector>

#include <ragged/group/flat.hpp>
#include <ragged/optim/adamw.hpp>
#include <ragged/optim/optimizer.hpp>
#include <ragged/optim/subset_pieces.hpp>

namespace ragged {

namespace detail {

/// Kept by value where there is nothing in it, so that a temporary may be given.
template <class T>
using Kept = std::conditional_t<std::is_empty_v<T>, T, const T&>;

/// A plan and a rank: what buffers are compared with where no buffer lies over that plan.
template <class PlanType>
struct OfPlan {
    using state_type = state::Resident;

    const PlanType* of;
    std::int64_t rank;

    const PlanType& plan() const { return *of; }
    std::int64_t shard_rank() const { return rank; }
};

} // namespace detail

/// The elements that it updates have the bits of AdamW. Local. For optimizers, which check the parameters.
template <class Topology, class PlanType = Plan, group_executor E = HostExecutor>
class SubsetAdamW {
  public:
    using Moment = DBuffer<float, Topology, state::Resident, UnequalPlan>;

    /// No groups yet.
    /// @param executor  outlives this
    SubsetAdamW(const Place<Topology>& place, const E& executor)
        : place_(place)
        , executor_(executor) {}

    /// The next group of the model: zero moments for the tensors that are wanted. The plan need not stay.
    /// @throws PlanError  see subset
    template <class Wanted, memory_resource R>
    void add_group(const PlanType& plan, const Wanted& wanted, R& memory) {
        groups_.emplace_back(plan, wanted, place_, memory);
    }
    /// What add_group takes from the resource.
    template <class Wanted>
    static std::int64_t planned_bytes(const PlanType& plan, const Wanted& wanted, std::int64_t shard_rank) {
        return 2 * static_cast<std::int64_t>(sizeof(float)) * subset(plan, wanted).region_elems(shard_rank);
    }

    /// One step of one group. Elements of other tensors stay as they are.
    template <class T>
    void update(const op::AdamW& step, std::size_t index, const Parameters<T, Topology, PlanType>& of) const {
        const Group& group = groups_[index];
        for (const SubsetPiece& piece : group.pieces)
            detail::update_piece(step, piece, of, executor_, detail::at_state(group.first, piece),
                                 detail::at_state(group.second, piece),
                                 static_cast<const float*>(detail::at_piece(*of.gradient, piece)));
    }

    Moment& first_moment(std::size_t group) { return groups_.at(group).first; }
    Moment& second_moment(std::size_t group) { return groups_.at(group).second; }

    std::int64_t state_bytes() const noexcept {
        std::size_t bytes = 0;
        for (const Group& group : groups_)
            bytes += group.first.bytes() + group.second.bytes();
        return static_cast<std::int64_t>(bytes);
    }

  private:
    struct Group : detail::PlanSubset {
        template <class Wanted, class R>
        Group(const PlanType& of, const Wanted& wanted, const Place<Topology>& place, R& memory)
            : PlanSubset(of, wanted, place.template coordinate<"shard">())
            , first(plan, place, memory)
            , second(plan, place, memory) {}

        Moment first, second;
    };

    Place<Topology> place_;
    detail::Kept<E> executor_;
    std::deque<Group> groups_;
};

} // namespace ragged
