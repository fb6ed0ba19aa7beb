"""Includes point down the path of the data. Usage: check_includes.py include/ragged"""
import pathlib
import re
import sys

PATH = ["core", "spec", "layout", "plan", "buffer", "view"]
BELOW = {folder: PATH[: i + 1] for i, folder in enumerate(PATH)}
BELOW["comm"] = PATH + ["comm"]  # comm and group are siblings
BELOW["group"] = PATH + ["group"]
BELOW["redistribute"] = PATH + ["comm", "group", "redistribute"]
BELOW["optim"] = PATH + ["comm", "group", "redistribute", "optim"]
BELOW["step"] = PATH + ["comm", "group", "redistribute", "optim", "step"]
BELOW["report"] = PATH[: PATH.index("plan") + 1] + ["report"]

INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]ragged/([^>\"]+)", re.MULTILINE)


def problems(root):
    for header in sorted(root.rglob("*.[hc]*")):
        folder, *rest = header.relative_to(root).parts
        if not rest:
            continue  # version.hpp and the umbrellas
        if folder not in BELOW:
            yield f"{header}: folder '{folder}' has no place on the path"
            continue
        for target in INCLUDE.findall(header.read_text()):
            if "/" not in target and target != "version.hpp":
                yield f"{header}: includes the umbrella {target}"
            elif "/" in target and target.split("/")[0] not in BELOW[folder]:
                yield f"{header}: {folder} must not include {target}"
            elif header.suffix == ".hpp" and target.endswith(".cuh"):
                yield f"{header}: a .hpp must not include {target}"


found = list(problems(pathlib.Path(sys.argv[1])))
print("\n".join(found) or "every include points down")
sys.exit(bool(found))
