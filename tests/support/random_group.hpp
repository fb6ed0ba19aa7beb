// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Small random groups with everything that is awkward: empty tensors, tails in every period, tiles, slices,
// tensors smaller than the world or with an alignment of their own.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include <ragged/spec/tensor_spec.hpp>

namespace support {

inline ragged::GroupSpec random_group(std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto draw = [&](std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
    };
    ragged::GroupSpec group{"random " + std::to_string(seed), {}};
    const std::int64_t count = draw(0, 6);
    for (std::int64_t i = 0; i < count; ++i) {
        ragged::TensorSpec tensor{"t" + std::to_string(i), {}, {}, ragged::DType::f32};
        switch (draw(0, 7)) {
        case 0:
            tensor.shape = {draw(0, 300)}, tensor.block = ragged::elements(draw(1, 40));
            break;
        case 1:
            tensor.shape = {draw(1, 30), draw(1, 30)}, tensor.block = ragged::rows(draw(1, 8));
            break;
        case 2: {
            const std::int64_t high = draw(2, 12), wide = draw(1, 12);
            tensor.shape = {high + draw(0, 40), wide + draw(0, 40)};
            tensor.block = ragged::tile({high, wide});
            break;
        }
        case 3:
            tensor.shape = {draw(0, 200)}, tensor.block = ragged::whole();
            break;
        case 4:
            tensor.shape = {2, 3 * draw(1, 4), draw(2, 9)}, tensor.block = ragged::tile({1, 3, 2});
            break;
        case 5: // a short last block in every slice
            tensor.shape = {draw(1, 3), draw(2, 9), draw(1, 5)};
            tensor.block = ragged::tile({1, draw(1, tensor.shape[1]), draw(1, tensor.shape[2])});
            break;
        case 6:
            tensor.shape = {draw(0, 4), draw(1, 9), draw(1, 9)}, tensor.block = ragged::rows(draw(1, 4));
            tensor.sliced = true;
            break;
        default:
            tensor.shape = {draw(1, 3)};
            break;
        }
        if (draw(0, 5) == 0)
            tensor.align_bytes = std::int64_t{16} << draw(0, 4);
        group.tensors.push_back(tensor);
    }
    return group;
}

/// The same with everything else that a plan may hold: every dtype, slices of any tensor, dimensions that
/// other axes keep whole, names that need escapes.
inline ragged::GroupSpec awkward_group(std::uint32_t seed) {
    ragged::GroupSpec group = random_group(seed);
    std::mt19937 random(seed + 1'000'000);
    const auto draw = [&](std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
    };
    const auto with_first = [](std::int64_t first, const ragged::Shape& rest) {
        ragged::Shape shape{first};
        for (int dim = 0; dim < rest.rank(); ++dim)
            shape.push_back(rest[dim]);
        return shape;
    };
    const std::string names[] = {"",
                                 "\"\\/",
                                 "\t\n\x01\x7f",
                                 "\xc3\xa9\xf0\x9f\x99\x82",
                                 "{\"index\": 3}",
                                 std::string("\0", 1),
                                 std::string(3000, 'n')};
    for (ragged::TensorSpec& tensor : group.tensors) {
        tensor.dtype = ragged::all_dtypes[draw(0, 7)];
        if (!tensor.sliced && draw(0, 2) == 0) {
            tensor.shape = with_first(draw(0, 4), tensor.shape);
            if (tensor.block.kind == ragged::Block::Kind::tile)
                tensor.block.sizes = with_first(1, tensor.block.sizes);
            tensor.sliced = true;
        }
        if (tensor.shape.rank() > 0 && draw(0, 3) == 0)
            tensor.whole_from = static_cast<int>(draw(tensor.sliced ? 1 : 0, tensor.shape.rank() - 1));
        tensor.name = names[draw(0, 6)] + (tensor.name == "t0" ? "" : tensor.name);
    }
    group.name += names[draw(0, 6)];
    return group;
}

/// A value for a flat element of a tensor: small integers, exact in every type and sum used in the tests.
inline float value_of(std::size_t tensor, std::int64_t element) {
    return static_cast<float>((static_cast<std::int64_t>(tensor) * 31 + element * 7 + 1) % 61) - 30.0f;
}

} // namespace support
