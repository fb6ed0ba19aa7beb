// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A written plan is read as it was; one word of it changed is refused with the place and the numbers. Random
// plans and random changes are in property/read_plan.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <ragged/report/read_plan.hpp>

#include "support/expect.hpp"
#include "support/written_plan.hpp"

namespace {

using ragged::read_plan_json;
using Words = std::string;

std::string refusal(const std::string& text) {
    try {
        read_plan_json(text);
    } catch (const ragged::JsonError& error) {
        return error.what();
    }
    return "";
}

const std::string& good() {
    static const std::string text = support::written(support::two_segments());
    return text;
}

/// The good text with the first `from` behind `after` replaced.
std::string changed(const std::string& from, const std::string& to, const std::string& after = "") {
    std::string text = good();
    const std::size_t at = text.find(from, text.find(after));
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

/// What is said when the first `from` behind `after` is replaced.
std::string refusal(const Words& from, const Words& to, const Words& after = "") {
    return refusal(changed(from, to, after));
}

const Words a = R"({"name": "a", )", s1 = R"({"name": "s", "shape")", e = R"({"name": "e")",
            segment1 = R"({"shard_elements": 8)", b = R"({"name": "b")", none = R"({"name": "none")";

} // namespace

TEST_CASE("a plan comes back equal, with what equality does not look at") {
    const ragged::ModelPlan plan = support::two_segments();
    const ragged::ModelPlan same = read_plan_json(good());
    CHECK(same == plan);
    CHECK(same.groups[0].policy == "canned");
    CHECK(same.groups[0].violations == ragged::Violations{});
    CHECK(support::written(same) == good());
    CHECK(read_plan_json(support::written({"m", {}})) == ragged::ModelPlan{"m", {}});
}

TEST_CASE("what other axes keep whole comes back, of a slice in the dimensions of the slice") {
    const ragged::GroupSpec group{"g",
                                  {{"o", {8, 6}, ragged::rows(2), ragged::DType::u8, 0, false, 1},
                                   {"s", {2, 4, 6}, {}, ragged::DType::u8, 0, true, 1},
                                   {"t", {2, 4, 6}, {}, ragged::DType::u8, 0, true, 2},
                                   {"never", {5}, {}, ragged::DType::u8, 0, false, 0},
                                   {"none", {0, 4}, {}, ragged::DType::u8, 0, true, 1}}};
    const ragged::ModelPlan plan{"m", {ragged::make_plan(group, 2, {}, {.alignment_bytes = 1})}};
    const std::string text = support::written(plan);
    CHECK(support::contains(text, R"("block": "rows:2", "align_bytes": 1, "whole_from": 1})"));
    CHECK(support::contains(text, R"("granularity": 24, )"));
    CHECK(support::contains(text, R"("align_bytes": 1, "whole_from": 0, "slice": 1})"));
    CHECK(support::contains(text, R"("align_bytes": 1, "whole_from": 1, "slice": 1})"));
    CHECK(support::contains(text, R"("sliced": true, "whole_from": 1})"));
    const ragged::ModelPlan same = read_plan_json(text);
    CHECK(same == plan);
    CHECK(support::written(same) == text);
    CHECK_FALSE(support::contains(good(), "whole_from"));
}

TEST_CASE("a text may have more keys, another order of them, other space") {
    CHECK(read_plan_json(changed("\"model\"", "\"more\": [{}], \"model\"")) == support::two_segments());
    CHECK(read_plan_json(changed(R"("name": "a", "shape": [6, 10])", R"("shape":[6,10],"name":"\u0061")")) ==
          support::two_segments());
    CHECK(read_plan_json(changed("\"offset\": 0", "\"sliced\": false, \"index\": 0, \"offset\": 0")) ==
          support::two_segments());
}

TEST_CASE("another schema is said to be one, whatever else is in the text") {
    CHECK(refusal(R"({"schema": "ragged.plan/2", "regions": []})") ==
          R"(schema "ragged.plan/2" is not "ragged.plan/1": written by another version of ragged)");
    CHECK(refusal("ragged.plan/1", "ragged.plan/10") ==
          R"(schema "ragged.plan/10" is not "ragged.plan/1": written by another version of ragged)");
    CHECK(refusal(R"({"schema": "svg"})") == R"(schema "svg" is not "ragged.plan/1")");
    CHECK(refusal("{}") == "the document has no key \"schema\"");
    CHECK(refusal(R"({"schema": 1})") == "schema: expected a string, found 1");
    CHECK(refusal("[]") == "the document: expected an object, found an array");
    CHECK(refusal("") == "line 1, column 1: expected a value, found the end of the text");
}

TEST_CASE("every key is needed but those that say more than the rest") {
    for (const char* key :
         {"schema", "model", "devices", "alignment_bytes", "order", "max_segments", "groups", "elements",
          "padded_elements", "padding_ratio", "plan_seconds", "fingerprint"}) {
        // of the document: the last of its name, but for those that groups have too
        const std::string quoted = ragged::concat('"', key, "\":");
        std::string text = good();
        const std::size_t at = std::string_view(key) == "alignment_bytes" || text.find(quoted) < 40
                                   ? text.find(quoted)
                                   : text.rfind(quoted);
        text.replace(at, quoted.size(), "\"other\":");
        CHECK(refusal(text) == ragged::concat("the document has no key \"", key, "\""));
    }
    for (const char* key :
         {"name", "policy", "alignment_bytes", "alignment_elements", "elements", "padding_ratio", "segments"})
        CHECK(refusal(ragged::concat('"', key, '"'), "\"other\"", "{\"name\": \"g\"") ==
              ragged::concat("groups[0] has no key \"", key, "\""));
    for (const char* key :
         {"shard_elements", "lower_bound_shard_elements", "proven_optimal", "set_by", "tensors"})
        CHECK(refusal(ragged::concat('"', key, '"'), "\"other\"", segment1) ==
              ragged::concat("groups[0].segments[1] has no key \"", key, "\""));
    for (const char* key :
         {"name", "shape", "granularity", "offset", "elements", "dtype", "block", "align_bytes"})
        CHECK(refusal(ragged::concat('"', key, '"'), "\"other\"", a) ==
              ragged::concat("groups[0].segments[0].tensors[0] has no key \"", key, "\""));
    CHECK(refusal("\"name\"", "\"other\"", "\"set_by\"") ==
          "groups[0].segments[0].set_by has no key \"name\"");
}

TEST_CASE("every value has one type") {
    const std::string tensor = "groups[0].segments[0].tensors[0].";
    CHECK(refusal("\"devices\": 2", "\"devices\": 2.0") == "devices: expected an integer, found 2.0");
    CHECK(refusal("\"devices\": 2", "\"devices\": \"2\"") == "devices: expected an integer, found \"2\"");
    CHECK(refusal("\"model\": \"m\"", "\"model\": null") == "model: expected a string, found null");
    CHECK(refusal("\"search\"", "0") == "order: expected a string, found 0");
    CHECK(refusal("\"max_segments\": 3", "\"max_segments\": 1e1") ==
          "max_segments: expected an integer, found 10.0");
    CHECK(refusal("0.25", "[]") == "plan_seconds: expected a number, found an array");
    CHECK(refusal("[6, 10]", "\"6x10\"", a) == tensor + "shape: expected an array, found \"6x10\"");
    CHECK(refusal("[6, 10]", "[6, 1e1]", a) == tensor + "shape[1]: expected an integer, found 10.0");
    CHECK(refusal("\"rows:1\"", "{\"rows\": 1}", a) == tensor + "block: expected a string, found an object");
    CHECK(refusal("true", "1", e) ==
          "groups[0].segments[0].tensors[2].sliced: expected true or false, found 1");
    CHECK(refusal("true", "null") ==
          "groups[0].segments[0].proven_optimal: expected true or false, found null");
    CHECK(refusal("{\"name\": \"a\"}", "\"a\"") ==
          "groups[0].segments[0].set_by: expected an object, found \"a\"");
    CHECK(refusal("\"slice\": 1", "\"slice\": null", s1) ==
          "groups[0].segments[0].tensors[1].slice: expected an integer, found null");
    CHECK(support::contains(refusal("\"offset\": 60", "\"offset\": 9223372036854775808"),
                            ": 9223372036854775808 does not fit 64 bits"));
}

TEST_CASE("a tensor that cannot be") {
    const std::string tensor = "groups[0].segments[0].tensors[0]: ";
    CHECK(refusal("[6, 10]", "[6, -10]", a) == tensor + "extent -10 is negative");
    CHECK(refusal("[6, 10]", "[6, 10, 4611686018427387904]", a) ==
          tensor + "elements of a shape: 4611686018427387904 * 6 does not fit 64 bits");
    CHECK(refusal("[6, 10]", "[1, 1, 1, 1, 1, 1, 1, 6, 10]", a) == tensor + "a shape has at most 8 extents");
    CHECK(refusal("rows:1", "cols:1", a) ==
          tensor + "unknown block 'cols:1', known: elements:N rows:N block:AxBx... whole");
    CHECK(refusal("rows:1", "block:7x1", a) ==
          tensor + "tensor 'a': block:7x1 is larger than shape 6x10 in dimension 0");
    CHECK(refusal("rows:1", "rows:9000000000000000000", a) ==
          tensor + "tensor 'a': rows:9000000000000000000 on 6x10: elements of a shape: 10 * "
                   "9000000000000000000 does not fit 64 bits");
    CHECK(support::contains(refusal("u8", "u9", a), tensor + "unknown dtype 'u9'"));
    for (const char* bytes : {"0", "-4", "3"})
        CHECK(refusal("\"align_bytes\": 4", ragged::concat("\"align_bytes\": ", bytes), a) ==
              ragged::concat(tensor, "alignment of ", bytes, " bytes is not a power of two"));
    CHECK(refusal("\"granularity\": 10", "\"granularity\": 11") ==
          "groups[0].segments[0].tensors[0].granularity: expected 10, found 11");
    CHECK(refusal("\"elements\": 60", "\"elements\": -60") ==
          "groups[0].segments[0].tensors[0].elements: expected 60, found -60");
    CHECK(refusal("\"align_bytes\": 4", "\"align_bytes\": 4, \"sliced\": true", a) ==
          tensor + "tensor 'a': each slice of a sliced tensor is an entry");
    CHECK(refusal("\"sliced\": true", "\"sliced\": true, \"slice\": 0", e) ==
          "groups[0].segments[0].tensors[2]: tensor 'e': each slice of a sliced tensor is an entry");
    for (const char* dim : {"-1", "8", "-9223372036854775808", "4294967296"})
        CHECK(refusal("\"offset\"", ragged::concat("\"whole_from\": ", dim, ", \"offset\""), a) ==
              ragged::concat("groups[0].segments[0].tensors[0].whole_from: dimension ", dim,
                             " is not in [0, 8)"));
    CHECK(refusal("\"offset\"", "\"whole_from\": 2, \"offset\"", a) ==
          tensor + "tensor 'a': whole from dimension 2, shape 6x10 has 2 dimensions");
    CHECK(refusal("\"offset\"", "\"whole_from\": 0, \"offset\"", a) ==
          "groups[0].segments[0].tensors[0].granularity: expected 60, found 10");
    CHECK(refusal("\"offset\"", "\"whole_from\": 0, \"offset\"", e) ==
          "groups[0].segments[0].tensors[2]: tensor 'e': whole from dimension 0, of which a sliced tensor "
          "has its "
          "slices");
    CHECK(refusal(R"([0, 4], "granularity": 1)", R"([0], "granularity": 1)", e) ==
          "groups[0].segments[0].tensors[2]: tensor 'e': shape 0 has no slices; a sliced tensor has 2 "
          "dimensions or more");
}

TEST_CASE("the order of registration has each place once") {
    const std::string tensor = "groups[0].segments[0].tensors[1]";
    for (const char* index : {"5", "-1", "9223372036854775807", "-9223372036854775808"})
        CHECK(refusal("\"index\": 2", ragged::concat("\"index\": ", index), s1) ==
              ragged::concat(tensor, ": index ", index, " is none of 5 tensors"));
    CHECK(refusal("\"index\": 2", "\"index\": 0", s1) == tensor + ": index 0 is taken");
    CHECK(refusal(", \"index\": 4", "", e) == "groups[0].segments[0].tensors[2]: index 2 is taken");
    CHECK(refusal(", \"index\": 2", "", s1) == "groups[0].segments[1].tensors[0]: index 1 is taken");
    // b as the second tensor
    std::string text = changed("\"index\": 1", "\"index\": 2", segment1);
    text = text.replace(text.find("\"index\": 2"), 10, "\"index\": 3");
    text = text.replace(text.rfind("\"index\": 3"), 10, "\"index\": 1");
    CHECK(support::contains(refusal(text), "fingerprint: expected "));
}

TEST_CASE("slices come one after another and are alike; no other tensors share a name") {
    const std::string does_not_follow = "groups[0].segments[0].tensors[1]: slice 1 of tensor 's' does not "
                                        "follow a slice 0 of the same shape, block, whole_from, dtype and "
                                        "alignment";
    CHECK(refusal("\"slice\": 1", "\"slice\": 2", s1) ==
          "groups[0].segments[0].tensors[1]: slice 2 of tensor 's' does not follow a slice 1 of the same "
          "shape, block, whole_from, dtype and alignment");
    CHECK(refusal("\"slice\": 1", "\"slice\": -1", s1) ==
          "groups[0].segments[0].tensors[1].slice: slice -1 is negative");
    CHECK(refusal("[8]", "[2, 4]", s1) ==
          "groups[0].segments[0].tensors[1].granularity: expected 4, found 8");
    CHECK(refusal("[8], \"granularity\": 8", "[2, 4], \"granularity\": 4", s1) == does_not_follow);
    CHECK(refusal("u8", "i8", s1) == does_not_follow);
    CHECK(refusal("\"offset\"", "\"whole_from\": 0, \"offset\"", s1) == does_not_follow);
    CHECK(refusal("\"align_bytes\": 4", "\"align_bytes\": 8", s1) == does_not_follow);
    CHECK(refusal("\"name\": \"s\"", "\"name\": \"t\"", s1) ==
          "groups[0].segments[0].tensors[1]: slice 1 of tensor 't' does not follow a slice 0 of the same "
          "shape, block, whole_from, dtype and alignment");
    CHECK(refusal("\"slice\": 1", "\"slice\": 0", s1) == "groups[0]: group 'g': duplicate tensor 's'");
    CHECK(refusal(", \"slice\": 1", "", s1) == "groups[0]: group 'g': duplicate tensor 's'");
    CHECK(refusal("\"name\": \"b\"", "\"name\": \"a\"") == "groups[0]: group 'g': duplicate tensor 'a'");
    // a slice of a scalar would be one of a vector
    CHECK(refusal("[8], \"granularity\": 1, \"offset\": 8, \"elements\": 8",
                  "[], \"slice\": 0, \"granularity\": 1, \"offset\": 8, \"elements\": 1", b) ==
          "groups[0]: tensor 'b': shape 1 has no slices; a sliced tensor has 2 dimensions or more");
}

TEST_CASE("numbers of a group that do not fit each other") {
    CHECK(refusal("\"devices\": 2", "\"devices\": 0") ==
          "the document: a plan needs at least 1 device, got 0");
    CHECK(refusal("\"devices\": 2", "\"devices\": -2") ==
          "the document: a plan needs at least 1 device, got -2");
    const std::string group = "groups[0]: ";
    const auto alignment = [&](std::int64_t bytes, std::int64_t elems) {
        return refusal("\"alignment_bytes\": 8, \"alignment_elements\": 8",
                       ragged::concat("\"alignment_bytes\": ", bytes, ", \"alignment_elements\": ", elems));
    };
    CHECK(alignment(8, 8) == "");
    CHECK(alignment(0, 0) == group + "alignment of 0 bytes is not a power of two");
    CHECK(alignment(-8, -8) == group + "alignment of -8 bytes is not a power of two");
    CHECK(alignment(12, 12) == group + "alignment of 12 bytes is not a power of two");
    CHECK(alignment(4, 4) == "groups[0].alignment_bytes: expected 8, found 4");
    CHECK(alignment(8, 4) == "groups[0].alignment_elements: expected 8, found 4");
    CHECK(alignment(8, 3) == "groups[0].alignment_elements: expected 8, found 3");
    CHECK(alignment(8, -8) == "groups[0].alignment_elements: expected 8, found -8");
    CHECK(alignment(16, 16) ==
          group + "segment 0: shards of 40 elements are no multiple of the 16 of the alignment");
    CHECK(refusal("u8", "f64", a) == group +
                                         "tensor 'a': alignment of 4 bytes is not a multiple of the 8-byte "
                                         "elements of f64");

    const auto bound = [](std::int64_t value) {
        return refusal(
            "\"lower_bound_shard_elements\": 40, \"proven_optimal\": true",
            ragged::concat("\"lower_bound_shard_elements\": ", value, ", \"proven_optimal\": false"));
    };
    CHECK(bound(34) == "");
    CHECK(bound(33) == "groups[0].segments[0]: a lower bound of 33 is not between the fair share of 34 and "
                       "shards of 40");
    CHECK(bound(41) == "groups[0].segments[0]: a lower bound of 41 is not between the fair share of 34 and "
                       "shards of 40");
    CHECK(refusal("true", "false") == "groups[0].segments[0].proven_optimal: expected true, found false");

    CHECK(refusal("{\"name\": \"a\"}", "{\"name\": \"b\"}") ==
          "groups[0].segments[0].set_by: no tensor of the segment is that");
    CHECK(refusal("{\"name\": \"s\", \"slice\": 0}", "{\"name\": \"s\", \"slice\": 1}") ==
          "groups[0].segments[1].set_by: no tensor of the segment is that");
    CHECK(refusal("{\"name\": \"s\", \"slice\": 0}", "{\"name\": \"s\"}") ==
          "groups[0].segments[1].set_by: no tensor of the segment is that");
    CHECK(refusal("{\"name\": \"a\"}", "null") == "");

    CHECK(refusal("\"elements\": 84", "\"elements\": 85", "\"g\"") ==
          "groups[0].elements: expected 84, found 85");
    CHECK(refusal("0.14285714285714285", "0.14285714285714288") ==
          "groups[0].padding_ratio: expected 0.14285714285714285, found 0.14285714285714288");
}

TEST_CASE("a plan that breaks a law, with the tensor and the numbers") {
    const std::string group = "groups[0]: ";
    CHECK(refusal("\"offset\": 60", "\"offset\": 56") ==
          group + "tensor 's' at offset 56 overlaps tensor 'a' that ends at 60");
    CHECK(refusal("\"offset\": 0", "\"offset\": -4") ==
          group + "tensor 'a' at offset -4 overlaps the start of the buffer");
    CHECK(refusal("\"offset\": 60", "\"offset\": 9223372036854775807") ==
          group + "tensor 's' at offset 9223372036854775807 leaves 64 bits");
    CHECK(refusal("\"offset\": 60", "\"offset\": 76") ==
          group + "tensor 's' ends at 84, beyond the 80 elements of the buffer");
    CHECK(refusal("\"offset\": 68", "\"offset\": 84") ==
          group + "tensor 'e' ends at 84, beyond the 80 elements of the buffer");
    CHECK(refusal("\"offset\": 60", "\"offset\": 62") ==
          group + "tensor 'e' at offset 68 overlaps tensor 's' that ends at 70");
    CHECK(refusal("\"offset\": 68", "\"offset\": 70") ==
          group + "tensor 'e' at offset 70 of segment 0 is off its alignment of 4 elements");
    // the boundary at 48 cuts a row of a
    CHECK(refusal("\"shard_elements\": 40, \"lower_bound_shard_elements\": 40",
                  "\"shard_elements\": 48, \"lower_bound_shard_elements\": 48") ==
          group + "tensor 'a' at offset 0 of segment 0: shards of 48 elements cut a block of rows:1");
    CHECK(refusal("\"shard_elements\": 40, \"lower_bound_shard_elements\": 40",
                  "\"shard_elements\": -40, \"lower_bound_shard_elements\": -40") ==
          group + "shards of -40 elements behind 0 others on 2 devices are not a buffer");
    CHECK(
        refusal(
            "\"shard_elements\": 8, \"lower_bound_shard_elements\": 8",
            "\"shard_elements\": 4611686018427387904, \"lower_bound_shard_elements\": 4611686018427387904") ==
        group + "shards of 4611686018427387904 elements behind 40 others on 2 devices are not a buffer");
    CHECK(refusal("\"devices\": 2", "\"devices\": 9223372036854775807") ==
          group + "shards of 40 elements behind 0 others on 9223372036854775807 devices are not a buffer");
    std::string text = good();
    const std::size_t first = text.find("{\"shard_elements\": 0"), end = text.find("]}]}],", first);
    CHECK(refusal(text.erase(first, end + 2 - first)) ==
          "groups[1]: there is no segment, a plan has at least one");
}

TEST_CASE("sums and the fingerprint of the whole") {
    CHECK(refusal("\"alignment_bytes\": 4", "\"alignment_bytes\": 8") ==
          "alignment_bytes: expected 4, found 8");
    CHECK(refusal("\"elements\": 84", "\"elements\": 83", "\n \"elements\"") ==
          "elements: expected 84, found 83");
    CHECK(refusal("\"padded_elements\": 96", "\"padded_elements\": 97") ==
          "padded_elements: expected 96, found 97");
    CHECK(refusal("0.14285714285714285", "0.0", "padded_elements") ==
          "padding_ratio: expected 0.14285714285714285, found 0.0");
    const std::string print = ragged::detail::hex(ragged::fingerprint(support::two_segments()));
    CHECK(refusal(print, "0123456789abcdef") ==
          "fingerprint: expected \"" + print + "\", found \"0123456789abcdef\"");
    ragged::ModelPlan renamed = support::two_segments();
    renamed.groups[0].tensors[3].spec.name = "c";
    CHECK(refusal("\"b\"", "\"c\"", b) == "fingerprint: expected \"" +
                                              ragged::detail::hex(ragged::fingerprint(renamed)) +
                                              "\", found \"" + print + "\"");
    // no JSON can hold these names
    renamed.groups[0].tensors[3].spec.name = "\xff";
    CHECK(support::contains(refusal(support::written(renamed)), "fingerprint: expected "));
}

TEST_CASE("numbers that only together leave 64 bits") {
    // two tensors of 2^62 elements, and two groups of a buffer of 2^62
    const std::int64_t half = std::int64_t{1} << 62;
    const ragged::Plan plan =
        ragged::make_plan(ragged::GroupSpec{"g", {{"t", {half}, {}, ragged::DType::u8}}}, 1,
                          support::Canned{{.segments = {{half}}, .starts = {{0, 0}}}});
    CHECK(read_plan_json(support::written({"m", {plan}})) == ragged::ModelPlan{"m", {plan}});
    const std::string text = support::written({"m", {plan}});
    const std::string groups =
        text.substr(text.find("\n  {"), text.find("],\n \"elements\"") - text.find("\n  {"));
    std::string twice = text;
    twice.insert(text.find(groups), groups + ",");
    CHECK(refusal(twice) ==
          "the document: elements of a model: 4611686018427387904 + 4611686018427387904 does "
          "not fit 64 bits");
    const std::string tensor = text.substr(text.find("\n    {"), text.find("]}]}],") - text.find("\n    {"));
    twice = text;
    twice.insert(text.find(tensor), tensor + ",");
    CHECK(refusal(twice) ==
          "groups[0]: elements of a segment: 4611686018427387904 + 4611686018427387904 does "
          "not fit 64 bits");
}

TEST_CASE("a file stands in messages") {
    // tests of two builds may run at the same time
    const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                       ragged::concat("ragged_read_plan_test.", std::random_device{}());
    const auto said = [&] { return support::message_of([&] { ragged::read_plan_file(path); }); };
    CHECK(said() == path.string() + ": cannot be read");
    std::ofstream(path) << good();
    CHECK(ragged::read_plan_file(path) == support::two_segments());
    std::ofstream(path) << "{}";
    CHECK(said() == path.string() + ": the document has no key \"schema\"");
    std::ofstream(path).close();
    CHECK(said() == path.string() + ": line 1, column 1: expected a value, found the end of the text");
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    CHECK(said() == path.string() + ": cannot be read");
    std::filesystem::remove(path);
}
