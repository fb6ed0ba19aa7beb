#!/bin/sh
# SPDX-FileCopyrightText: 2026 The ragged authors
# SPDX-License-Identifier: Apache-2.0
#
# From a bare Debian 12 or Ubuntu 24.04 to a running demo or a finished test run. What is there is used, what is
# missing is installed by the package manager.
set -eu

usage() {
    echo "usage: sh cmake/setup.sh demo   build the examples, run the demo, train a small GPT" >&2
    echo "       sh cmake/setup.sh test   build and test: sanitizers, then the release build" >&2
    exit 2
}

say() { printf '\n== %s\n' "$*"; }

# need PACKAGE COMMAND...: the package is missing when the command fails.
missing=
need() {
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}

install_missing() {
    [ -n "$missing" ] || return 0
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        as_root=sudo
    fi
    if ! command -v apt-get >/dev/null || { [ -n "$as_root" ] && ! command -v sudo >/dev/null; }; then
        echo "setup.sh: missing:$missing. Install them, or run this as root or with sudo on Debian or Ubuntu." >&2
        exit 1
    fi
    say "installing$missing"
    $as_root apt-get -q update
    # Unquoted: one word each.
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends $missing
}

# GCC's thread sanitizer refuses to start under the address randomisation of some kernels. Where the system forbids
# switching it off, try with it.
plain_addresses() {
    if setarch "$(uname -m)" -R true 2>/dev/null; then
        setarch "$(uname -m)" -R "$@"
    else
        "$@"
    fi
}

[ $# -eq 1 ] || usage
case $1 in demo | test) ;; *) usage ;; esac
CDPATH='' cd -- "$(dirname -- "$0")/.."

need g++ command -v g++
need cmake command -v cmake
need ninja-build command -v ninja
need libopenblas-dev sh -c "echo '#include <cblas.h>' | g++ -E -x c++ -"
if [ "$1" = test ]; then
    need doctest-dev test -e /usr/include/doctest/doctest.h
    need libbenchmark-dev test -e /usr/include/benchmark/benchmark.h
    need libdlpack-dev test -e /usr/include/dlpack/dlpack.h
    need python3 command -v python3
    need openmpi-bin command -v mpirun.openmpi
    need libopenmpi-dev command -v mpicxx.openmpi
    need mpich command -v mpirun.mpich
    need libmpich-dev command -v mpicxx.mpich
fi
install_missing

if [ "$1" = demo ]; then
    say "configuring and building the examples"
    cmake --preset release -DRAGGED_BUILD_TESTS=OFF -DRAGGED_BUILD_BENCH=OFF
    cmake --build --preset release
    say "running build/release/examples/demo"
    build/release/examples/demo
    for optimizer in adam8bit muon; do
        for ranks in 1 4; do
            say "training a small GPT with $optimizer, ranks: $ranks (the digests at the ends are equal)"
            build/release/examples/train_gpt --ranks "$ranks" --optimizer "$optimizer" --steps 60 --micro-batches 4
        done
    done
    exit
fi

failed=0
for preset in asan tsan release; do
    say "$preset: configure, build, test"
    status=0
    plain_addresses cmake --workflow --preset "$preset" || status=$?
    [ "$failed" -ne 0 ] || failed=$status
done
exit "$failed"
