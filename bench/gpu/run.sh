#!/bin/sh
# SPDX-FileCopyrightText: 2026 The ragged authors
# SPDX-License-Identifier: Apache-2.0
#
# On a machine with a GPU: builds, tests and measures the CUDA engine in under 8 minutes, and writes a Markdown page.
#     sh bench/gpu/run.sh [PAGE.md]        default: bench/results/NAME_OF_THE_GPU.md
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/../.."

name=$(nvidia-smi --query-gpu=name --format=csv,noheader -i 0 2>/dev/null) || name=
if [ -z "$name" ]; then
    echo "skipped: no CUDA device (nvidia-smi tells of none)"
    exit 0
fi
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d .)
page=${1:-bench/results/$(echo "$name" | tr 'A-Z /' 'a-z--').md}
build=build/gpu
mkdir -p "$(dirname -- "$page")"
failed=0

# part NAME COMMAND...: at most so long, its output on the page; what fails is said there and in the end.
limit=240
part() {
    title=$1
    shift
    echo "== $title" >&2
    status=0
    timeout "$limit" "$@" >"$build/part.txt" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        failed=1
        printf '\n## %s\n\nfailed with status %s\n\n```\n' "$title" "$status" >>"$page"
        tail -n 40 "$build/part.txt" >>"$page"
        printf '```\n' >>"$page"
    elif [ "$title" = measurements ]; then
        cat "$build/part.txt" >>"$page"
    elif [ "$title" = "NCCL on one rank" ]; then
        printf '\n## %s\n\n' "$title" >>"$page"
        cat "$build/part.txt" >>"$page"
    else
        printf '\n## %s\n\n```\n' "$title" >>"$page"
        tail -n 8 "$build/part.txt" >>"$page"
        printf '```\n' >>"$page"
    fi
}

cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DRAGGED_GPU_ARCHITECTURES="$capability-real" \
    -DRAGGED_BUILD_EXAMPLES=OFF >/dev/null
targets="gpu_bench gpu.group gpu.memory"
if cmake --build "$build" --target help | grep -q nccl_bench; then
    targets="$targets gpu.nccl gpu.redistribution gpu.step nccl_bench"
    if cmake --build "$build" --target help | grep -q gpu.muon; then
        targets="$targets gpu.muon"
    fi
fi
# Unquoted: one word each.
# shellcheck disable=SC2086
cmake --build "$build" --parallel --target $targets >"$build/build.txt" 2>&1 || {
    tail -n 60 "$build/build.txt" >&2
    exit 1
}
: >"$page"
part measurements "$build/bench/gpu/gpu_bench" examples/models/gpt-oss-120b.tsv
part "tests: group" "$build/tests/gpu/gpu.group"
part "tests: memory" "$build/tests/gpu/gpu.memory"

if [ -x "$build/bench/gpu/nccl_bench" ]; then
    part "tests: NCCL on one rank" "$build/tests/gpu/gpu.nccl"
    part "tests: redistribution" "$build/tests/gpu/gpu.redistribution"
    part "tests: training steps" "$build/tests/gpu/gpu.step"
    if [ -x "$build/tests/gpu/gpu.muon" ]; then
        part "tests: Muon" "$build/tests/gpu/gpu.muon"
    fi
    part "NCCL on one rank" "$build/bench/gpu/nccl_bench"
else
    printf '\n## NCCL\n\nskipped: NCCL was not found\n' >>"$page"
fi

# Slow by a factor of some ten: without the group of many elements.
limit=90
for tool in memcheck racecheck; do
    if command -v compute-sanitizer >/dev/null; then
        part "compute-sanitizer: $tool" compute-sanitizer --tool "$tool" --error-exitcode 1 \
            "$build/tests/gpu/gpu.group" --test-case="small*"
    else
        printf '\n## compute-sanitizer: %s\n\nskipped: the tool is not installed\n' "$tool" >>"$page"
    fi
done
echo "== $page" >&2
exit "$failed"
