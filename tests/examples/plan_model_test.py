# SPDX-FileCopyrightText: 2026 The ragged authors
# SPDX-License-Identifier: Apache-2.0
"""plan_model from outside: its JSON against the laws, read and checked independently, and every kind of bad input.

plan_model_test.py PLAN_MODEL MODELS_DIR
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

PROGRAM, MODELS = sys.argv[1], sys.argv[2]


def run(*arguments, stdout=subprocess.PIPE):
    return subprocess.run([PROGRAM, *map(str, arguments)], stdout=stdout, stderr=subprocess.PIPE, text=True)


def rows_of(path):
    """(group, name, dtype, shape) of every row, with folded rows written out."""
    lines = [line for line in open(path).read().split("\n") if line and not line.startswith("#")][1:]

    def block(at, variables):
        rows = []
        while at < len(lines) and lines[at] != "@end":
            if lines[at].startswith("@repeat"):
                _, name, first, last = lines[at].split(" ")
                for value in range(int(first), int(last) + 1):
                    inner, end = block(at + 1, variables + [("{%s}" % name, str(value))])
                    rows += inner
                at = end + 1
                continue
            text = lines[at]
            for name, value in variables:
                text = text.replace(name, value)
            group, name, dtype, shape = text.split("\t")
            rows.append((group, name, dtype, [int(extent) for extent in shape.split("x")]))
            at += 1
        return rows, at

    return block(0, [])[0]


def check_segment(segment, devices, block_rows):
    shard, end, total = segment["shard_elements"], 0, 0
    for tensor in sorted(segment["tensors"], key=lambda t: (t["offset"], t["elements"])):
        shape, offset, count = tensor["shape"], tensor["offset"], 1
        for extent in shape:
            count *= extent
        assert tensor["elements"] == count and offset % 64 == 0 and offset >= end, tensor
        granularity = shape[-1] * block_rows if len(shape) > 1 else 1
        assert tensor["granularity"] == granularity, tensor
        end, total = offset + count, total + count
        first = (offset // shard + 1) * shard
        for boundary in range(first, end, shard):
            assert (boundary - offset) % granularity == 0, (tensor, boundary)
    assert end <= shard * devices
    return total


def check_laws(plan, rows, devices, block_rows):
    assert plan["schema"] == "ragged.plan/1" and plan["devices"] == devices
    assert re.fullmatch("[0-9a-f]{16}", plan["fingerprint"]) and plan["plan_seconds"] >= 0
    by_group, names = {}, []
    for group, name, dtype, shape in rows:
        by_group.setdefault(group, {})[name] = (dtype, shape)
        if not names or names[-1] != group:
            names.append(group)
    assert [group["name"] for group in plan["groups"]] == names
    elements = padded = 0
    for group in plan["groups"]:
        assert len(group["segments"]) <= plan["max_segments"]
        placed = [t for segment in group["segments"] for t in segment["tensors"]]
        assert len(placed) == len(by_group[group["name"]])
        assert {t["name"]: (t["dtype"], t["shape"]) for t in placed} == by_group[group["name"]]
        order = sorted(enumerate(placed), key=lambda place: place[1].get("index", place[0]))
        assert [t["name"] for _, t in order] == list(by_group[group["name"]])  # of registration
        total = region = 0
        for segment in group["segments"]:
            shard = segment["shard_elements"]
            assert shard % 64 == 0 and segment["lower_bound_shard_elements"] <= shard
            assert segment["proven_optimal"] == (segment["lower_bound_shard_elements"] == shard)
            region += shard
            total += check_segment(segment, devices, block_rows)
        assert group["elements"] == total
        assert abs(group["padding_ratio"] - (region * devices / total - 1)) < 1e-12
        elements, padded = elements + total, padded + region * devices
    assert plan["elements"] == elements and plan["padded_elements"] == padded
    assert abs(plan["padding_ratio"] - (padded / elements - 1)) < 1e-12


def plans():
    for model in sorted(os.listdir(MODELS)):
        if not model.endswith(".tsv"):
            continue
        path = os.path.join(MODELS, model)
        rows = rows_of(path)
        for devices in (1, 8, 1024, 8192) if len(rows) < 1000 else (64, 1024):
            for block_rows in (1, 16, 128):
                ratios = []
                for more in [], ["--segments", 3], ["--segments", 3, "--order", "search"]:
                    result = run(path, "--devices", devices, "--granularity", f"rows:{block_rows}", *more, "--json",
                                 "-")
                    assert result.returncode == 0, result.stderr
                    plan = json.loads(result.stdout)
                    check_laws(plan, rows, devices, block_rows)
                    ratios.append(plan["padding_ratio"])
                assert ratios == sorted(ratios, reverse=True), (model, devices, block_rows, ratios)


def options():
    tiny = os.path.join(MODELS, "tiny-llama.tsv")
    plan = json.loads(run(tiny, "--devices", 8, "--granularity", "block:16x16", "--granularity", "whole@*norm*",
                          "--granularity", "elements:8@*.embed_tokens.*", "--order", "search", "--align-bytes", 256,
                          "--json", "-").stdout)
    assert plan["order"] == "search" and plan["alignment_bytes"] == 256 and plan["model"] == "tiny-llama"
    steps = {t["name"]: t["granularity"] for g in plan["groups"] for s in g["segments"] for t in s["tensors"]}
    assert steps["model.embed_tokens.weight"] == 8
    assert steps["model.layers.0.self_attn.q_proj.weight"] == 16 * 192
    assert steps["model.layers.0.input_layernorm.weight"] == 192
    one = json.loads(run(tiny, "--devices", 8, "--group", "layers.1", "--granularity", "whole@*embed*", "--json",
                         "-").stdout)
    assert [g["name"] for g in one["groups"]] == ["layers.1"]
    table = run(tiny, "--devices", 8, "--explain")
    assert table.returncode == 0 and "layers.0 .. layers.3 (4)" in table.stdout and "FSDP2" in table.stdout
    wide = run(os.path.join(MODELS, "deepseek-v3-671b.tsv"), "--devices", 64, "--explain").stdout
    assert max(map(len, wide.split("\n"))) <= 112
    # each remedy of gpt-oss, sorted by what it saves, beside the tensor that is to blame
    why = run(os.path.join(MODELS, "gpt-oss-120b.tsv"), "--devices", 1024, "--granularity", "rows:128", "--granularity",
              "block:1x128x128@*experts*_proj", "--segments", 2, "--explain").stdout
    assert "S is set by model.layers.0.mlp.experts.gate_up_proj 128x2880x5760, cut in steps of 737,280 elements " \
           "(block:1x128x128)" in why, why
    assert "S is set by lm_head.weight 201088x2880, cut in steps of 368,640 elements (rows:128)" in why, why
    remedies = why[why.index("\nremedies"):why.index("\nother layouts")].split("\n")
    assert max(map(len, remedies)) <= 112
    now, *remedies = [re.split(" {2,}", line.strip()) for line in remedies[5:] if line]
    assert now[0] == "this plan" and now[1] == "%s %%" % re.search(r" ([\d.]+) %\n\nwhy", why).group(1), now
    assert {row[0] for row in remedies} == {
        "3 segments per group", "9,216 slices placed alone", "2 layers per group", "4 layers per group",
        "512 devices x 2 replicas", "blocks of 64 rows", "blocks of 1x64x128", "unequal regions"}, remedies
    assert {row[0]: row[-1] for row in remedies}["9,216 slices placed alone"].endswith(".mlp.experts.*"), remedies
    units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    saved = [float(count) * units[unit] for count, unit in (row[3].split(" ") for row in remedies)]
    assert saved == sorted(saved, reverse=True) and saved[0] > 0 > saved[-1], saved
    assert run("--help").returncode == 0
    with tempfile.TemporaryDirectory() as folder:
        svg, out = os.path.join(folder, "plan.svg"), os.path.join(folder, "plan.json")
        assert run(tiny, "--devices", 1000, "--svg", svg, "--json", out).returncode == 0
        xml.etree.ElementTree.parse(svg)
        assert json.load(open(out))["devices"] == 1000
        assert sorted(os.listdir(folder)) == ["plan.json", "plan.svg"]


def bad_input():
    with tempfile.TemporaryDirectory() as folder:
        good = os.path.join(folder, "good.tsv")
        header = "group\tname\tdtype\tshape\n"
        open(good, "w").write(header + "g\tw\tbf16\t64x64\ng\tv\tf32\t40x8\n")

        def refused(words, *arguments, inventory=None):
            path = good
            if inventory is not None:
                path = os.path.join(folder, "bad.tsv")
                open(path, "w").write(inventory)
            before = sorted(os.listdir(folder))
            result = run(*[path if a is ... else a for a in arguments])
            what = (arguments, result.returncode, result.stdout, result.stderr)
            assert result.returncode == 2 and result.stdout == "", what
            assert result.stderr.count("\n") == 1 and result.stderr.startswith("plan_model: "), what
            for word in words.split("|"):
                assert word in result.stderr, (word, what)
            assert sorted(os.listdir(folder)) == before, what

        for line, words in {
            "g\tw\tbf16": "4 tab-separated fields|found 3",
            "g\tw\tbf17\t4": "tensor 'w'|unknown dtype 'bf17'",
            "g\tw\tbf16\t4x-1": "'w'|-1 is negative",
            "g\tw\tbf16\t4x": "'w'|is missing",
            "g\tw\tbf16\tx4": "'w'|is missing",
            "g\tw\tbf16\t": "'w'|is missing",
            "g\tw\tbf16\t4y": "'w'|not a whole number",
            "g\tw\tbf16\t99999999999999999999": "'w'|does not fit 64 bits",
            "g\tw\tbf16\t4294967296x4294967296": "'w'|does not fit 64 bits",
            "\tw\tbf16\t4": "the group is empty",
            "g\t\tbf16\t4": "the tensor name is empty",
            "g\tu\tbf16\t4\ng\tu\tbf16\t4": "duplicate tensor 'u' in group 'g'",
            "@repeat i 0": "@repeat NAME FIRST LAST",
            "@repeat i 0 2\ng\tw{i}\tbf16\t4": "@repeat without @end",
            "@end": "@end without @repeat",
        }.items():
            refused("bad.tsv:|" + words, ..., "--devices", 2, inventory=header + line + "\n")
        refused("bad.tsv:1|header", ..., "--devices", 2, inventory="g\tw\tbf16\t4\n")
        refused("bad.tsv:1|header", ..., "--devices", 2, inventory="")
        refused("cannot be read", os.path.join(folder, "none.tsv"), "--devices", 2)
        refused("cannot be read", folder, "--devices", 2)
        os.remove(os.path.join(folder, "bad.tsv"))

        refused("INVENTORY", "--devices", 2)
        refused("--devices M is missing", ...)
        for devices in ("0", "-3", "x", "2.5", "", "99999999999999999999"):
            refused("--devices", ..., "--devices", devices)
        refused("shards of|do not fit 64 bits", ..., "--devices", 2**62)
        refused("3 bytes is not a power of two", ..., "--devices", 2, "--align-bytes", 3)
        refused("--align-bytes 0 is below 1", ..., "--devices", 2, "--align-bytes", 0)
        refused("alignment of 2 bytes is not a multiple of the 4-byte elements of f32", ..., "--devices", 2,
                "--align-bytes", 2)
        refused("'v'|block:64x16|larger than shape 40x8 in dimension 0", ..., "--devices", 2, "--granularity", "block:64x16")
        refused("'w'|3 dimensions|64x64 has 2", ..., "--devices", 2, "--granularity", "block:2x2x2")
        for spec in ("rows:0", "rows:-1", "rows:", "rows:x", "elements:0", "block:", "block:2x", "block:0x2", "rows",
                     "cols:3", "", "block:" + "x".join("1" * 9), "rows:99999999999999999999"):
            refused("--granularity '%s" % spec, ..., "--devices", 2, "--granularity", spec)
        refused("tensor 'w'|does not fit 64 bits", ..., "--devices", 2, "--granularity", "rows:9000000000000000000")
        refused("no tensor matches 'zz*'", ..., "--devices", 2, "--granularity", "rows:1@zz*")
        refused("no such group", ..., "--devices", 2, "--group", "h")
        refused("--order 'random'", ..., "--devices", 2, "--order", "random")
        refused("--segments 0 is below 1", ..., "--devices", 2, "--segments", 0)
        refused("unknown option '--frobnicate'", ..., "--devices", 2, "--frobnicate")
        refused("--devices is given twice", ..., "--devices", 2, "--devices", 3)
        refused("--json needs a value", ..., "--devices", 2, "--json")
        refused("--json needs a value", ..., "--devices", 2, "--json", "--svg", os.path.join(folder, "x.svg"))
        refused("'4?5' is not a whole number", ..., "--devices", "4\n5")
        refused("lists no tensor", ..., "--devices", 2, inventory=header)
        os.remove(os.path.join(folder, "bad.tsv"))
        refused("both name", ..., "--devices", 2, "--json", "-", "--svg", "/dev/stdout")
        refused("'-' is none", ..., "--devices", 2, "--svg", "-")
        refused("cannot be written", ..., "--devices", 2, "--json", "")
        for option in ("--json", "--svg"):
            refused("is the inventory", ..., "--devices", 2, option, os.path.join(folder, ".", "good.tsv"))
        refused("unexpected argument 'more'", ..., "more", "--devices", 2)
        for option in ("--json", "--svg"):
            refused("cannot be written", ..., "--devices", 2, option, os.path.join(folder, "no", "such", "folder"))
            refused("cannot be written", ..., "--devices", 2, option, folder)
        if os.path.exists("/dev/full"):
            result = run(good, "--devices", 2, "--json", "/dev/full")
            assert result.returncode == 2 and "/dev/full" in result.stderr
            with open("/dev/full", "w") as full:
                result = run(good, "--devices", 2, "--json", "-", stdout=full)
                assert result.returncode == 2 and result.stderr.count("\n") == 1
                other = os.path.join(folder, "other.svg")
                result = run(good, "--devices", 2, "--svg", other, stdout=full)
                assert result.returncode == 2 and not os.path.exists(other)
        both = os.path.join(folder, "both")
        refused("both name", ..., "--devices", 2, "--json", both, "--svg", both)
        # a link to a file stays a link
        os.mkdir(os.path.join(folder, "sub"))
        link, real = os.path.join(folder, "link"), os.path.join(folder, "sub", "real")
        open(real, "w").write("old")
        os.symlink(real, link)
        assert run(good, "--devices", 2, "--json", link).returncode == 0
        assert os.path.islink(link) and json.load(open(real))["devices"] == 2
        os.remove(link), os.remove(real), os.rmdir(os.path.join(folder, "sub"))
        # standard output by another name holds JSON only, whether it is a pipe or a file
        if os.path.exists("/dev/stdout"):
            assert json.loads(run(good, "--devices", 2, "--json", "/dev/stdout").stdout)["devices"] == 2
            out = os.path.join(folder, "out")
            for name in ("/dev/stdout", out):
                with open(out, "w") as file:
                    assert run(good, "--devices", 2, "--json", name, stdout=file).returncode == 0
                assert json.load(open(out))["devices"] == 2
            os.remove(out)
        # a file that only looks like ours stays
        out, part = os.path.join(folder, "out"), os.path.join(folder, "out.part")
        open(part, "w").write("mine")
        assert run(good, "--devices", 2, "--json", out).returncode == 0 and open(part).read() == "mine"
        os.remove(out), os.remove(part)
        # names of any bytes
        odd, svg = os.path.join(folder, "odd.tsv"), os.path.join(folder, "odd.svg")
        open(odd, "wb").write(header.encode() + b'g<&>\tm.a\xff"\\\x01\tbf16\t40x8\ng<&>\tm.\xc3\xa9\tbf16\t40x8\n')
        result = run(odd, "--devices", 2, "--json", "-", "--svg", svg)
        names = [t["name"] for t in json.loads(result.stdout)["groups"][0]["segments"][0]["tensors"]]
        assert names == ['m.a\ufffd"\\\x01', "m.\u00e9"], names
        xml.etree.ElementTree.parse(svg)
        assert run(odd, "--devices", 2, "--explain").returncode == 0
        os.remove(odd), os.remove(svg)
        # a layout that does not exist for these rows is said to be so
        primes = os.path.join(folder, "primes.tsv")
        open(primes, "w").write(header + "".join(f"g\tw{p}\tbf16\t64x{p}\n" for p in (99991, 99989, 99971, 99961)))
        result = run(primes, "--devices", 4, "--explain")
        assert result.returncode == 0 and "impossible" in result.stdout
        os.remove(primes)
        # one output that cannot be written leaves the other unwritten and an old file as it was
        old = os.path.join(folder, "old.json")
        open(old, "w").write("old")
        result = run(good, "--devices", 2, "--json", old, "--svg", os.path.join(folder, "no", "x.svg"))
        assert result.returncode == 2 and open(old).read() == "old"
        assert sorted(os.listdir(folder)) == ["good.tsv", "old.json"]


plans()
options()
bad_input()
print("plan_model: all checks hold")
