// expect: ragged: an exact sum takes squares of up to 32-bit elements
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/group/flat.hpp>

using Line = ragged::Topology<ragged::Axis<"shard">>;

void use(ragged::DBuffer<double, Line>& doubles, ragged::DBuffer<float, Line>& floats, double* digits) {
#ifdef RAGGED_MUST_FAIL
    ragged::exact_sum_of_squares(doubles, digits);
#else
    ragged::exact_sum_of_squares(floats, digits);
    static_cast<void>(doubles);
#endif
}
