// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/ragged.hpp>

int second_unit();

int main() {
    return second_unit();
}
