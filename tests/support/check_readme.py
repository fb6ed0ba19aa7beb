# SPDX-FileCopyrightText: 2026 The ragged authors
# SPDX-License-Identifier: Apache-2.0
"""The README shows the example that the tests build, and speaks of files that exist. check_readme.py ROOT"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
readme = (root / "README.md").read_text()
example = (root / "examples/03_train_step.cpp").read_text()
shown = re.search(r"```cpp\n(.*?)```", readme, re.S).group(1).strip()
assert shown == example[example.index("#include"):].strip(), "the README's example is not examples/03_train_step.cpp"
for path in re.findall(r"\]\(([^)#:]+)\)", readme) + re.findall(r"(?:examples|cmake|include)/[\w./-]*\w", readme):
    assert (root / path).exists() or (root / f"{path}.cpp").exists(), f"README names {path}, which is not there"
for folder in re.findall(r"^\| `(\w+)/` \|", readme, re.M):
    assert (root / "include/ragged" / folder).is_dir(), folder
print("README agrees with the tree")
