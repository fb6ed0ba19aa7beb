// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// How a tensor lies on a mesh: one placement per axis, in the order in which they are applied. The order is
// what `then` says, whatever the order of the mesh's axes:
//
//     constexpr auto column = ragged::place<"tensor">(ragged::Shard<1>{})     // first cut the columns,
//                                 .then<"shard">(ragged::RaggedEvenly{})      // what is left by blocks
//                                 .then<"replica">(ragged::Replicate{});
//
// The kinds are types, so that what moves a tensor between two placements is chosen by the compiler.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ragged/core/fixed_string.hpp>
#include <ragged/layout/ragged_shard.hpp>
#include <ragged/layout/topology.hpp>

namespace ragged {

/// Every rank of the axis holds the same.
struct Replicate {
    constexpr bool operator==(const Replicate&) const = default;
};

enum class PartialOp : std::uint8_t { sum, avg, max };

/// Every rank of the axis holds a contribution; the value is their sum, average or maximum. An average is the
/// sum, which must fit the element type too, divided at the end. Backward leaves gradients like this; nothing
/// turns into it.
template <PartialOp Op = PartialOp::sum>
struct Partial {
    constexpr bool operator==(const Partial&) const = default;
};

/// Dimension `Dim` in chunks of ceil(extent / ranks): the last chunks may be shorter or empty. The chunks of
/// torch.chunk, so of DTensor's Shard.
template <int Dim>
struct Shard {
    static_assert(0 <= Dim && Dim < max_rank, "ragged: a tensor has dimensions 0 to 7");
    constexpr bool operator==(const Shard&) const = default;
};

namespace detail {

/// A rule that says how each part is cut which earlier placements left.
template <class R>
concept cuts_by_part = requires(const R& rule, std::int64_t part, const CutPattern& cuts) {
    { rule(part, cuts, std::int64_t{1}) } -> std::same_as<RaggedShard>;
};

} // namespace detail

/// A ragged rule cuts what earlier placements left into runs of blocks, one per rank of the axis:
/// rule(cuts, num_ranks) -> RaggedShard. Or rule(part, cuts, num_ranks), for parts that are cut each in its
/// own way: their index is row-major over the coordinates along the axes that cut before. A rule without
/// members is known to the compiler whole: two tensors under it are cut alike.
template <class R>
concept ragged_rule = std::copyable<R> &&
    (detail::cuts_by_part<R> || requires(const R& rule, const CutPattern& cuts) {
        { rule(cuts, std::int64_t{1}) } -> std::same_as<RaggedShard>;
    });

/// As many blocks on each rank, as far as they go.
struct RaggedEvenly {
    constexpr RaggedShard operator()(const CutPattern& cuts, std::int64_t num_ranks) const {
        return RaggedShard::from_weights(cuts,
                                         std::vector<std::int64_t>(static_cast<std::size_t>(num_ranks), 1));
    }
    constexpr bool operator==(const RaggedEvenly&) const = default;
};

/// Blocks in proportion to one weight per rank.
struct RaggedByWeights {
    std::vector<std::int64_t> weights;

    /// @throws PlanError  another number of ranks; as RaggedShard::from_weights
    constexpr RaggedShard operator()(const CutPattern& cuts, std::int64_t num_ranks) const {
        if (static_cast<std::int64_t>(weights.size()) != num_ranks)
            throw PlanError(concat("got ", weights.size(), " weights for ", num_ranks, " ranks"));
        return RaggedShard::from_weights(cuts, weights);
    }
    constexpr bool operator==(const RaggedByWeights&) const = default;
};

/// All of it on one rank: whole-matrix work.
struct RaggedOnRank {
    std::int64_t root = 0;

    /// @throws PlanError  no such rank
    constexpr RaggedShard operator()(const CutPattern& cuts, std::int64_t num_ranks) const {
        return RaggedShard::on_rank(cuts, num_ranks, root);
    }
    constexpr bool operator==(const RaggedOnRank&) const = default;
};
static_assert(ragged_rule<RaggedEvenly> && ragged_rule<RaggedByWeights> && ragged_rule<RaggedOnRank> &&
              ragged_rule<RaggedShard>);

/// What the compiler knows about the placement along one axis.
struct PlacementKind {
    enum class Kind : std::uint8_t { replicate, partial, shard, ragged, root };

    Kind kind = Kind::replicate;
    PartialOp op = PartialOp::sum; // of partial
    int dim = -1;                  // of shard
    bool fixed = true;             // two of this kind cut alike; false: a rule with members decides

    constexpr bool operator==(const PlacementKind&) const = default;
    constexpr bool cuts() const { return kind != Kind::replicate && kind != Kind::partial; }
    constexpr bool is_ragged() const { return kind == Kind::ragged || kind == Kind::root; }
};

namespace detail {

template <class P>
struct KindOf {
    static_assert(ragged_rule<P>,
                  "ragged: a placement is Replicate, Partial<op>, Shard<dim>, or a ragged rule: "
                  "RaggedEvenly, RaggedByWeights, RaggedOnRank, a RaggedShard, or your own");
    static constexpr PlacementKind value{std::is_same_v<P, RaggedOnRank> ? PlacementKind::Kind::root
                                                                         : PlacementKind::Kind::ragged,
                                         PartialOp::sum, -1, std::is_empty_v<P>};
};
template <>
struct KindOf<Replicate> {
    static constexpr PlacementKind value{};
};
template <PartialOp Op>
struct KindOf<Partial<Op>> {
    static constexpr PlacementKind value{PlacementKind::Kind::partial, Op};
};
template <int Dim>
struct KindOf<Shard<Dim>> {
    static constexpr PlacementKind value{PlacementKind::Kind::shard, PartialOp::sum, Dim};
};

} // namespace detail

template <class P>
inline constexpr PlacementKind placement_kind = detail::KindOf<P>::value;

/// The placement along one axis.
template <FixedString Name, class P>
struct AlongAxis {
    static constexpr std::string_view axis = Name.view();
    static constexpr PlacementKind kind = placement_kind<P>;
    using placement_type = P;

    [[no_unique_address]] P placement;

    constexpr bool operator==(const AlongAxis&) const = default;
};

/// Placements in order of application. Make them with place().then().
template <class... Along>
class Placements {
  public:
    static constexpr std::size_t size = sizeof...(Along);
    static constexpr std::array<std::string_view, size> axes{Along::axis...};
    static constexpr std::array<PlacementKind, size> kinds{Along::kind...};
    template <std::size_t I>
    using along = std::tuple_element_t<I, std::tuple<Along...>>;

    /// Position of the placement along `axis`, or size.
    static constexpr std::size_t find(std::string_view axis) {
        std::size_t index = 0;
        while (index != size && axes[index] != axis)
            ++index;
        return index;
    }
    /// Position of the one ragged placement, or size.
    static constexpr std::size_t ragged_position = [] {
        std::size_t index = 0;
        while (index != size && !kinds[index].is_ragged())
            ++index;
        return index;
    }();

    constexpr Placements() = default;
    constexpr explicit Placements(std::tuple<Along...> placements)
        : along_(std::move(placements)) {}

    /// The same, and then `placement` along axis `Name` of what is left.
    template <FixedString Name, class P>
    constexpr auto then(P placement) const {
        static_assert(find(Name.view()) == size,
                      "ragged: an axis has one placement; this one has one already");
        static_assert(ragged_position == size || !placement_kind<P>.is_ragged(),
                      "ragged: one axis cuts a tensor by blocks; give the others Shard<dim> or Replicate");
        return Placements<Along..., AlongAxis<Name, P>>(
            std::tuple_cat(along_, std::tuple(AlongAxis<Name, P>{std::move(placement)})));
    }

    template <std::size_t I>
    constexpr const auto& get() const {
        return std::get<I>(along_).placement;
    }

    /// Where all rules compare. Layouts compare what the rules say, so a rule need not.
    constexpr bool operator==(const Placements& other) const requires(std::equality_comparable<Along>&&...) {
        return along_ == other.along_;
    }

  private:
    std::tuple<Along...> along_;
};

/// The placement that is applied first.
template <FixedString Name, class P>
constexpr auto place(P placement) {
    return Placements<>().template then<Name>(std::move(placement));
}

/// "Shard(0)", "RaggedShard", in messages.
inline std::string to_string(const PlacementKind& kind) {
    switch (kind.kind) {
    case PlacementKind::Kind::replicate:
        return "Replicate";
    case PlacementKind::Kind::partial:
        return kind.op == PartialOp::sum   ? "Partial(sum)"
               : kind.op == PartialOp::avg ? "Partial(avg)"
                                           : "Partial(max)";
    case PlacementKind::Kind::shard:
        return concat("Shard(", kind.dim, ")");
    case PlacementKind::Kind::ragged:
        return "RaggedShard";
    default:
        return "RaggedShard on one rank";
    }
}

} // namespace ragged
