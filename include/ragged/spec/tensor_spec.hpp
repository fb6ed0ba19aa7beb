// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a model says about itself: tensors with the block that must stay whole, in groups that are gathered
// together. At run time names are std::string (TensorSpec, GroupSpec, ModelSpec); in constants they are
// std::string_view (Tensor, Group) and everything else is the same.
//
//     constexpr auto layer = ragged::Group{ragged::Tensor{"wq", {4096, 4096}, ragged::tile({32, 32})},
//                                          ragged::Tensor{"norm", {4096}}};
#pragma once

#include <algorithm> // std::max
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <ragged/spec/dtype.hpp>
#include <ragged/spec/shape.hpp>

namespace ragged {

/// The piece of a tensor that must stay on one device. Make one with elements(), rows(), tile() or whole().
struct Block {
    enum class Kind : std::uint8_t { elements, rows, tile, whole };

    Kind kind = Kind::elements;
    Shape sizes{1}; // elements, rows: one count; tile: one size per dimension; whole: unused

    constexpr bool operator==(const Block&) const = default;
};

/// Runs of `count` flat elements; the last run of a tensor may be shorter.
constexpr Block elements(std::int64_t count) {
    return {Block::Kind::elements, {count}};
}
/// Runs of `count` rows of the matrix whose columns are the last dimension; the last may be shorter.
constexpr Block rows(std::int64_t count) {
    return {Block::Kind::rows, {count}};
}
/// A grid of N-D tiles, one size per dimension; the last tile along a dimension may be shorter.
constexpr Block tile(const Shape& sizes) {
    return {Block::Kind::tile, sizes};
}
/// Never cut.
constexpr Block whole() {
    return {Block::Kind::whole, {1}};
}

/// "rows:16", "tile:32x32", in the words of the command line.
inline std::string to_string(const Block& block) {
    switch (block.kind) {
    case Block::Kind::elements:
        return concat("elements:", block.sizes[0]);
    case Block::Kind::rows:
        return concat("rows:", block.sizes[0]);
    case Block::Kind::tile:
        return concat("block:", to_string(block.sizes));
    default:
        return "whole";
    }
}

/// "rows:16", or "rows:16 whole from dimension 1": what of a tensor stays whole.
inline std::string to_string(const Block& block, int whole_from) {
    return whole_from < 0 ? to_string(block) : concat(to_string(block), " whole from dimension ", whole_from);
}

/// One tensor of a model. `Name` is std::string or std::string_view.
template <class Name>
struct BasicTensorSpec {
    Name name;
    Shape shape;
    Block block{};
    DType dtype = DType::bf16;
    std::int64_t align_bytes = 0; // of its start in every plane, a power of two; 0: as the plan's option says
    bool sliced = false; // a stack: each slice of dimension 0 is contiguous, two slices may lie apart
    int whole_from = -1; // dimension: cuts keep it and all behind it whole, because another axis shards it;
                         // 0: never cut; -1: as the block says

    constexpr bool operator==(const BasicTensorSpec&) const = default;
};

using TensorSpec = BasicTensorSpec<std::string>;
using Tensor = BasicTensorSpec<std::string_view>;

/// Tensors that are gathered together, usually one layer, in registration order.
struct GroupSpec {
    std::string name;
    std::vector<TensorSpec> tensors;
};

/// A group written as a constant.
template <std::size_t N>
struct Group {
    std::array<Tensor, N> tensors;

    template <class... Tensors>
    requires(std::same_as<Tensors, Tensor>&&...) constexpr Group(const Tensors&... list)
        : tensors{list...} {}

    /// The same group for the run-time interfaces.
    GroupSpec spec(std::string name) const {
        GroupSpec result{std::move(name), {}};
        for (const Tensor& tensor : tensors)
            result.tensors.push_back({std::string(tensor.name), tensor.shape, tensor.block, tensor.dtype,
                                      tensor.align_bytes, tensor.sliced, tensor.whole_from});
        return result;
    }
};
template <class... Tensors>
Group(const Tensors&...) -> Group<sizeof...(Tensors)>;

struct ModelSpec {
    std::string name;
    std::vector<GroupSpec> groups;
};

/// Refuse a block or a whole_from that does not fit its tensor, and a stack whose slices do not exist or
/// share a block. A 0-element tensor has no block to cut and takes any.
/// @throws SpecError naming the tensor, the block or the dimension, and the shape
template <class Name>
constexpr void check_block(const BasicTensorSpec<Name>& tensor) {
    const Block& block = tensor.block;
    if (tensor.sliced && tensor.shape.rank() < 2)
        throw SpecError(concat("tensor '", tensor.name, "': shape ", to_string(tensor.shape),
                               " has no slices; a sliced tensor has 2 dimensions or more"));
    if (tensor.sliced && block.kind == Block::Kind::tile && block.sizes.rank() > 0 && block.sizes[0] != 1)
        throw SpecError(concat("tensor '", tensor.name, "': ", to_string(block), " spans ", block.sizes[0],
                               " slices of dimension 0, a sliced tensor allows 1"));
    if (tensor.whole_from < -1 || tensor.whole_from >= tensor.shape.rank())
        throw SpecError(concat("tensor '", tensor.name, "': whole from dimension ", tensor.whole_from,
                               ", shape ", to_string(tensor.shape), " has ", tensor.shape.rank(),
                               " dimensions"));
    if (tensor.sliced && tensor.whole_from == 0)
        throw SpecError(concat("tensor '", tensor.name,
                               "': whole from dimension 0, of which a sliced tensor has its slices"));
    for (int dim = 0; dim < block.sizes.rank(); ++dim)
        if (block.sizes[dim] < 1)
            throw SpecError(
                concat("tensor '", tensor.name, "': block ", to_string(block), " has a size below 1"));
    if (block.kind != Block::Kind::tile)
        return;
    if (block.sizes.rank() != tensor.shape.rank())
        throw SpecError(concat("tensor '", tensor.name, "': ", to_string(block), " has ", block.sizes.rank(),
                               " dimensions, shape ", to_string(tensor.shape), " has ", tensor.shape.rank()));
    if (tensor.shape.elements() == 0)
        return;
    for (int dim = 0; dim < block.sizes.rank(); ++dim)
        if (block.sizes[dim] > tensor.shape[dim])
            throw SpecError(concat("tensor '", tensor.name, "': ", to_string(block), " is larger than shape ",
                                   to_string(tensor.shape), " in dimension ", dim));
}

/// Contiguous runs that a tensor is placed in: one, or one per slice. A stack of no slices is one empty run.
template <class Name>
constexpr std::int64_t num_runs(const BasicTensorSpec<Name>& tensor) {
    return tensor.sliced && tensor.shape[0] > 0 ? tensor.shape[0] : 1;
}

/// One slice of a sliced tensor, as a tensor of its own. @pre check_block accepted the tensor
template <class Name>
constexpr BasicTensorSpec<Name> slice_of(const BasicTensorSpec<Name>& tensor) {
    const auto without_first = [](const Shape& sizes) {
        Shape rest;
        for (int dim = 1; dim < sizes.rank(); ++dim)
            rest.push_back(sizes[dim]);
        return rest;
    };
    BasicTensorSpec<Name> slice = tensor;
    slice.sliced = false;
    slice.whole_from = std::max(tensor.whole_from - 1, -1);
    slice.shape = without_first(tensor.shape);
    if (tensor.block.kind == Block::Kind::tile)
        slice.block.sizes = without_first(tensor.block.sizes);
    return slice;
}

/// Refuse a group in which two tensors have one name: views are found by name.
/// @throws SpecError naming the group and the tensor
inline void check_names(const GroupSpec& group) {
    std::unordered_set<std::string_view> seen;
    seen.reserve(group.tensors.size());
    for (const TensorSpec& tensor : group.tensors)
        if (!seen.insert(tensor.name).second)
            throw SpecError(concat("group '", group.name, "': duplicate tensor '", tensor.name, "'"));
}

} // namespace ragged
