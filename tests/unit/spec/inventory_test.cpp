// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Inventories: what is read, and for each malformed one the exact message with its source and line.
#include <doctest/doctest.h>

#include <stdexcept>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <ragged/spec/inventory.hpp>

namespace {

using ragged::ModelSpec;

const std::string header = "group\tname\tdtype\tshape\n";

ModelSpec read(const std::string& text) {
    std::istringstream input(text);
    return ragged::read_inventory(input, "m.tsv", "m");
}

/// "group/name" of every tensor, in order.
std::vector<std::string> names_of(const ModelSpec& model) {
    std::vector<std::string> names;
    for (const ragged::GroupSpec& group : model.groups)
        for (const ragged::TensorSpec& tensor : group.tensors)
            names.push_back(group.name + "/" + tensor.name);
    return names;
}

using Names = std::vector<std::string>;

/// What reading says about a text, or "" when it is accepted.
std::string refusal(const std::string& text) {
    try {
        read(text);
        return "";
    } catch (const ragged::SpecError& error) {
        return error.what();
    }
}

/// The same for one row after the header.
std::string row_refusal(const std::string& row) {
    return refusal(header + row + "\n");
}

} // namespace

TEST_CASE("rows become tensors in order, runs of equal group names become groups") {
    const ModelSpec model = read(header + "embed\twte\tbf16\t50257x768\n"
                                          "layers.0\tw1\tf32\t12\n"
                                          "layers.0\tw2\tf8e4m3\t128x2880x5760\n"
                                          "embed\twpe\ti8\t0\n");
    CHECK(model.name == "m");
    REQUIRE(names_of(model) == Names{"embed/wte", "layers.0/w1", "layers.0/w2", "embed/wpe"});
    REQUIRE(model.groups.size() == 3); // embed came back: a new run, a new group
    CHECK(model.groups[1].tensors[1].shape == ragged::Shape{128, 2880, 5760});
    CHECK(model.groups[1].tensors[1].dtype == ragged::DType::f8e4m3);
    CHECK(model.groups[1].tensors[1].block == ragged::Block{});
    CHECK(model.groups[2].tensors[0].shape == ragged::Shape{0});
}

TEST_CASE("comments, empty lines, CRLF and a missing last newline change nothing") {
    const Names expected{"g/a", "g/b"};
    CHECK(names_of(read(header + "g\ta\tbf16\t4\ng\tb\tbf16\t5\n")) == expected);
    CHECK(names_of(read(header + "g\ta\tbf16\t4\ng\tb\tbf16\t5")) == expected);
    CHECK(names_of(read("# model: m\n#\n" + header +
                        "# note\n\ng\ta\tbf16\t4\n#g\tc\tbf16\t4\ng\tb\tbf16\t5\n# end")) == expected);
    CHECK(names_of(read("group\tname\tdtype\tshape\r\n\r\ng\ta\tbf16\t4\r\ng\tb\tbf16\t5\r\n")) == expected);
    const ModelSpec carriage = read("group\tname\tdtype\tshape\r\ng\ta\tbf16\t4x5\r");
    CHECK(carriage.groups[0].tensors[0].shape == ragged::Shape{4, 5});
    CHECK(read(header).groups.empty()); // a model without tensors
}

TEST_CASE("a # inside a row is no comment") {
    CHECK(names_of(read(header + "g\ta#1\tbf16\t4\n")) == Names{"g/a#1"});
}

TEST_CASE("the header has to be there, first and exact") {
    const std::string missing = ": the header 'group<tab>name<tab>dtype<tab>shape' is missing";
    CHECK(refusal("") == "m.tsv:1" + missing);
    CHECK(refusal("# only\n# comments\n") == "m.tsv:1" + missing);
    CHECK(refusal("g\ta\tbf16\t4\n") == "m.tsv:1" + missing);
    CHECK(refusal("# comment\n\ng\ta\tbf16\t4\n") == "m.tsv:3" + missing);
    CHECK(refusal("group name dtype shape\n") == "m.tsv:1" + missing);
    CHECK(refusal("group\tname\tdtype\tshape\tnote\n") == "m.tsv:1" + missing);
    CHECK(refusal("Group\tname\tdtype\tshape\n") == "m.tsv:1" + missing);
    CHECK(refusal("@end\n") == "m.tsv:1" + missing);
}

TEST_CASE("a second header is a row like any other") {
    CHECK(refusal(header + header) ==
          "m.tsv:2: tensor 'name': extent of shape 'shape' 'shape' is not a whole number");
}

TEST_CASE("a row has four fields") {
    const auto fields = [](int found) {
        return "m.tsv:2: expected 4 tab-separated fields (group name dtype shape), found " +
               std::to_string(found);
    };
    CHECK(row_refusal("g\ta\tbf16") == fields(3));
    CHECK(row_refusal("g\ta\tbf16\t4\tmore") == fields(5));
    CHECK(row_refusal("g\ta\tbf16\t4\t") == fields(5));
    CHECK(row_refusal("g a bf16 4") == fields(1));
    CHECK(row_refusal(" ") == fields(1));
    CHECK(row_refusal("  # an indented comment") == fields(1));
}

TEST_CASE("group and tensor have names") {
    CHECK(row_refusal("\ta\tbf16\t4") == "m.tsv:2: the group is empty");
    CHECK(row_refusal("g\t\tbf16\t4") == "m.tsv:2: the tensor name is empty");
    CHECK(row_refusal("\t\t\t") == "m.tsv:2: the group is empty");
}

TEST_CASE("the dtype is a known one") {
    const std::string known = ", known: f32 f64 bf16 f16 f8e4m3 f8e5m2 i8 u8";
    CHECK(row_refusal("g\ta\tfloat32\t4") == "m.tsv:2: tensor 'a': unknown dtype 'float32'" + known);
    CHECK(row_refusal("g\ta\t\t4") == "m.tsv:2: tensor 'a': unknown dtype ''" + known);
}

TEST_CASE("every extent is a whole number that fits") {
    const auto extent = [](const std::string& shape) { return row_refusal("g\ta\tbf16\t" + shape); };
    const std::string start = "m.tsv:2: tensor 'a': extent of shape ";
    CHECK(extent("") == start + "'' is missing");
    CHECK(extent("4x") == start + "'4x' is missing");
    CHECK(extent("x4") == start + "'x4' is missing");
    CHECK(extent("4xx4") == start + "'4xx4' is missing");
    CHECK(extent("4x-3") == start + "'4x-3' -3 is negative");
    CHECK(extent("-1") == start + "'-1' -1 is negative");
    CHECK(extent("4x3.5") == start + "'4x3.5' '3.5' is not a whole number");
    CHECK(extent("4 x3") == start + "'4 x3' '4 ' is not a whole number");
    CHECK(extent("+4") == start + "'+4' '+4' is not a whole number");
    CHECK(extent("0x10") == ""); // 0 by 10, not a hexadecimal number
    CHECK(extent("4X3") == start + "'4X3' '4X3' is not a whole number");
    CHECK(extent("1e3") == start + "'1e3' '1e3' is not a whole number");
    CHECK(extent("-") == start + "'-' '-' is not a whole number");
    CHECK(extent("scalar") == start + "'scalar' 'scalar' is not a whole number");
    CHECK(extent("9223372036854775807") == "");
    CHECK(extent("2x9223372036854775808") ==
          start + "'2x9223372036854775808' '9223372036854775808' does not fit 64 bits");
    CHECK(extent("-9223372036854775809") ==
          start + "'-9223372036854775809' '-9223372036854775809' does not fit 64 bits");
    CHECK(extent("4294967296x4294967296") ==
          "m.tsv:2: tensor 'a': elements of a shape: 4294967296 * 4294967296 does not fit 64 bits");
    CHECK(extent("1x1x1x1x1x1x1x1") == "");
    CHECK(extent("1x1x1x1x1x1x1x1x1") == "m.tsv:2: tensor 'a': a shape has at most 8 extents");
}

TEST_CASE("a tensor stands once in its group") {
    CHECK(refusal(header + "g\ta\tbf16\t4\n\ng\ta\tbf16\t5\n") ==
          "m.tsv:4: duplicate tensor 'a' in group 'g'");
    CHECK(refusal(header + "g\ta\tbf16\t4\nh\ta\tbf16\t5\n") == "");
    CHECK(refusal(header + "@repeat i 0 1\ng\ta\tbf16\t4\n@end\n") ==
          "m.tsv:3: duplicate tensor 'a' in group 'g'");
}

TEST_CASE("the first wrong line is the one reported") {
    CHECK(refusal(header + "g\ta\tbf16\t4\n# fine\ng\tb\tbf17\t4\ng\tc\n").substr(0, 8) == "m.tsv:4:");
}

TEST_CASE("@repeat stands for its rows once per value, nested ones inside") {
    CHECK(names_of(read(header + "@repeat i 3 5\nl.{i}\tw{i}.{i}\tbf16\t4\n@end\nhead\tn\tbf16\t4\n")) ==
          Names{"l.3/w3.3", "l.4/w4.4", "l.5/w5.5", "head/n"});
    CHECK(names_of(read(header + "@repeat i 0 1\n"
                                 "l.{i}\tq\tbf16\t4\n"
                                 "@repeat e 7 8\n"
                                 "l.{i}\te.{e}.{i}\tbf16\t4\n"
                                 "@end\n"
                                 "l.{i}\tz\tbf16\t4\n"
                                 "@end\n")) ==
          Names{"l.0/q", "l.0/e.7.0", "l.0/e.8.0", "l.0/z", "l.1/q", "l.1/e.7.1", "l.1/e.8.1", "l.1/z"});
    CHECK(names_of(read(header + "@repeat i 2 2\ng\ta{i}\tbf16\t4\n@end")) == Names{"g/a2"});
    CHECK(names_of(read(header + "@repeat i 0 1\n@end\n")).empty());
    CHECK(names_of(read(header +
                        "@repeat i 0 0\ng\ta{i}\tbf16\t4\n@end\n@repeat i 1 1\ng\ta{i}\tbf16\t4\n@end\n")) ==
          Names{"g/a0", "g/a1"});
    CHECK(names_of(read(header + "@repeat layer 1 2\r\ng\ta{layer}\tbf16\t4\r\n@end\r\n")) ==
          Names{"g/a1", "g/a2"});
}

TEST_CASE("a repeat may fill any field, and replaces its own name only") {
    const ModelSpec model = read(header + "@repeat n 1 3\ng\t{n}\tbf16\t{n}x{n}0\n@end\n");
    CHECK(model.groups[0].tensors[2].shape == ragged::Shape{3, 30});
    CHECK(names_of(read(header + "@repeat i 0 0\ng\t{j}{ii}{i\tbf16\t4\n@end\n")) == Names{"g/{j}{ii}{i"});
    CHECK(names_of(read(header + "g\t{i}\tbf16\t4\n")) == Names{"g/{i}"});
    // after @end the name is free again
    CHECK(names_of(read(header + "@repeat i 0 0\n@end\ng\t{i}\tbf16\t4\n")) == Names{"g/{i}"});
}

TEST_CASE("rows of a repeat are reported by their own line") {
    CHECK(refusal(header + "@repeat i 0 3\ng\ta{i}\tbf16\t4\ng\tb{i}\tbf16\t-{i}\n@end\n") ==
          "m.tsv:4: tensor 'b1': extent of shape '-1' -1 is negative");
}

TEST_CASE("malformed repeats") {
    const std::string not_one = "' is not '@repeat NAME FIRST LAST' or '@end'";
    const auto repeat = [](const std::string& line) { return refusal(header + line + "\n@end\n"); };
    CHECK(repeat("@repeat") == "m.tsv:2: '@repeat" + not_one);
    CHECK(repeat("@repeat i 0") == "m.tsv:2: '@repeat i 0" + not_one);
    CHECK(repeat("@repeat i 0 1 2") == "m.tsv:2: '@repeat i 0 1 2" + not_one);
    CHECK(repeat("@repeat i 0 1 ") == "m.tsv:2: '@repeat i 0 1 " + not_one);
    CHECK(repeat("@repeat  0 1") == "m.tsv:2: '@repeat  0 1" + not_one);
    CHECK(repeat("@repeat\ti\t0\t1") == "m.tsv:2: '@repeat\ti\t0\t1" + not_one);
    CHECK(repeat("@Repeat i 0 1") == "m.tsv:2: '@Repeat i 0 1" + not_one);
    CHECK(repeat("@") == "m.tsv:2: '@" + not_one);
    CHECK(repeat("@ends") == "m.tsv:2: '@ends" + not_one);
    CHECK(repeat("@repeat i x 1") == "m.tsv:2: first 'x' is not a whole number");
    CHECK(repeat("@repeat i 0 y") == "m.tsv:2: last 'y' is not a whole number");
    CHECK(repeat("@repeat i 0 ") == "m.tsv:2: last is missing");
    CHECK(repeat("@repeat i -1 1") == "m.tsv:2: first -1 is negative");
    CHECK(repeat("@repeat i 0 99999999999999999999") ==
          "m.tsv:2: last '99999999999999999999' does not fit 64 bits");
    CHECK(repeat("@repeat i 2 1") == "m.tsv:2: repeat from 2 to 1 is not in order");
    CHECK(repeat("@repeat i 0 999999") == "");
    CHECK(repeat("@repeat i 0 1000000") == "m.tsv:2: more than 1000000 repeats in all");
    CHECK(repeat("@repeat i 0 9223372036854775807") == "m.tsv:2: more than 1000000 repeats in all");
    CHECK(repeat("@repeat i 9223372036854775806 9223372036854775806") == "");
}

TEST_CASE("@repeat and @end come in pairs") {
    CHECK(refusal(header + "@end\n") == "m.tsv:2: @end without @repeat");
    CHECK(refusal(header + "g\ta\tbf16\t4\n@end\ng\tb\tbf16\t4\n") == "m.tsv:3: @end without @repeat");
    CHECK(refusal(header + "@repeat i 0 1\n@end\n@end\n") == "m.tsv:4: @end without @repeat");
    CHECK(refusal(header + "@repeat i 0 1\n") == "m.tsv:2: @repeat without @end");
    CHECK(refusal(header + "@repeat i 0 1\ng\ta{i}\tbf16\t4\n") == "m.tsv:2: @repeat without @end");
    CHECK(refusal(header + "@repeat i 0 1\n@repeat j 0 1\ng\ta{i}{j}\tbf16\t4\n@end\n") ==
          "m.tsv:2: @repeat without @end");
    CHECK(refusal(header + "@repeat i 0 1\n@repeat j 0 1\n") == "m.tsv:3: @repeat without @end");
}

TEST_CASE("a file gives its name to the model and stands in messages") {
    const std::filesystem::path folder = std::filesystem::temp_directory_path();
    // tests of two builds may run at the same time
    const std::string name = ragged::concat("ragged_inventory_test.", std::random_device{}(), ".tiny");
    const std::filesystem::path path = folder / (name + ".tsv");
    std::ofstream(path) << header << "g\ta\tbf16\t4x4\n";
    CHECK(ragged::read_inventory(path).name == name);
    CHECK(names_of(ragged::read_inventory(path)) == Names{"g/a"});
    std::ofstream(path) << header << "g\ta\tbf16\n";
    CHECK_THROWS_WITH_AS(
        ragged::read_inventory(path),
        (path.string() + ":2: expected 4 tab-separated fields (group name dtype shape), found 3").c_str(),
        ragged::SpecError);
    std::ofstream(path).close();
    CHECK_THROWS_AS(ragged::read_inventory(path), ragged::SpecError); // empty
    std::filesystem::remove(path);
    CHECK_THROWS_WITH_AS(ragged::read_inventory(path), (path.string() + ": cannot be read").c_str(),
                         ragged::SpecError);
    CHECK_THROWS_WITH_AS(ragged::read_inventory(folder), (folder.string() + ": cannot be read").c_str(),
                         ragged::SpecError);
    CHECK_THROWS_WITH_AS(ragged::read_inventory(std::filesystem::path{}), ": cannot be read",
                         ragged::SpecError);
}

namespace {

struct Failing : std::streambuf {
    std::string text = "group\tname\tdtype\tshape\ng\ta\tf32\t4\n";
    Failing() { setg(text.data(), text.data(), text.data() + text.size()); }
    int_type underflow() override { throw std::runtime_error("input/output error"); }
};

} // namespace

TEST_CASE("a read error is not the end of the file") {
    Failing buffer;
    std::istream input(&buffer);
    CHECK_THROWS_AS(ragged::read_inventory(input, "m.tsv", "m"), ragged::SpecError);
}

TEST_CASE("100000 nested repeats are refused, not a stack overflow") {
    std::string text = "group\tname\tdtype\tshape\n";
    for (int i = 0; i < 100000; ++i)
        text += "@repeat i 0 0\n";
    std::istringstream input(text);
    CHECK_THROWS_AS(ragged::read_inventory(input, "m.tsv", "m"), ragged::SpecError);
}

TEST_CASE("a variable repeats once at a time") {
    std::istringstream input(
        "group\tname\tdtype\tshape\n@repeat i 0 1\n@repeat i 0 1\ng\tw{i}\tf32\t4\n@end\n@end\n");
    CHECK_THROWS_WITH_AS(ragged::read_inventory(input, "m.tsv", "m"), "m.tsv:3: 'i' repeats already",
                         ragged::SpecError);
}
