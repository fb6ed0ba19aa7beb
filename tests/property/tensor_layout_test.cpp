// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What every rank holds of small tensors on meshes of one to three axes, under every sequence of placement
// kinds, against placements that are applied one by one to an explicit list of elements.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <ragged/layout/tensor_layout.hpp>

#include "support/block_oracle.hpp"

namespace {

using ragged::Block;
using ragged::CutPattern;
using ragged::PlacementKind;
using ragged::Portion;
using ragged::RaggedShard;
using ragged::Shape;

using List = std::vector<std::int64_t>;

/// Any rule of the library, chosen at run time: one type instead of three.
struct AnyRule {
    std::variant<ragged::RaggedEvenly, ragged::RaggedByWeights, ragged::RaggedOnRank> rule;

    RaggedShard operator()(const CutPattern& cuts, std::int64_t num_ranks) const {
        return std::visit([&](const auto& one) { return one(cuts, num_ranks); }, rule);
    }
};

// -------------------------------------------------------------- what the oracle sees of layouts: no types

/// One placement of a sequence: the axis of the topology, and the kind.
struct Step {
    std::size_t axis;
    PlacementKind kind;
};

/// All that a layout says.
struct Answers {
    std::vector<Step> steps;
    List sizes;                                 // of the topology's axes
    std::vector<std::vector<Portion>> portions; // [depth, rank]
    std::optional<RaggedShard> ragged;          // where no axis cuts before it
    std::optional<ragged::StridedRaggedShard> strided;
};

struct Case {
    Shape shape;
    Block block;
    List sizes; // of the topology's axes
    AnyRule rule;
};
using Make = std::function<Answers(const Case&)>;

using Grids =
    std::tuple<ragged::Topology<ragged::Axis<"a">>, ragged::Topology<ragged::Axis<"a">, ragged::Axis<"b">>,
               ragged::Topology<ragged::Axis<"a">, ragged::Axis<"b">, ragged::Axis<"c">>>;

template <class T, std::size_t... I>
T topology_of(const List& sizes, std::index_sequence<I...>) {
    return T(sizes[I]...);
}

std::int64_t num_ranks_of(const List& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

/// All portions that `portion(rank, depth)` says.
void add_portions(Answers& answers, const std::function<Portion(std::int64_t, std::size_t)>& portion) {
    for (std::size_t depth = 0; depth <= answers.steps.size(); ++depth) {
        answers.portions.emplace_back();
        for (std::int64_t rank = 0; rank < num_ranks_of(answers.sizes); ++rank)
            answers.portions.back().push_back(portion(rank, depth));
    }
}

template <class Placements>
Answers answers(const Case& c, const Placements& placements) {
    using T = std::tuple_element_t<Placements::size - 1, Grids>;
    const ragged::TensorLayout layout(ragged::TensorSpec{"t", c.shape, c.block},
                                      topology_of<T>(c.sizes, std::make_index_sequence<Placements::size>()),
                                      placements);
    Answers result;
    result.sizes = c.sizes;
    for (std::size_t i = 0; i < Placements::size; ++i)
        result.steps.push_back({T::find(Placements::axes[i]), Placements::kinds[i]});
    add_portions(result, [&](std::int64_t rank, std::size_t depth) { return layout.portion(rank, depth); });
    if constexpr (Placements::ragged_position < Placements::size) {
        if constexpr (std::is_same_v<std::decay_t<decltype(layout.ragged())>, RaggedShard>)
            result.ragged = layout.ragged();
        else
            result.strided = layout.ragged();
    }
    return result;
}

// ---------------------------------------------------------------------------------------------- the oracle

/// What is left on the way to one rank: elements in the order in which they are stored, and the box they come
/// from.
struct Rest {
    List elements;
    std::array<std::int64_t, 4> low{}, extent{};
    bool after_ragged = false;
};

class Oracle {
  public:
    Oracle(const Case& c, const Answers& answers)
        : case_(c)
        , answers_(answers)
        , coordinates_(answers.sizes.size(), 0)
        , held_(static_cast<std::size_t>(c.shape.elements()), 0) {}

    /// What is wrong, or "".
    std::string broken() {
        Rest all;
        for (std::int64_t p = 0; p < case_.shape.elements(); ++p)
            all.elements.push_back(p);
        for (int dim = 0; dim < case_.shape.rank(); ++dim)
            all.extent[static_cast<std::size_t>(dim)] = case_.shape[dim];
        descend(0, all);
        std::int64_t copies = 1;
        for (const Step& step : answers_.steps)
            copies *= step.kind.cuts() ? 1 : answers_.sizes[step.axis];
        for (const std::int64_t count : held_)
            if (count != copies)
                complain("an element is held by another number of ranks");
        return broken_;
    }

  private:
    void complain(const std::string& what) {
        if (broken_.empty())
            broken_ = what;
    }

    std::int64_t coordinate(std::int64_t element, int dim) const {
        return element / ragged::inner_elements(case_.shape, dim) % case_.shape[dim];
    }

    Shape box_of(const Rest& rest) const {
        Shape box;
        for (int dim = 0; dim < case_.shape.rank(); ++dim)
            box.push_back(rest.extent[static_cast<std::size_t>(dim)]);
        return box;
    }

    /// Check every rank that has these coordinates along the first `depth` axes, and those behind.
    void descend(std::size_t depth, const Rest& rest) {
        if (depth == answers_.steps.size()) {
            check_portion(answers_.portions[depth][rank()], rest.elements);
            for (const std::int64_t element : rest.elements)
                ++held_[static_cast<std::size_t>(element)];
            return;
        }
        // The axes behind have coordinate 0 here. What a rank holds before they are applied does not depend
        // on it: the last rank stands for the others.
        check_same(answers_.portions[depth][rank()], answers_.portions[depth][last_rank(depth)]);
        check_portion(answers_.portions[depth][rank()], rest.elements);

        const Step& step = answers_.steps[depth];
        const std::int64_t size = answers_.sizes[step.axis];
        const List offsets = step.kind.is_ragged() ? offsets_of(rest, size) : List();
        if (step.kind.is_ragged())
            check_ragged(rest, offsets);
        for (std::int64_t index = 0; index < size; ++index) {
            coordinates_[step.axis] = index;
            descend(depth + 1, step.kind.is_ragged() ? run_of(rest, offsets, index)
                                                     : chunk_of(rest, step.kind, size, index));
        }
        coordinates_[step.axis] = 0;
    }

    std::size_t rank() const {
        std::size_t result = 0;
        for (std::size_t axis = 0; axis < coordinates_.size(); ++axis)
            result = result * static_cast<std::size_t>(answers_.sizes[axis]) +
                     static_cast<std::size_t>(coordinates_[axis]);
        return result;
    }
    std::size_t last_rank(std::size_t depth) {
        const List kept = coordinates_;
        for (std::size_t i = depth; i < answers_.steps.size(); ++i)
            coordinates_[answers_.steps[i].axis] = answers_.sizes[answers_.steps[i].axis] - 1;
        const std::size_t result = rank();
        coordinates_ = kept;
        return result;
    }

    Rest chunk_of(const Rest& rest, const PlacementKind& kind, std::int64_t size, std::int64_t index) const {
        if (kind.kind != PlacementKind::Kind::shard)
            return rest;
        Rest result = rest;
        result.elements.clear();
        const auto dim = static_cast<std::size_t>(kind.dim);
        List along; // what the dimension counts: coordinates, after the ragged axis rows that are still there
        for (std::int64_t i = 0; i < rest.extent[dim]; ++i)
            along.push_back(rest.low[dim] + i);
        if (kind.dim == 0 && rest.after_ragged) {
            along.clear();
            for (const std::int64_t element : rest.elements)
                if (along.empty() || along.back() != coordinate(element, 0))
                    along.push_back(coordinate(element, 0));
        }
        const auto length = static_cast<std::int64_t>(along.size()), chunk = (length + size - 1) / size;
        const std::int64_t begin = std::min(index * chunk, length), end = std::min(begin + chunk, length);
        for (const std::int64_t element : rest.elements) {
            const auto at = std::find(along.begin(), along.end(), coordinate(element, kind.dim));
            if (at - along.begin() >= begin && at - along.begin() < end)
                result.elements.push_back(element);
        }
        result.low[dim] += begin;
        result.extent[dim] = end - begin;
        return result;
    }

    static Rest run_of(const Rest& rest, const List& offsets, std::int64_t index) {
        Rest result = rest;
        const auto at = static_cast<std::size_t>(index);
        result.elements.assign(rest.elements.begin() + offsets[at], rest.elements.begin() + offsets[at + 1]);
        result.after_ragged = true;
        return result;
    }

    /// The block of what is left: a tile that is larger is what is left.
    Block block_of(const Rest& rest) const {
        Block block = case_.block;
        if (block.kind == Block::Kind::tile) {
            block.sizes = {};
            for (int dim = 0; dim < case_.shape.rank(); ++dim)
                block.sizes.push_back(std::clamp<std::int64_t>(rest.extent[static_cast<std::size_t>(dim)], 1,
                                                               case_.block.sizes[dim]));
        }
        return block;
    }

    /// Whether other axes find the dimensions that they cut whole on both sides of `position`.
    bool leaves_others_whole(const Shape& box, std::int64_t position) const {
        bool ragged_seen = false;
        for (const Step& step : answers_.steps) {
            ragged_seen = ragged_seen || step.kind.is_ragged();
            if (step.kind.kind != PlacementKind::Kind::shard || (step.kind.dim == 0 && !ragged_seen))
                continue;
            std::int64_t left = position;
            for (int dim = box.rank() - 1; dim >= std::max(step.kind.dim, 1); --dim) {
                if (left % box[dim] != 0)
                    return false;
                left /= box[dim];
            }
        }
        return true;
    }

    /// First elements of the ranks' runs, and the end.
    List offsets_of(const Rest& rest, std::int64_t size) const {
        const Shape box = box_of(rest);
        const CutPattern pattern = ragged::cuts_of(ragged::TensorSpec{"rest", box, block_of(rest)});
        const auto elements = static_cast<std::int64_t>(rest.elements.size());
        List cuts;
        for (std::int64_t p = 0; p <= elements; ++p)
            if (p == elements || (pattern.is_cut(p) && leaves_others_whole(box, p)))
                cuts.push_back(p);
        List weights(static_cast<std::size_t>(size), 1);
        if (const auto* by = std::get_if<ragged::RaggedByWeights>(&case_.rule.rule))
            weights = by->weights;
        if (const auto* on = std::get_if<ragged::RaggedOnRank>(&case_.rule.rule))
            for (std::int64_t index = 0; index < size; ++index)
                weights[static_cast<std::size_t>(index)] = index == on->root ? 1 : 0;
        const auto units = static_cast<std::int64_t>(cuts.size()) - 1;
        std::int64_t sum = 0, upto = 0;
        for (const std::int64_t weight : weights)
            sum += weight;
        List offsets{0};
        for (const std::int64_t weight : weights) {
            upto += weight;
            offsets.push_back(cuts[static_cast<std::size_t>(units * upto / sum)]);
        }
        return offsets;
    }

    /// No block of what is left has elements on both sides of an offset; owners agree with offsets.
    void check_ragged(const Rest& rest, const List& offsets) {
        const std::vector<bool> legal =
            support::legal_cuts(support::blocks_by_coordinates(box_of(rest), block_of(rest)));
        for (const std::int64_t offset : offsets)
            if (!legal[static_cast<std::size_t>(offset)])
                complain(ragged::concat("a block is cut at ", offset));
        std::int64_t part = 0;
        for (const Step& step : answers_.steps) {
            if (step.kind.is_ragged())
                break;
            if (step.kind.cuts())
                part = part * answers_.sizes[step.axis] + coordinates_[step.axis];
        }
        for (std::size_t r = 0; r + 1 < offsets.size(); ++r) {
            const auto rank = static_cast<std::int64_t>(r);
            if (answers_.strided)
                check_portion(
                    answers_.strided->portion(part, rank),
                    List(rest.elements.begin() + offsets[r], rest.elements.begin() + offsets[r + 1]));
            for (std::int64_t i = offsets[r]; i < offsets[r + 1]; ++i) {
                const std::int64_t element = rest.elements[static_cast<std::size_t>(i)];
                if (answers_.ragged && answers_.ragged->owner(element) != rank)
                    complain(ragged::concat("owner of ", element));
                if (answers_.strided && !(answers_.strided->owner(element) ==
                                          ragged::StridedRaggedShard::Owner{part, rank, i - offsets[r]}))
                    complain(ragged::concat("part, rank or place of ", element));
            }
        }
    }

    void check_same(const Portion& a, const Portion& b) {
        if (!(a == b))
            complain("axes that are not applied yet make a difference");
    }

    /// The portion is this list, both ways and run by run.
    void check_portion(const Portion& portion, const List& list) {
        const auto count = static_cast<std::int64_t>(list.size());
        if (portion.elements != count || !(portion.shape == case_.shape))
            return complain(
                ragged::concat("rank ", rank(), " holds ", portion.elements, " elements, not ", count));
        if (portion.is_whole() != (count == case_.shape.elements()))
            complain("is_whole");
        List where(static_cast<std::size_t>(case_.shape.elements()), -1);
        for (std::int64_t local = 0; local < count; ++local) {
            const std::int64_t element = list[static_cast<std::size_t>(local)];
            if (portion.global(local) != element)
                return complain(ragged::concat("rank ", rank(), " holds ", portion.global(local), " at ",
                                               local, ", not ", element));
            where[static_cast<std::size_t>(element)] = local;
        }
        for (std::int64_t element = 0; element < case_.shape.elements(); ++element)
            if (portion.local(element) != where[static_cast<std::size_t>(element)])
                complain(ragged::concat("rank ", rank(), ": local(", element, ")"));
        std::int64_t done = 0;
        portion.for_each_run([&](std::int64_t global, std::int64_t local, std::int64_t elements) {
            std::int64_t longest = 1;
            while (local + longest < count &&
                   list[static_cast<std::size_t>(local + longest)] == global + longest)
                ++longest;
            if (local != done || local >= count || global != list[static_cast<std::size_t>(local)] ||
                elements != longest)
                complain(ragged::concat("rank ", rank(), ": the run at ", local));
            done = local + elements;
        });
        if (done != count)
            complain("runs do not add up");
    }

    const Case& case_;
    const Answers& answers_;
    List coordinates_; // of the rank under consideration
    List held_;        // ranks that hold an element
    std::string broken_;
};

std::string text_of(const Case& c, const Answers& answers) {
    std::string text = ragged::concat(ragged::to_string(c.shape), " in ", ragged::to_string(c.block));
    for (const Step& step : answers.steps)
        text +=
            ragged::concat(", axis ", step.axis, " of ", answers.sizes[step.axis], " ", to_string(step.kind));
    return text;
}

/// How many cases were checked.
struct Count {
    std::int64_t cases = 0, ranks = 0;
};

void check(const Case& c, const Make& make, Count& count) {
    const Answers answers = make(c);
    ++count.cases;
    count.ranks += static_cast<std::int64_t>(answers.portions.back().size());
    const std::string broken = Oracle(c, answers).broken();
    if (!broken.empty())
        FAIL_CHECK(text_of(c, answers), ": ", broken);
}

// ----------------------------------------------------------------------------- every sequence of placements

using Kinds = std::tuple<ragged::Replicate, ragged::Shard<0>, ragged::Shard<1>, ragged::Shard<2>, AnyRule,
                         ragged::Partial<ragged::PartialOp::avg>>;
constexpr std::size_t num_kinds = std::tuple_size_v<Kinds>;
constexpr std::size_t ragged_kind = 4, partial_kind = 5;
constexpr auto kinds = []<class... P>(std::type_identity<std::tuple<P...>>) {
    return std::array{ragged::placement_kind<P>...};
}(std::type_identity<Kinds>());
static_assert(kinds[ragged_kind].is_ragged());

/// Placements in order of application: the axes, and the kinds as indices.
template <std::size_t N>
struct Order {
    std::array<std::size_t, N> axes, kinds;

    constexpr std::size_t count(std::size_t kind) const {
        return static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), kind));
    }
};

/// Sequence `number` of the N-digit numbers whose digits are kinds, along permutation `number / 6^N` of the
/// axes.
template <std::size_t N>
constexpr Order<N> order_of(std::size_t number) {
    Order<N> order{};
    for (std::size_t i = 0; i < N; ++i, number /= num_kinds) {
        order.axes[i] = i;
        order.kinds[i] = number % num_kinds;
    }
    for (; number > 0; --number)
        std::next_permutation(order.axes.begin(), order.axes.end());
    return order;
}

struct Sequence {
    int dims = 0; // that are cut: a tensor needs as many
    std::optional<std::size_t> ragged_axis;
    Make make;
};

constexpr std::array<ragged::FixedString<2>, 3> names{"a", "b", "c"};

template <class P>
P placement_of(const Case& c) {
    if constexpr (std::is_same_v<P, AnyRule>)
        return c.rule;
    else
        return P();
}

template <class... Along>
ragged::Placements<Along...> placements_of(const Case& c) {
    return ragged::Placements<Along...>(
        std::tuple<Along...>(Along{placement_of<typename Along::placement_type>(c)}...));
}

template <std::size_t N, std::size_t Number, std::size_t... I>
Answers make_layout(const Case& c) {
    constexpr Order<N> order = order_of<N>(Number);
    return answers(
        c, placements_of<
               ragged::AlongAxis<names[order.axes[I]], std::tuple_element_t<order.kinds[I], Kinds>>...>(c));
}

void add(std::vector<Sequence>& sequences, const std::vector<Step>& steps, Make make) {
    Sequence sequence{0, {}, std::move(make)};
    for (const Step& step : steps) {
        sequence.dims = std::max(sequence.dims, step.kind.dim + 1);
        if (step.kind.is_ragged())
            sequence.ragged_axis = step.axis;
    }
    sequences.push_back(std::move(sequence));
}

/// Two ragged axes there cannot be, and on three axes Replicate stands for Partial too.
template <std::size_t N, std::size_t Number, std::size_t... I>
void add_sequence(std::vector<Sequence>& sequences, std::index_sequence<I...>) {
    constexpr Order<N> order = order_of<N>(Number);
    if constexpr (order.count(ragged_kind) <= 1 && (N < 3 || order.count(partial_kind) == 0))
        add(sequences, {{order.axes[I], kinds[order.kinds[I]]}...}, &make_layout<N, Number, I...>);
}

template <std::size_t N, std::size_t... Number>
std::vector<Sequence> sequences_of(std::index_sequence<Number...>) {
    std::vector<Sequence> sequences;
    (add_sequence<N, Number>(sequences, std::make_index_sequence<N>()), ...);
    return sequences;
}

/// Every sequence of three kinds along one order of the axes, orders taken in turn.
template <std::size_t... Number>
std::vector<Sequence> three_axes(std::index_sequence<Number...>) {
    std::vector<Sequence> sequences;
    (add_sequence<3, Number + (Number + Number / 7) % 6 * sizeof...(Number)>(sequences,
                                                                             std::make_index_sequence<3>()),
     ...);
    return sequences;
}

// ------------------------------------------------------------------------------------------ cases, all small

constexpr std::array<std::int64_t, 6> mesh_sizes{1, 2, 3, 4, 5, 8};

List sizes_of_mesh(std::size_t num_axes, std::size_t number) {
    List sizes;
    for (std::size_t axis = 0; axis < num_axes; ++axis, number /= mesh_sizes.size())
        sizes.push_back(mesh_sizes[number % mesh_sizes.size()]);
    return sizes;
}

/// All shapes of `dims` to 4 dimensions with extents 0 to 4.
std::vector<Shape> small_shapes(int dims) {
    std::vector<Shape> shapes;
    for (int rank = dims; rank <= 4; ++rank)
        support::for_each_combination(
            rank, 0, [](int) { return 4; }, [&](const Shape& shape) { shapes.push_back(shape); });
    return shapes;
}

/// Blocks of every kind.
std::vector<Block> blocks_of(const Shape& shape) {
    Shape inner, outer; // tiles
    for (int dim = 0; dim < shape.rank(); ++dim) {
        inner.push_back(dim == 0 ? 1 : std::clamp<std::int64_t>(shape[dim], 1, 2));
        outer.push_back(std::clamp<std::int64_t>(shape[dim], 1, dim % 2 == 0 ? 3 : 2));
    }
    return {ragged::elements(1), ragged::elements(3), ragged::rows(1), ragged::rows(2),
            ragged::tile(inner), ragged::tile(outer), ragged::whole()};
}

std::vector<AnyRule> rules_of(const Sequence& sequence, const List& sizes) {
    if (!sequence.ragged_axis)
        return {AnyRule()};
    const std::int64_t num_ranks = sizes[*sequence.ragged_axis];
    List weights; // 0 1 2 0 1 2 ..., and 1 for the last
    for (std::int64_t rank = 0; rank + 1 < num_ranks; ++rank)
        weights.push_back(rank % 3);
    weights.push_back(1);
    return {AnyRule{ragged::RaggedEvenly()}, AnyRule{ragged::RaggedByWeights{weights}},
            AnyRule{ragged::RaggedOnRank{num_ranks / 2}}};
}

/// For each sequence `draws` combinations of shape, mesh of at most `max_ranks` ranks, block and rule. Shapes
/// are taken in turn, the others are drawn.
void check_drawn(const std::vector<Sequence>& sequences, std::size_t num_axes, std::size_t draws,
                 std::int64_t max_ranks, Count& count) {
    const std::uint32_t seed = 20260730;
    CAPTURE(seed);
    std::mt19937 random(seed);
    for (const Sequence& sequence : sequences) {
        std::vector<Shape> shapes = small_shapes(sequence.dims);
        std::shuffle(shapes.begin(), shapes.end(), random);
        for (std::size_t draw = 0; draw < draws; ++draw) {
            const Shape& shape = shapes[draw % shapes.size()];
            List sizes;
            do
                sizes = sizes_of_mesh(num_axes, random());
            while (num_ranks_of(sizes) > max_ranks);
            const std::vector<Block> blocks = blocks_of(shape);
            const std::vector<AnyRule> rules = rules_of(sequence, sizes);
            check({shape, blocks[random() % blocks.size()], sizes, rules[random() % rules.size()]},
                  sequence.make, count);
        }
    }
}

} // namespace

TEST_CASE("one axis: every placement, size, small tensor, block and rule") {
    Count count;
    for (const Sequence& sequence : sequences_of<1>(std::make_index_sequence<num_kinds>()))
        for (const Shape& shape : small_shapes(sequence.dims))
            for (std::size_t mesh = 0; mesh < mesh_sizes.size(); ++mesh) {
                const List sizes = sizes_of_mesh(1, mesh);
                for (const Block& block : blocks_of(shape))
                    for (const AnyRule& rule : rules_of(sequence, sizes))
                        check({shape, block, sizes, rule}, sequence.make, count);
            }
    CHECK(count.cases > 250'000);
}

TEST_CASE("two axes: every sequence of placements in both orders of the axes, every small shape") {
    Count count;
    const auto sequences = sequences_of<2>(std::make_index_sequence<2 * num_kinds * num_kinds>());
    CHECK(sequences.size() == 2 * 35);
    check_drawn(sequences, 2, 2 * small_shapes(0).size(), 64, count);
    CHECK(count.ranks > 1'000'000);
}

TEST_CASE("three axes: every sequence of placements, orders of the axes in turn, small shapes") {
    Count count;
    const auto sequences = three_axes(std::make_index_sequence<num_kinds * num_kinds * num_kinds>());
    CHECK(sequences.size() == 112);
    check_drawn(sequences, 3, 150, 100, count);
    CHECK(count.ranks > 400'000);
}
