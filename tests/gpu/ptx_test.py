"""The kernels as text, without a device: what they load and store, whether they fuse, whether they spill.
Usage: ptx_test.py NVCC INCLUDE_DIR KERNELS.cu"""
import pathlib
import re
import subprocess
import sys
import tempfile

NVCC, INCLUDE, SOURCE = sys.argv[1:]
FLAGS = [NVCC, "-std=c++20", "-O3", "-I", INCLUDE]


def compile_to(arguments):
    return subprocess.run([*FLAGS, *arguments, SOURCE], check=True, capture_output=True, text=True)


def kernels(ptx):
    """Mangled name -> body of every kernel."""
    found = re.findall(r"\.entry (\w+)\((.*?)\n\}", ptx, re.DOTALL)
    return {name: body for name, body in found}


def one(bodies, *parts):
    """The kernel whose name has all parts."""
    names = [name for name in bodies if all(part in name for part in parts)]
    assert len(names) == 1, f"{parts}: {names}"
    return bodies[names[0]]


def loops(body):
    """The innermost loops: from a label to a branch back to it."""
    lines = body.splitlines()
    labels, ranges = {}, []
    for number, line in enumerate(lines):
        if label := re.match(r"(\$L\w+):", line):
            labels[label[1]] = number
        branch = re.search(r"\bbra(?:\.uni)?\s+(\$L\w+);", line)
        if branch and branch[1] in labels:
            ranges.append((labels[branch[1]], number))
    for begin, end in ranges:
        if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in ranges):
            yield "\n".join(lines[begin:end])


def accesses(text):
    return re.findall(r"\b((?:ld|st)\.global[\w.]*)", text)


def is_word(access):
    """16 bytes."""
    return re.search(r"\.v4\.[bufs]32$|\.v2\.[bufs]64$", access) is not None


def main_loop(body):
    """The one loop that moves words; everything that it moves is words."""
    wide = [loop for loop in loops(body) if any(map(is_word, accesses(loop)))]
    assert len(wide) == 1, f"{len(wide)} loops with 16-byte accesses"
    assert all(map(is_word, accesses(wide[0]))), accesses(wide[0])
    return wide[0]


def count(text, pattern):
    return len(re.findall(pattern, text))


def check_flat(bodies):
    cases = {  # parts of the name: words loaded and stored per step, fused multiply-adds per step
        ("3mapINS_2op4CastIfEEfJfEE",): (1, 1, 0),
        ("3mapINS_2op4CastINS_4bf16EEES4_JS4_EE",): (1, 1, 0),
        ("3mapINS_2op4CastINS_4bf16EEES4_JfEE",): (2, 1, 0),
        ("3mapINS_2op4CastIfEEfJNS_4bf16EEE",): (1, 2, 0),
        ("3mapINS_2op4CastINS_6f8e4m3EEES4_JfEE",): (4, 1, 0),
        ("3mapINS_2op4CastINS_3f16EEES4_JfEE",): (2, 1, 0),
        ("3mapINS_2op3AddEfJffEE",): (2, 1, 0),
        ("3mapINS_2op3AddENS_4bf16EJS4_S4_EE",): (2, 1, 0),
        ("3mapINS_2op4AxpyEfJffEE",): (2, 1, 4),
        ("3mapINS_2op4AxpyEfJfNS_4bf16EEE",): (3, 2, 8),
        ("3mapINS_2op4AxpyEdJddEE",): (2, 1, 2),
    }
    for parts, (loads, stores, fused) in cases.items():
        loop = main_loop(one(bodies, *parts))
        found = (count(loop, r"\bld\.global"), count(loop, r"\bst\.global"), count(loop, r"\bfma\.rn\.f(32|64)"))
        assert found == (loads, stores, fused), f"{parts}: {found}, expected {(loads, stores, fused)}"
        if fused:  # nothing is left to multiply and add apart
            assert count(loop, r"\b(mul|add)(\.rn)?\.f(32|64)") == 0, parts


def check_updates(bodies):
    """Words only; what is only written is not loaded."""
    for name, loads, stores in (("6updateINS_2op5AdamWEJfffKfEE", 4, 3), ("6updateINS_2op5AdamWEJfffKfNS_4bf16EEE", 8, 7)):
        loop = main_loop(one(bodies, name))
        found = (count(loop, r"\bld\.global"), count(loop, r"\bst\.global"))
        assert found == (loads, stores), f"{name}: {found}, expected {(loads, stores)}"


def check_runs(bodies):
    """A step of the loop over words has all its loads under way before it stores."""
    for element_bytes in (1, 2, 4, 8):
        loop = main_loop(one(bodies, f"9copy_runsILm{element_bytes}E"))
        found = "".join(access[0] for access in accesses(loop))  # l or s
        assert found == 4 * "l" + 4 * "s", f"copy_runs {element_bytes}: {found}"


def check_reductions(bodies):
    for name, elems in (("9fold_rowsINS_2op12SumOfSquaresEfE", 4), ("9fold_rowsINS_2op12SumOfSquaresENS_4bf16EE", 8),
                        ("9fold_rowsINS_2op12SumOfSquaresEdE", 2)):
        loop = main_loop(one(bodies, name))
        assert count(loop, r"\bld\.global") == 8, f"{name}: loads in flight"  # one step of eight
        first_use = re.search(r"\bfma\.rn\.f64", loop).start()
        assert count(loop[:first_use], r"\bld\.global") == 8, f"{name}: loads wait for sums"
        assert count(loop, r"\bfma\.rn\.f64") == 8 * elems, name


def check_exact_sums(bodies):
    """Loads are words under way together; digits stay in shared memory, and the compiler knows that they do."""
    for name in ("10exact_rowsIfE", "10exact_rowsINS_4bf16EE"):
        body = one(bodies, name)
        assert sum(map(is_word, accesses(body))) == 4, f"{name}: {accesses(body)}"
        assert count(body, r"\b(ld|st)\.shared") > 0 and count(body, r"\b(ld|st)\.[uvb]") == 0, name


def check_blocks(bodies):
    """Loops are nested and have a path for clipped rows, so only that words are there. (Fill is not timed.)"""
    for name in ("12AbsMaxBlocksIfE", "12AbsMaxBlocksINS_4bf16E", "14QuantizeBlocksINS_4bf16ENS_6f8e4m3E",
                 "14QuantizeBlocksIfaE", "16DequantizeBlocksINS_6f8e4m3ENS_4bf16E", "8Adam8bitEJfahKfEE",
                 "8Adam8bitEJfahKfNS_4bf16EEE"):
        kind = "13update_blocks" if "Adam8bit" in name else "6blocks"
        words = [access for access in accesses(one(bodies, kind, name)) if is_word(access)]
        assert any(access.startswith("ld") for access in words), f"{name}: no 16-byte loads"
        if "AbsMax" not in name:
            assert any(access.startswith("st") for access in words), f"{name}: no 16-byte stores"


def check_spills(report):
    functions = re.findall(r"Function properties for (\w+)\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores, "
                           r"(\d+) bytes spill loads", report)
    assert len(functions) >= 3 * 31, len(functions)
    wrong = [entry for entry in functions if entry[1:] != ("0", "0", "0")]
    assert not wrong, wrong
    registers = {int(n) for n in re.findall(r"Used (\d+) registers", report)}
    print(f"{len(functions)} kernels: no spills, up to {max(registers)} registers")


with tempfile.TemporaryDirectory() as folder:
    ptx = pathlib.Path(folder) / "kernels.ptx"
    compile_to(["-arch=sm_90", "-ptx", "-o", str(ptx)])
    bodies = kernels(ptx.read_text())
    check_flat(bodies)
    check_updates(bodies)
    check_runs(bodies)
    check_reductions(bodies)
    check_exact_sums(bodies)
    check_blocks(bodies)
    gencode = [part for arch in (80, 90, 100) for part in ("-gencode", f"arch=compute_{arch},code=sm_{arch}")]
    check_spills(compile_to([*gencode, "--threads", "2", "-Xptxas", "-v", "-c", "-o",
                             str(pathlib.Path(folder) / "kernels.o")]).stderr)
