// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A written plan (plan_json.hpp) as a plan again. Nothing is believed that can be checked: whatever text this
// accepts is a plan that make_plan could have made.
//
//     const ragged::ModelPlan plan = ragged::read_plan_file("plan.json");
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/plan/make_plan.hpp>
#include <ragged/report/plan_json.hpp>
#include <ragged/spec/parse.hpp>

namespace ragged {

namespace detail {

/// Read a part of the text; what its specs or its plan do wrong is said with the path of the part.
template <class Read>
auto read_part(const Json& json, const Read& read) {
    try {
        return read(json);
    } catch (const JsonError&) {
        throw; // has its path already
    } catch (const Error& error) {
        throw JsonError(concat(json.path(), ": ", error.what()));
    }
}

/// Refuse a value that is not the one that follows from the rest of the text.
template <class T>
void expect(const Json& json, T (Json::*read)() const, const T& follows) {
    if (const T stated = (json.*read)(); stated != follows)
        throw JsonError(concat(json.path(), ": expected ", json_of(follows), ", found ", json_of(stated)));
}

inline std::int64_t slice_number(const Json& json) {
    const std::optional<Json> slice = json.find("slice");
    if (slice && slice->integer() < 0)
        throw JsonError(concat(slice->path(), ": slice ", slice->integer(), " is negative"));
    return slice ? slice->integer() : -1;
}

inline int dimension_number(const Json& json) {
    if (json.integer() < 0 || json.integer() >= max_rank)
        throw JsonError(
            concat(json.path(), ": dimension ", json.integer(), " is not in [0, ", max_rank, ")"));
    return static_cast<int>(json.integer());
}

struct ListedTensor {
    PlacedTensor placed;
    std::int64_t index; // in the order of registration
    Json json;
};

inline ListedTensor read_tensor(const Json& json, std::int64_t segment, std::size_t listed) {
    PlacedTensor tensor;
    TensorSpec& spec = tensor.spec;
    spec.name = json.at("name").text();
    for (const Json& extent : json.at("shape").items())
        spec.shape.push_back(extent.integer());
    spec.block = parse_block(json.at("block").text());
    spec.dtype = dtype_from_name(json.at("dtype").text());
    spec.align_bytes = checked_alignment(json.at("align_bytes").integer(), "");
    const std::optional<Json> sliced = json.find("sliced"), index = json.find("index");
    const std::optional<Json> whole_from = json.find("whole_from");
    spec.sliced = sliced && sliced->boolean();
    spec.whole_from = whole_from ? dimension_number(*whole_from) : -1;
    tensor.slice = slice_number(json);
    if (spec.sliced && (tensor.slice >= 0 || spec.shape[0] > 0))
        throw SpecError(concat("tensor '", spec.name, "': each slice of a sliced tensor is an entry"));
    tensor.cuts = cuts_of(spec);
    expect(json.at("granularity"), &Json::integer, tensor.cuts.step);
    expect(json.at("elements"), &Json::integer, tensor.elements());
    tensor.segment = segment;
    tensor.offset = json.at("offset").integer();
    return {std::move(tensor), index ? index->integer() : static_cast<std::int64_t>(listed), json};
}

/// @param first  the segment's first tensor among those of its group
inline Segment read_segment(const Json& json, const std::vector<ListedTensor>& tensors, std::size_t first) {
    Segment segment;
    segment.shard_elems = json.at("shard_elements").integer();
    segment.lower_bound_elems = json.at("lower_bound_shard_elements").integer();
    expect(json.at("proven_optimal"), &Json::boolean, segment.proven_optimal());
    for (std::size_t i = first; i < tensors.size(); ++i)
        segment.elements =
            checked_add(segment.elements, tensors[i].placed.elements(), "elements of a segment");
    if (const Json set_by = json.at("set_by"); set_by.kind() != Json::Kind::null) {
        const std::string name = set_by.at("name").text();
        const auto found =
            std::find_if(tensors.begin() + static_cast<std::ptrdiff_t>(first), tensors.end(),
                         [&, slice = slice_number(set_by)](const ListedTensor& tensor) {
                             return tensor.placed.spec.name == name && tensor.placed.slice == slice;
                         });
        if (found == tensors.end())
            throw JsonError(concat(set_by.path(), ": no tensor of the segment is that"));
        segment.set_by = found->index;
    }
    return segment;
}

/// The tensor that has `count` slices like this one.
inline TensorSpec stack_of(const TensorSpec& slice, std::int64_t count) {
    const auto with_first = [](std::int64_t first, const Shape& rest) {
        Shape sizes{first};
        for (int dim = 0; dim < rest.rank(); ++dim)
            sizes.push_back(rest[dim]);
        return sizes;
    };
    TensorSpec stack = slice;
    stack.sliced = true;
    stack.whole_from = slice.whole_from < 0 ? -1 : slice.whole_from + 1;
    stack.shape = with_first(count, slice.shape);
    if (slice.block.kind == Block::Kind::tile)
        stack.block.sizes = with_first(1, slice.block.sizes);
    return stack;
}

/// In the order of registration. @throws JsonError  a place in it is taken twice or does not exist
inline std::vector<const ListedTensor*> in_order(const std::vector<ListedTensor>& listed) {
    std::vector<const ListedTensor*> order(listed.size(), nullptr);
    for (const ListedTensor& tensor : listed) {
        const bool exists = tensor.index >= 0 && tensor.index < static_cast<std::int64_t>(order.size());
        if (!exists || order[static_cast<std::size_t>(tensor.index)])
            throw JsonError(concat(tensor.json.path(), ": index ", tensor.index,
                                   exists ? " is taken" : concat(" is none of ", order.size(), " tensors")));
        order[static_cast<std::size_t>(tensor.index)] = &tensor;
    }
    return order;
}

/// The group whose plan has these tensors, in the order of registration.
inline GroupSpec group_of(std::string name, const std::vector<const ListedTensor*>& tensors) {
    GroupSpec group{std::move(name), {}};
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto& [spec, cuts, segment, offset, slice] = tensors[i]->placed;
        if (slice < 0) {
            group.tensors.push_back(spec);
        } else if (slice == 0) {
            std::size_t end = i + 1;
            while (end < tensors.size() && tensors[end]->placed.slice == static_cast<std::int64_t>(end - i))
                ++end;
            group.tensors.push_back(stack_of(spec, static_cast<std::int64_t>(end - i)));
        } else if (i == 0 || tensors[i - 1]->placed.slice != slice - 1 ||
                   tensors[i - 1]->placed.spec != spec) {
            throw JsonError(concat(tensors[i]->json.path(), ": slice ", slice, " of tensor '", spec.name,
                                   "' does not follow a slice ", slice - 1,
                                   " of the same shape, block, whole_from, dtype and alignment"));
        }
    }
    check_names(group);
    return group;
}

inline Plan read_group(const Json& json, std::int64_t num_devices) {
    Plan plan;
    plan.name = json.at("name").text();
    plan.policy = json.at("policy").text();
    plan.num_devices = num_devices;
    const std::vector<Json> segments = json.at("segments").items();
    std::vector<ListedTensor> listed;
    Arrangement arrangement;
    for (std::size_t s = 0; s < segments.size(); ++s) {
        const std::size_t first = listed.size();
        for (const Json& tensor : segments[s].at("tensors").items())
            listed.push_back(read_part(tensor, [&](const Json& part) {
                return read_tensor(part, static_cast<std::int64_t>(s), listed.size());
            }));
        plan.segments.push_back(read_segment(segments[s], listed, first));
        arrangement.segments.push_back({plan.segments[s].shard_elems, plan.segments[s].set_by});
    }
    const std::vector<const ListedTensor*> tensors = in_order(listed);
    for (const ListedTensor* tensor : tensors) {
        plan.tensors.push_back(tensor->placed);
        arrangement.starts.push_back({tensor->placed.segment, tensor->placed.offset});
    }

    // Of the planes that were declared only the smallest matters; both alignments together tell its size.
    PlanOptions options{.alignment_bytes = json.at("alignment_bytes").integer()};
    const std::int64_t alignment_elems = json.at("alignment_elements").integer();
    for (const DType dtype : all_dtypes)
        if (options.alignment_bytes / size_bytes(dtype) == alignment_elems)
            options.planes.insert(dtype);
    const GroupSpec group = group_of(plan.name, tensors);
    const Prepared prepared = prepare(group.tensors, options);
    plan.alignment_elems = prepared.alignment_elems;
    plan.alignment_bytes = prepared.alignment_elems * prepared.planes.smallest;
    expect(json.at("alignment_bytes"), &Json::integer, plan.alignment_bytes);
    expect(json.at("alignment_elements"), &Json::integer, plan.alignment_elems);

    const PlanInput input = prepared.input(num_devices);
    check_layout(input, arrangement);
    check_law(input, arrangement);
    for (std::size_t s = 0; s < segments.size(); ++s) {
        // The bound itself is not computed again: a later version may know a better one.
        const Segment& segment = plan.segments[s];
        const std::int64_t fair = ceil_div(segment.elements, num_devices);
        if (segment.lower_bound_elems < fair || segment.lower_bound_elems > segment.shard_elems)
            throw JsonError(concat(segments[s].path(), ": a lower bound of ", segment.lower_bound_elems,
                                   " is not between the fair share of ", fair, " and shards of ",
                                   segment.shard_elems));
    }
    expect(json.at("elements"), &Json::integer, plan.elements());
    expect(json.at("padding_ratio"), &Json::number, plan.padding_ratio());
    return plan;
}

inline ModelPlan read_model(const Json& json) {
    if (const std::string schema = json.at("schema").text(); schema != plan_schema)
        throw JsonError(
            concat("schema ", json_string(excerpt(schema)), " is not ", json_string(plan_schema),
                   schema.starts_with("ragged.plan/") ? ": written by another version of ragged" : ""));
    const std::int64_t devices = json.at("devices").integer();
    check_num_devices(devices);
    ModelPlan model{json.at("model").text(), {}};
    for (const Json& group : json.at("groups").items())
        model.groups.push_back(read_part(group, [&](const Json& part) { return read_group(part, devices); }));
    expect(json.at("alignment_bytes"), &Json::integer, common_alignment_bytes(model));
    expect(json.at("elements"), &Json::integer, model.elements());
    expect(json.at("padded_elements"), &Json::integer, model.padded_elements());
    expect(json.at("padding_ratio"), &Json::number, model.padding_ratio());
    expect(json.at("fingerprint"), &Json::text, hex(fingerprint(model)));
    // how the plan was made is not part of it
    json.at("order").text();
    json.at("max_segments").integer();
    json.at("plan_seconds").number();
    return model;
}

} // namespace detail

/// Read what write_json wrote, by this library or by another program. Cuts, sums and fingerprint are computed
/// anew and compared, and law 2 is checked as it is for a policy: a plan that is returned is one that
/// make_plan could have made. Keys that the schema does not have are passed over.
/// Cost: linear in the text, but for sorting.
/// @throws JsonError  no JSON, no "ragged.plan/1", or a plan that is wrong: with line and column, or the path
///                    of the part that is wrong, what was expected and what was found
inline ModelPlan read_plan_json(std::string_view text) {
    return detail::read_part(Json::parse(text), detail::read_model);
}

/// Read a file. Not an overload: a string would be a text and a path alike.
/// @throws JsonError  the file cannot be read, or "path: " and as above
inline ModelPlan read_plan_file(const std::filesystem::path& path) {
    std::ifstream input(path, std::ios::binary);
    if (!input || std::filesystem::is_directory(path))
        throw JsonError(concat(path.string(), ": cannot be read"));
    std::ostringstream text;
    text << input.rdbuf();
    try {
        return read_plan_json(text.view());
    } catch (const JsonError& error) {
        throw JsonError(concat(path.string(), ": ", error.what()));
    }
}

} // namespace ragged
