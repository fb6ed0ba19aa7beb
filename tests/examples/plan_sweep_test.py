# SPDX-FileCopyrightText: 2026 The ragged authors
# SPDX-License-Identifier: Apache-2.0
"""plan_sweep from outside: its CSV against plan_model and against layouts worked out here, its chart as XML, and every
kind of bad input.

plan_sweep_test.py PLAN_SWEEP MODELS_DIR
"""
import csv
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

PROGRAM, MODELS = sys.argv[1], sys.argv[2]
PLAN_MODEL = os.path.join(os.path.dirname(PROGRAM), "plan_model")
COLUMNS = "model,layout,rows,segments,devices,elements,padded_elements,padding_ratio,blocks_cut"


def run(*arguments, stdout=subprocess.PIPE):
    return subprocess.run([PROGRAM, *map(str, arguments)], stdout=stdout, stderr=subprocess.PIPE, text=True)


def sweep(*arguments):
    """CSV rows as dictionaries."""
    result = run(*arguments, "--csv", "-")
    assert result.returncode == 0 and result.stderr == "", result.stderr
    assert result.stdout.startswith(COLUMNS + "\n")
    return list(csv.DictReader(io.StringIO(result.stdout)))


def plan(path, devices, rows):
    return json.loads(subprocess.run([PLAN_MODEL, path, "--devices", str(devices), "--granularity", f"rows:{rows}",
                                      "--order", "search", "--json", "-"], stdout=subprocess.PIPE, check=True).stdout)


def up(value, multiple):
    return -(-value // multiple) * multiple


def cut(tensor, boundaries):
    """Blocks of a tensor with a boundary inside; boundaries are elements of the tensor."""
    step = tensor["granularity"]
    return len({at // step for at in boundaries if 0 < at < tensor["elements"] and at % step})


def packed(tensors, devices, row_of, shard_multiple):
    """Tensors one after another, each at a multiple of its row."""
    starts, end = [], 0
    for tensor in tensors:
        starts.append(up(end, row_of(tensor)))
        end = starts[-1] + tensor["elements"]
    shard = up(-(-end // devices), shard_multiple)
    return shard * devices, sum(cut(tensor, [at - start for at in range(shard, end, shard)])
                                for tensor, start in zip(tensors, starts))


def flat(tensors, devices):
    return packed(tensors, devices, lambda tensor: 1, 1)


def row_elements(tensor):
    return math.prod(tensor["shape"][1:])


def common(tensors, devices):
    return packed(tensors, devices, row_elements, math.lcm(*map(row_elements, tensors)))


def even(tensors, devices):
    padded = blocks = 0
    for tensor in tensors:
        run = -(-tensor["shape"][0] // devices) * row_elements(tensor)
        padded += run * devices
        blocks += cut(tensor, range(run, tensor["elements"], run))
    return padded, blocks


def values():
    others = {"FSDP1/ZeRO": flat, "FSDP2": even, "Megatron-FSDP": common}
    for model, devices in ("tiny-llama", "8..32,1,100,8..16"), ("gpt-oss-20b", "8,96"):
        path = os.path.join(MODELS, model + ".tsv")
        rows = sweep(path, "--devices", devices, "--rows", "16,1", "--segments", "3,1")
        on = [1, 8, 16, 32, 100] if model == "tiny-llama" else [8, 96]
        assert [(r["rows"], r["layout"], r["segments"], r["devices"]) for r in rows] == [
            (str(block), layout, segments, str(devices)) for block in (1, 16)
            for layout, segments in (("ragged", "1"), ("ragged", "3"), *((name, "1") for name in others))
            for devices in on]
        found = {(r["layout"], r["segments"], int(r["rows"]), int(r["devices"])): r for r in rows}
        for block in 1, 16:
            for devices in on:
                ours = plan(path, devices, block)
                groups = [group["segments"][0]["tensors"] for group in ours["groups"]]
                expected = {name: [sum(both) for both in zip(*(layout(tensors, devices) for tensors in groups))]
                            for name, layout in others.items()}
                expected["ragged"] = ours["padded_elements"], 0
                for name, (padded, blocks) in expected.items():
                    row = found[name, "1", block, devices]
                    assert row["model"] == model and int(row["elements"]) == ours["elements"]
                    assert (int(row["padded_elements"]), int(row["blocks_cut"])) == (padded, blocks), (row, expected)
                    assert abs(float(row["padding_ratio"]) - (padded / ours["elements"] - 1)) < 1e-12
                assert float(found["ragged", "1", block, devices]["padding_ratio"]) == ours["padding_ratio"]
                several = found["ragged", "3", block, devices]
                assert int(several["padded_elements"]) <= ours["padded_elements"] and several["blocks_cut"] == "0"


def drawn(svg, kind):
    return list(xml.etree.ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}" + kind))


def outputs():
    tiny = os.path.join(MODELS, "tiny-llama.tsv")
    table = run(tiny, "--devices", "8..4096")
    assert table.returncode == 0
    lines = table.stdout.split("\n")
    assert lines[3].split() == ("rows devices ragged, 1 ragged, 2 ragged, 3 FSDP1/ZeRO cut FSDP2 cut Megatron-FSDP cut"
                                .split())
    body = [line.split() for line in lines[4:] if line and not line.strip("- ") == ""]
    assert [line[:2] for line in body] == [[str(rows), f"{8 << i:,}"] for rows in (1, 16, 128) for i in range(10)]
    assert max(map(len, lines)) <= 116
    default = sweep(tiny, "--devices", "8")
    assert {(r["rows"], r["segments"]) for r in default if r["layout"] == "ragged"} == {
        (rows, segments) for rows in ("1", "16", "128") for segments in "123"}
    wider = sweep(tiny, "--devices", "8", "--align-bytes", "4096")
    assert int(wider[0]["padded_elements"]) > int(default[0]["padded_elements"])
    assert run("--help").returncode == 0

    with tempfile.TemporaryDirectory() as folder:
        svg, out = os.path.join(folder, "sweep.svg"), os.path.join(folder, "sweep.csv")
        result = run(tiny, "--devices", "8..64", "--csv", out, "--svg", svg)
        assert result.returncode == 0 and "FSDP2" in result.stdout
        assert open(out).read() == run(tiny, "--devices", "8..64", "--csv", "-").stdout
        words = [text.text for text in drawn(svg, "text")]
        for word in ("ragged, 1 segment", "ragged, 3 segments", "Megatron-FSDP", "blocks of 128 rows stay whole"):
            assert words.count(word) == 1, words
        hollow = sum(row["blocks_cut"] != "0" for row in csv.DictReader(open(out)))
        marks = [mark.get("fill") for mark in drawn(svg, "circle")]  # of 3 panels with 6 layouts, and of 7 words above
        assert len(marks) == 3 * 6 * 4 + 7 and marks.count("#ffffff") == hollow + 1 > 10, (marks, hollow)
        assert words.count("64") == 3 and sorted(os.listdir(folder)) == ["sweep.csv", "sweep.svg"]

        # names of any characters, in the chart and in CSV
        header = "group\tname\tdtype\tshape\n"
        odd = os.path.join(folder, '<a> & "b", c.tsv')
        open(odd, "w").write(header + "g\tw\tbf16\t40x8\n")
        assert run(odd, "--devices", "2", "--svg", svg).returncode == 0
        words = [text.text for text in drawn(svg, "text")]
        assert 'Padding of <a> & "b", c against the number of devices' in words
        assert {row["model"] for row in sweep(odd, "--devices", "2")} == {'<a> & "b", c'}

        # a layout that does not exist has empty cells and no line
        primes = os.path.join(folder, "primes.tsv")
        open(primes, "w").write(header + "".join(f"g\tw{p}\tbf16\t64x{p}\n" for p in (99991, 99989, 99971, 99961)))
        rows = sweep(primes, "--devices", "4,8", "--svg", svg)
        for row in rows:
            cells = [row["padded_elements"], row["padding_ratio"], row["blocks_cut"]]
            assert (cells == [""] * 3) == (row["layout"] == "Megatron-FSDP") and int(row["elements"]) > 0, row
        words = [text.text for text in drawn(svg, "text")]
        assert "Megatron-FSDP" not in words and "FSDP2" in words
        assert run(primes, "--devices", "4").stdout.split("\n")[5].count("%") == 5


def bad_input():
    with tempfile.TemporaryDirectory() as folder:
        good = os.path.join(folder, "good.tsv")
        open(good, "w").write("group\tname\tdtype\tshape\ng\tw\tbf16\t64x64\ng\tv\tf32\t40x8\n")

        def refused(words, *arguments):
            result = run(*[good if a is ... else a for a in arguments])
            what = (arguments, result.returncode, result.stdout, result.stderr)
            assert result.returncode == 2 and result.stdout == "", what
            assert result.stderr.count("\n") == 1 and result.stderr.startswith("plan_sweep: "), what
            for word in words.split("|"):
                assert word in result.stderr, (word, what)
            assert os.listdir(folder) == ["good.tsv"], what

        refused("INVENTORY", "--devices", 2)
        refused("--devices is missing", ...)
        for devices, words in {"": "--devices is missing", "0": "--devices 0 is below 1", "8,,16": "is missing",
                               "8..": "is missing", "..8": "is missing", "8...16": "'.16' is not a whole number",
                               "8..4": "--devices 8..4 ends before it starts", "-8": "is below 1", "x": "whole number",
                               "8..99999999999999999999": "does not fit 64 bits", "1..2..4": "'2..4'"}.items():
            refused(words, ..., "--devices", devices)
        refused("do not fit 64 bits", ..., "--devices", f"8..{2**63 - 1}")
        refused("--rows '1..4' is not a whole number", ..., "--devices", 2, "--rows", "1..4")
        refused("--rows 0 is below 1", ..., "--devices", 2, "--rows", "1,0")
        refused("tensor 'w'|does not fit 64 bits", ..., "--devices", 2, "--rows", "9000000000000000000")
        refused("--segments '1..3'", ..., "--devices", 2, "--segments", "1..3")
        refused("--segments 0 is below 1", ..., "--devices", 2, "--segments", 0)
        refused("3 bytes is not a power of two", ..., "--devices", 2, "--align-bytes", 3)
        refused("unknown option '--json'", ..., "--devices", 2, "--json", "-")
        refused("--devices is given twice", ..., "--devices", 2, "--devices", 3)
        refused("unexpected argument 'more'", ..., "more", "--devices", 2)
        refused("cannot be read", os.path.join(folder, "none.tsv"), "--devices", 2)
        refused("'-' is none", ..., "--devices", 2, "--svg", "-")
        refused("both name", ..., "--devices", 2, "--csv", "-", "--svg", "/dev/stdout")
        both = os.path.join(folder, "both")
        refused("--csv and --svg both name", ..., "--devices", 2, "--csv", both, "--svg", both)
        for option in "--csv", "--svg":
            refused("is the inventory", ..., "--devices", 2, option, good)
            refused("cannot be written", ..., "--devices", 2, option, os.path.join(folder, "no", "folder"))


values()
outputs()
bad_input()
print("plan_sweep: all checks hold")
