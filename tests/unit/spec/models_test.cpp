// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The inventories of examples/models against the figures that their comments quote.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <ragged/spec/inventory.hpp>

#ifndef RAGGED_MODELS_DIR
#define RAGGED_MODELS_DIR "examples/models"
#endif

namespace {

struct Expected {
    const char* name;
    std::size_t groups, tensors;
    std::int64_t elements;
    const char* last_layer; // the last group but the head
};

const Expected all_models[] = {
    {"gpt2", 14, 148, 124'439'808, "layers.11"},
    {"tiny-llama", 6, 39, 2'362'176, "layers.3"},
    {"llama-3-8b", 34, 291, 8'030'261'248, "layers.31"},
    {"llama-3-70b", 82, 723, 70'553'706'496, "layers.79"},
    {"gpt-oss-20b", 26, 411, 20'914'757'184, "layers.23"},
    {"gpt-oss-120b", 38, 615, 116'829'156'672, "layers.35"},
    {"qwen3-30b-a3b", 50, 18'867, 30'532'122'624, "layers.47"},
    {"deepseek-v3-671b", 63, 45'337, 671'026'404'352, "layers.60"},
};

std::filesystem::path path_of(const std::string& model) {
    return std::filesystem::path(RAGGED_MODELS_DIR) / (model + ".tsv");
}

} // namespace

TEST_CASE("every model has the groups, tensors and elements that its source counts") {
    for (const Expected& expected : all_models) {
        CAPTURE(expected.name);
        const ragged::ModelSpec model = ragged::read_inventory(path_of(expected.name));
        CHECK(model.name == expected.name);
        CHECK(model.groups.size() == expected.groups);
        std::size_t tensors = 0;
        std::int64_t elements = 0;
        std::set<std::string> names; // of the whole model
        for (const ragged::GroupSpec& group : model.groups) {
            tensors += group.tensors.size();
            for (const ragged::TensorSpec& tensor : group.tensors) {
                elements += tensor.shape.elements();
                names.insert(tensor.name);
                if (tensor.dtype != ragged::DType::bf16 || tensor.shape.elements() == 0 ||
                    tensor.name.find('{') != std::string::npos)
                    FAIL_CHECK(tensor.name);
            }
        }
        CHECK(tensors == expected.tensors);
        CHECK(names.size() == tensors);
        CHECK(elements == expected.elements);
        REQUIRE(model.groups.size() >= 3);
        CHECK(model.groups.front().name == "embed");
        CHECK(model.groups[1].name == "layers.0");
        CHECK(model.groups[model.groups.size() - 2].name == expected.last_layer);
        CHECK(model.groups.back().name == "head");
    }
}

TEST_CASE("the first comment of an inventory names the model and the total that is counted here") {
    for (const Expected& expected : all_models) {
        CAPTURE(expected.name);
        std::string line;
        std::ifstream file(path_of(expected.name));
        REQUIRE(std::getline(file, line));
        CHECK(line.find("# model: " + std::string(expected.name) + "  source: ") == 0);
        const std::string total = "  total_params: " + std::to_string(expected.elements);
        REQUIRE(line.size() > total.size());
        CHECK(line.substr(line.size() - total.size()) == total);
    }
}

TEST_CASE("there is no inventory that this test does not know") {
    std::set<std::string> known, found;
    for (const Expected& expected : all_models)
        known.insert(expected.name);
    for (const auto& entry : std::filesystem::directory_iterator(RAGGED_MODELS_DIR))
        if (entry.path().extension() == ".tsv")
            found.insert(entry.path().stem().string());
    CHECK(found == known);
}
