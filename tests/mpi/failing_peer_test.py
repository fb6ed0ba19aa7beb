# SPDX-FileCopyrightText: 2026 The ragged authors
# SPDX-License-Identifier: Apache-2.0
"""One of four processes fails; the others must end with a typed error in time, and stay failed.

failing_peer_test.py PROGRAM PATH LAUNCHER [FLAG...]    PATH is window or messages
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

RANKS, FAILING, TIMEOUT_MS = 4, 1, 2000
LATE = TIMEOUT_MS + 500 + 1500  # the roll is called, and the machine may be busy

MISSING = {
    "window": r"CommError: .*rank 1 did not (enter|leave) within 2000 ms.* \[1\]",
    "messages": r"CommError: all_gather of 1048576 f32.*rank 1 did not come within 2000 ms \[1\]",
}
DIFFERENT = r"CommError: .*rank 1 called {}, rank 0 called all_gather of 1048576 f32.* \[1\]"
# case -> what every other rank is told, by path, and whether the failing rank reports as well
CASES = {
    "killed": (MISSING, False),
    # an MPI may see by itself that bytes do not come
    "killed_inside": ({**MISSING, "messages": rf"{MISSING['messages']}|MpiError: all_gather of 1048576 f32.*MPI says"}, False),
    "killed_in_step": ({**MISSING, "messages": r"CommError: .*rank 1 did not come within 2000 ms \[1\]"}, False),
    "stopped": (MISSING, False),
    "exits": (MISSING, False),
    "abandons": ({"window": r"CommError: .*rank 1 left: no more data", "messages": MISSING["messages"]}, False),
    "throws": (MISSING, True),
    "count": (DIFFERENT.format("all_gather of 1048575 f32"), True),
    "dtype": (DIFFERENT.format("all_gather of 1048576 bf16"), True),
    "operation": (DIFFERENT.format("reduce_scatter of 1048576 f32"), True),
    "negative": ({"window": r"CommError: .*count -1 is negative", "messages": MISSING["messages"]}, True),
}


def run(case, path, program, launcher):
    with tempfile.TemporaryDirectory() as folder:
        files = pathlib.Path(folder) / "told"
        command = [*launcher, "-n", str(RANKS), program, case, path, str(files)]
        # UCX ends a process that reads from a dead one through CMA, before anybody can throw
        environment = {**os.environ, "UCX_TLS": "^cma"}
        subprocess.run(command, env=environment, timeout=40, capture_output=True, check=False)
        return [f.read_text() if f.exists() else "" for f in (files.with_suffix(f".{r}") for r in range(RANKS))]


def problems(case, path, told):
    wanted, also_failing = CASES[case]
    pattern = wanted if isinstance(wanted, str) else wanted[path]
    for rank, text in enumerate(told):
        if rank == FAILING and not also_failing:
            continue
        after = "" if case == "throws" and rank == FAILING else "the next call fails\n"
        found = re.match(rf"(\d+) (.*)\n{after}all is dropped\n", text, re.DOTALL)
        if not found:
            yield f"rank {rank} reported {text!r}"
        elif not re.search(pattern, found[2]) and rank != FAILING:
            yield f"rank {rank} was told {found[2]!r}, wanted is {pattern!r}"
        elif int(found[1]) > LATE:
            yield f"rank {rank} was told after {found[1]} ms"


program, path, *launcher = sys.argv[1:]
failed = False
for case in CASES:
    told = run(case, path, program, launcher)
    found = list(problems(case, path, told))
    failed = failed or bool(found)
    print(f"{case}: {'FAILED' if found else 'ok'}: {told[0].splitlines()[:1]}", *found, sep="\n    ", flush=True)
sys.exit(failed)
