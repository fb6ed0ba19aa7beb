// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The small floats bit for bit against the CUDA headers, which also run on the host: every code decoded, a
// dense sample of floats encoded. Needs the toolkit's headers and no GPU.
#include <doctest/doctest.h>

#if __has_include(<cuda_bf16.h>) && __has_include(<cuda_fp16.h>) && __has_include(<cuda_fp8.h>)

#include <bit>
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <ragged/spec/float_types.hpp>

namespace {

/// The same conversions by the CUDA headers, to and from bits.
template <class T>
struct Cuda;
template <>
struct Cuda<ragged::bf16> {
    static std::uint16_t encode(float value) {
        return static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)).x;
    }
    static float decode(std::uint16_t bits) {
        __nv_bfloat16_raw raw;
        raw.x = bits;
        return __bfloat162float(__nv_bfloat16(raw));
    }
};
template <>
struct Cuda<ragged::f16> {
    static std::uint16_t encode(float value) { return static_cast<__half_raw>(__float2half_rn(value)).x; }
    static float decode(std::uint16_t bits) {
        __half_raw raw;
        raw.x = bits;
        return __half2float(__half(raw));
    }
};
template <>
struct Cuda<ragged::f8e4m3> {
    static std::uint8_t encode(float value) { return __nv_fp8_e4m3(value).__x; }
    static float decode(std::uint8_t bits) {
        __nv_fp8_e4m3 code;
        code.__x = bits;
        return static_cast<float>(code);
    }
};
template <>
struct Cuda<ragged::f8e5m2> {
    static std::uint8_t encode(float value) { return __nv_fp8_e5m2(value).__x; }
    static float decode(std::uint8_t bits) {
        __nv_fp8_e5m2 code;
        code.__x = bits;
        return static_cast<float>(code);
    }
};

/// Counts disagreements and keeps the first; a doctest assertion per float would take minutes.
struct Disagreements {
    std::uint64_t checked = 0, wrong = 0;
    std::uint32_t first_input = 0, first_ours = 0, first_cuda = 0;

    void compare(std::uint32_t input, std::uint32_t ours, std::uint32_t cuda) {
        ++checked;
        if (ours == cuda)
            return;
        if (wrong++ == 0)
            first_input = input, first_ours = ours, first_cuda = cuda;
    }
    void report() const {
        CAPTURE(first_input);
        CAPTURE(first_ours);
        CAPTURE(first_cuda);
        CHECK(checked > 0);
        CHECK(wrong == 0);
    }
};

template <class T>
void compare_encoding(Disagreements& seen, std::uint32_t word) {
    const auto value = std::bit_cast<float>(word);
    seen.compare(word, T(value).bits, Cuda<T>::encode(value));
}

} // namespace

TEST_CASE_TEMPLATE("every code decodes as the CUDA headers do, NaN payloads included", T, ragged::bf16,
                   ragged::f16, ragged::f8e4m3, ragged::f8e5m2) {
    using Bits = decltype(T::bits);
    Disagreements seen;
    for (std::uint32_t code = 0; code < 1u << (8 * sizeof(T)); ++code) {
        const auto bits = static_cast<Bits>(code);
        seen.compare(code, std::bit_cast<std::uint32_t>(float(T::from_bits(bits))),
                     std::bit_cast<std::uint32_t>(Cuda<T>::decode(bits)));
    }
    seen.report();
}

TEST_CASE_TEMPLATE("floats in steps of 1009 patterns encode as the CUDA headers do", T, ragged::bf16,
                   ragged::f16, ragged::f8e4m3, ragged::f8e5m2) {
    Disagreements seen;
    for (std::uint64_t word = 0; word < std::uint64_t{1} << 32; word += 1009)
        compare_encoding<T>(seen, static_cast<std::uint32_t>(word));
    seen.report();
}

TEST_CASE_TEMPLATE("around every value and every tie they encode alike too", T, ragged::bf16, ragged::f16,
                   ragged::f8e4m3, ragged::f8e5m2) {
    // A tie of any format has at most 11 mantissa bits, so it lies on a multiple of 2^12.
    Disagreements seen;
    for (std::uint32_t high = 0; high < 1u << 20; ++high)
        for (const std::uint32_t delta : {0xffffffffu, 0u, 1u})
            compare_encoding<T>(seen, (high << 12) + delta);
    seen.report();
}

#else

TEST_CASE("the small floats against the CUDA headers") {
    MESSAGE("skipped: no CUDA toolkit headers");
}

#endif
