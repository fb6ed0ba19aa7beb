# SPDX-FileCopyrightText: 2026 The ragged authors
# SPDX-License-Identifier: Apache-2.0
"""train_gpt from outside: the same parameters on any number of ranks, the same losses however a batch is dealt, memory as
planned, and every kind of bad input.

train_gpt_test.py TRAIN_GPT MODELS_DIR CONFIGURATION MPIRUN [STEPS]
anything but Release is slow: a few of the cases will do; MPIRUN is empty where the program has no MPI
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

PROGRAM = sys.argv[1]
THOROUGH = sys.argv[3] == "Release"
MPIRUN = sys.argv[4]
STEPS = int(sys.argv[5]) if len(sys.argv) > 5 else 3 if THOROUGH else 2
OPTIMIZERS = ("adamw", "adam8bit", "muon", "shampoo")
PRECISIONS = ("fp32", "bf16")
# Of a launcher, where this test runs under one.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI_"))}


def run(*arguments, **environment):
    return subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**ENVIRONMENT, **environment})


def train(*arguments):
    done = run(*arguments, "--json", "-")
    assert done.returncode == 0 and done.stderr == "", (arguments, done.returncode, done.stderr)
    return check(json.loads(done.stdout), arguments)


def check(result, arguments):
    whole = {"ranks", "planned_peak_bytes", "peak_bytes", "state_bytes", "steady_allocations", "steady_copied_bytes"}
    assert set(result) == whole | {"schema", "losses", "tokens_per_second", "padding_ratio", "seconds",
                                   "parameters_digest"}, result
    assert result["schema"] == "ragged.train/1"
    assert all(type(result[name]) is int for name in whole), result
    assert all(type(loss) is float and 0 < loss < 10 for loss in result["losses"]), result
    assert type(result["tokens_per_second"]) is float and result["tokens_per_second"] > 0
    assert type(result["padding_ratio"]) is float and 0 <= result["padding_ratio"] < 1
    assert set(result["seconds"]) == {"gather", "compute", "reduce", "optimizer"}
    assert all(type(seconds) is float and seconds >= 0 for seconds in result["seconds"].values())
    assert len(result["parameters_digest"]) == 16 and int(result["parameters_digest"], 16) >= 0
    assert result["steady_allocations"] == 0 and result["steady_copied_bytes"] == 0, (arguments, result)
    assert result["peak_bytes"] == result["planned_peak_bytes"] > result["state_bytes"] > 0, (arguments, result)
    return result


def check_any_ranks():
    """With one micro-batch the bits of all parameters depend on nothing but the optimizer and the precision."""
    digests = {}
    worlds = [(1,), (2,), (3,), (4,), (5,), (8,), (4, 2)] if THOROUGH else [(1,), (3,), (4, 2)]
    cases = list(itertools.product(OPTIMIZERS, PRECISIONS))
    if not THOROUGH:
        cases = [("adamw", "fp32"), ("adam8bit", "bf16"), ("muon", "bf16"), ("shampoo", "fp32")]
    for optimizer, precision in cases:
        found = []
        for ranks, *replicas in worlds:
            found.append(train("--ranks", ranks, "--replicas", *replicas or [1], "--optimizer", optimizer,
                               "--precision", precision, "--steps", STEPS, "--micro-batches", 1))
            assert found[-1]["ranks"] == ranks and len(found[-1]["losses"]) == STEPS
        assert len({result["parameters_digest"] for result in found}) == 1, (optimizer, precision, [
            (world, result["parameters_digest"], result["losses"]) for world, result in zip(worlds, found)])
        assert all(result["losses"] == found[0]["losses"] for result in found)
        digests[optimizer, precision] = found[0]["parameters_digest"]
        if len(worlds) > 4:
            assert found[5]["state_bytes"] < found[0]["state_bytes"] / 3, "a rank holds a share of the state"
    assert len(set(digests.values())) == len(digests), digests


def check_processes():
    """Ranks may be processes as well."""
    environment = {**ENVIRONMENT, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_base_warn_component_unused": "0",
                   "ASAN_OPTIONS": "detect_leaks=0"}  # of MPI itself
    for optimizer in ("adamw", "muon") if THOROUGH else ("muon",):
        arguments = ["--optimizer", optimizer, "--precision", "bf16", "--steps", STEPS, "--micro-batches", 4]
        with tempfile.TemporaryDirectory() as folder:
            path, trace = os.path.join(folder, "json"), os.path.join(folder, "trace")
            command = [MPIRUN, "-n", "3", PROGRAM, *map(str, arguments), "--json", path, "--trace", trace]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
            assert done.returncode == 0 and done.stdout.count("digest of parameters") == 1, (command, done)
            processes = check(json.load(open(path)), command)
            assert {event["pid"] for event in json.load(open(trace))["traceEvents"]} == {0, 1, 2}
        threads = train(*arguments, "--ranks", 3)
        for what in ("ranks", "losses", "parameters_digest", "peak_bytes", "state_bytes"):
            assert processes[what] == threads[what], (optimizer, what, processes, threads)
    done = subprocess.run([MPIRUN, "-n", "2", PROGRAM, "--ranks", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=environment)
    assert done.returncode == 2, done
    assert done.stderr.count("train_gpt: --ranks is for threads; here a launcher started 2 ranks\n") == 1, done


def check_any_deal():
    """How a batch is dealt to the ranks changes the order of its sums, and nothing else."""
    for optimizer in OPTIMIZERS if THOROUGH else ("adamw",):
        arguments = ("--optimizer", optimizer, "--steps", 3, "--micro-batches", 12 if THOROUGH else 3)
        alone = train(*arguments)
        for ranks in (2, 3, 4) if THOROUGH else (2,):
            dealt = train(*arguments, "--ranks", ranks)
            for step, (a, b) in enumerate(zip(alone["losses"], dealt["losses"])):
                assert abs(a - b) < 1e-5, (optimizer, ranks, step, a, b)
        if THOROUGH and optimizer == "adamw":
            assert alone["losses"][-1] < alone["losses"][0] - 0.5, "it learns"
            other = train(*arguments, "--seed", 2)
            assert other["losses"] != alone["losses"]


def check_outputs():
    with tempfile.TemporaryDirectory() as folder:
        at = {name: os.path.join(folder, name) for name in ("text", "json", "svg", "trace")}
        open(at["text"], "w").write("to be or not to be, that is the question. " * 40)
        done = run("--text", at["text"], "--ranks", 2, "--steps", 2, "--micro-batches", 3, "--optimizer", "muon", "--json",
                   at["json"], "--svg", at["svg"], "--trace", at["trace"])
        assert done.returncode == 0 and done.stderr == "", done
        for words in ("2 ranks, muon, fp32", "tokens per second", "padding", "peak memory", "digest", "attn.c_attn.weight",
                      "  adamw"):
            assert words in done.stdout, (words, done.stdout)
        result = check(json.load(open(at["json"])), "outputs")
        assert "%.4f" % result["losses"][1] in done.stdout
        assert xml.etree.ElementTree.parse(at["svg"]).getroot().tag.endswith("svg")
        events = json.load(open(at["trace"]))["traceEvents"]
        assert {event["pid"] for event in events} == {0, 1}
        assert all(event["dur"] >= 0 for event in events if event["ph"] == "X")
        names = {event["name"] for event in events}
        assert any(name.startswith("forward layers.0 of round 1") for name in names), names
        assert sorted(os.listdir(folder)) == sorted(at), "nothing besides"


def check_refusals():
    def refused(words, *arguments, **environment):
        done = run(*arguments, **environment)
        assert done.returncode == 2 and done.stdout == "", (arguments, done)
        assert done.stderr.startswith("train_gpt: ") and done.stderr.count("\n") == 1, done.stderr
        assert words in done.stderr, (words, done.stderr)

    refused("unknown option '--rank'", "--rank", 2)
    refused("unexpected argument 'gpt2.tsv'", "gpt2.tsv")
    for option in ("--ranks", "--replicas", "--steps", "--micro-batches"):
        refused(option + " 0 is below 1", option, 0)
        refused(option, option, "many")
        refused("is above", option, 10**9)
        refused("needs a value", option)
    refused("--replicas 2 does not divide 3 ranks", "--ranks", 3, "--replicas", 2)
    refused("--optimizer 'sgd' is none of adamw, adam8bit, muon, shampoo", "--optimizer", "sgd")
    refused("--precision 'fp16' is none of fp32, bf16", "--precision", "fp16")
    refused("--seed -1 is below 0", "--seed", -1)
    refused("is given twice", "--seed", 1, "--seed", 2)
    refused("--svg needs a file", "--svg", "-")
    refused("--trace needs a file", "--trace", "-")
    refused("--text needs a file", "--text", "")
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(folder, "text")
        refused("cannot be read", "--text", text)
        refused("cannot be read", "--text", folder)
        open(text, "w").write("short")
        refused("the text has 5 bytes, a sequence takes 65", "--text", text)
        refused("is the text", "--text", text, "--json", text)
        refused("cannot be written", "--json", os.path.join(folder, "none", "json"))
        both = os.path.join(folder, "both")
        refused("both name", "--json", both, "--trace", both)
        assert os.listdir(folder) == ["text"]
    # As if a launcher had started it; nothing is asked of MPI before the options are read.
    refused("--ranks is for threads; here a launcher started 4 ranks", "--ranks", 4, OMPI_COMM_WORLD_SIZE="4",
            OMPI_COMM_WORLD_RANK="0")
    done = run("--ranks", 4, PMI_SIZE="4", PMI_RANK="1")
    assert done.returncode == 2 and done.stderr == "" and done.stdout == "", "one rank tells"
    assert run("--help").stdout.startswith("usage: train_gpt")


check_refusals()
check_outputs()
check_any_ranks()
check_any_deal()
if MPIRUN:
    check_processes()
print("train_gpt: all checks hold")
