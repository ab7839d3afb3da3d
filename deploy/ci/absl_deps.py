#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each C++ target names the targets of Abseil whose headers its files include, no more and no fewer.

Distributions have Abseil's headers in the compiler's own search path, so that a compiler does not notice.
"""

import argparse
import ast
import fnmatch
import functools
import os
import re
import subprocess
import sys

# Abseil's own targets, by their headers; the others are named as their folder.
_TARGETS = {
    "absl/base/const_init.h": "core_headers",
    "absl/base/thread_annotations.h": "core_headers",
    "absl/container/btree_map.h": "btree",
    "absl/container/btree_set.h": "btree",
    "absl/algorithm/container.h": "algorithm_container",
    "absl/status/statusor.h": "statusor",
    "absl/strings/cord.h": "cord",
    "absl/strings/str_format.h": "str_format",
}
_OF_FILES = {"container", "functional", "types"}  # folders with a target for each header
_PREFIX = "@system//:absl"
_INCLUDE = re.compile(r'^#include "(absl/[a-z_0-9/]+\.h)"', re.M)


def target_of(header):
    """The target of `third_party/system.BUILD` with the header."""
    name = _TARGETS.get(header)
    if name is None:
        folder, file = header.split("/")[1:3]
        name = file[:-2] if folder in _OF_FILES else folder
    return f"{_PREFIX}_{name}"


@functools.cache
def targets_of_file(path):
    with open(path, encoding="utf-8") as file:
        return frozenset(target_of(header) for header in _INCLUDE.findall(file.read()))


def _strings(node, names):
    """The strings of an expression of lists; None if it has a part that this does not know.

    `names` are the values of variables.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, (ast.List, ast.Tuple)):
        parts = [_strings(item, names) for item in node.elts]
        return None if None in parts else [text for part in parts for text in part]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = _strings(node.left, names), _strings(node.right, names)
        if None in parts:
            return None
        if isinstance(node.left, ast.List) or isinstance(node.right, ast.List) or len(parts[0]) != 1:
            return parts[0] + parts[1]
        is_text = all(len(part) == 1 for part in parts)
        return [parts[0][0] + parts[1][0]] if is_text else parts[0] + parts[1]
    return None


def _files(node, folder, names):
    """The sources of a target's attribute, as paths; None if it has a part that this does not know."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "glob":
        keys = {key.arg: key.value for key in node.keywords}
        include = _strings(node.args[0] if node.args else keys["include"], names)
        exclude = _strings(keys["exclude"], names) if "exclude" in keys else []
        if include is None or exclude is None or any("**" in pattern for pattern in include):
            return None
        found = [
            os.path.join(os.path.dirname(pattern), name)
            for pattern in include
            for name in os.listdir(os.path.join(folder, os.path.dirname(pattern)))
            if fnmatch.fnmatch(name, os.path.basename(pattern))
        ]
        return [name for name in found if name not in exclude]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = _files(node.left, folder, names), _files(node.right, folder, names)
        if None not in parts and isinstance(node.left, (ast.List, ast.Name, ast.Call, ast.BinOp)):
            joined = _strings(node, names)
            return joined if joined is not None else parts[0] + parts[1]
    return _strings(node, names)


class Build:
    """A BUILD file."""

    def __init__(self, path):
        self.path = path
        self.folder = os.path.dirname(path)
        with open(path, encoding="utf-8") as file:
            self.lines = file.read().split("\n")
        tree = ast.parse("\n".join(self.lines))
        self.names = {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = _strings(node.value, self.names)
                if value is not None:
                    self.names[node.targets[0].id] = value
        self.rules = list(self._rules(tree))

    def _rules(self, tree):
        """Each call, with the values of its loop's variable."""
        loops = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ListComp) and isinstance(node.elt, ast.Call):
                loop = node.generators[0]
                if isinstance(loop.target, ast.Name):
                    loops[node.elt] = loop.target.id, _strings(loop.iter, self.names)
                else:
                    loops[node.elt] = None, [""]
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "").startswith("holdfast_cc_"):
                yield node, loops.get(node, (None, [""]))

    @staticmethod
    def _keys(rule):
        """The attributes, with those of deploy/bazel/holdfast.bzl: files of the target's name."""
        keys = {key.arg: key.value for key in rule.keywords if key.arg}
        if not getattr(keys.get("linkshared"), "value", False):
            own = [("srcs", ".cc")] + [("hdrs", ".h")] * (rule.func.id == "holdfast_cc_library")
            for attribute, ending in own:
                keys.setdefault(attribute, ast.BinOp(keys["name"], ast.Add(), ast.Constant(ending)))
        return keys

    def _needed(self, keys, variable, values):
        """The targets of Abseil that a rule needs; None if not all of its files are known."""
        needed = set()
        if values is None:
            return None
        for value in values:
            names = dict(self.names)
            if variable is not None:
                names[variable] = [value]
            for attribute in ("srcs", "hdrs", "textual_hdrs"):
                if attribute not in keys:
                    continue
                files = _files(keys[attribute], self.folder, names)
                if files is None:
                    return None
                for name in files:
                    path = os.path.join(self.folder, name)
                    if name.startswith((":", "//", "@")) or not os.path.isfile(path):
                        if name.endswith((".h", ".cc")) or name.startswith(":"):
                            return None  # made by a rule
                        continue
                    needed |= targets_of_file(path)
        return needed

    def check(self, fix):
        """Returns what is wrong, a line each. Mends it if `fix`."""
        wrong, edits = [], []
        for rule, (variable, values) in self.rules:
            keys = self._keys(rule)
            deps = keys.get("deps")
            while isinstance(deps, ast.BinOp):  # _COMMON + ["..."]
                deps = deps.right
            needed = self._needed(keys, variable, values)
            if needed is None:
                continue
            named = [
                item for item in (deps.elts if isinstance(deps, ast.List) else ())
                if isinstance(item, ast.Constant) and str(item.value).startswith(_PREFIX)
            ]
            if {item.value for item in named} == needed:
                continue
            missing = sorted(needed - {item.value for item in named})
            surplus = sorted({item.value for item in named} - needed)
            wrong.append(f"{self.path}:{rule.lineno}: add {missing}, remove {surplus}")
            edits.append((rule, deps, named, sorted(needed)))
        if fix:
            for edit in sorted(edits, key=lambda edit: -edit[0].lineno):
                self._rewrite(*edit)
            with open(self.path, "w", encoding="utf-8") as file:
                file.write("\n".join(self.lines))
        return wrong

    def _rewrite(self, rule, deps, named, needed):
        if deps is None:
            row = rule.end_lineno - 1
            indent = self.lines[row][: len(self.lines[row]) - len(self.lines[row].lstrip())] + "    "
            added = [f'{indent}    "{name}",' for name in needed]
            self.lines[row:row] = [f"{indent}deps = [", *added, f"{indent}],"]
            return
        if not isinstance(deps, ast.List):
            return
        others = [item for item in deps.elts if item not in named]
        first, last = deps.lineno - 1, deps.end_lineno - 1
        before = self.lines[first][: deps.col_offset]
        after = self.lines[last][deps.end_col_offset:]
        indent = before[: len(before) - len(before.lstrip())]
        if all(isinstance(item, ast.Constant) for item in others):
            kept = [item.value for item in others]
            at = next((i for i, name in enumerate(kept) if name > _PREFIX and name.startswith("@")), len(kept))
            all_names = kept[:at] + needed + kept[at:]
            items = [f'{indent}    "{name}",' for name in all_names]
            if not items:
                self.lines[first : last + 1] = []
            elif len(items) == 1:
                self.lines[first : last + 1] = [f'{before}["{all_names[0]}"]{after}']
            else:
                self.lines[first : last + 1] = [f"{before}[", *items, f"{indent}]{after}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true", help="rewrite the deps of the targets; otherwise name them and fail")
    fix = parser.parse_args().fix
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    listed = subprocess.check_output(["git", "ls-files", "*BUILD.bazel"], text=True).split()
    wrong = [line for path in listed for line in Build(path).check(fix)]
    if not fix:
        print("\n".join(wrong))
        sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
