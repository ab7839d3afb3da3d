#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds client/python/cuda_core_names.txt against the cuda.core that is installed: which public names it
has, and by which parameters they are called. Needs no GPU.

    python3 deploy/gpu/names.py [cuda_core_names.txt]

Prints what the list lacks, has too much of, or has with other parameters; the exit status is 1 then.
Parameters are read from cuda.core's stubs (1.1 and later) or asked of its functions.
"""

import ast
import enum
import importlib
import importlib.metadata
import inspect
import pathlib
import re
import sys

_LIST = pathlib.Path(__file__).resolve().parents[2] / "client/python/cuda_core_names.txt"
_MODULES = ("core", "checkpoint", "graph", "system", "texture", "typing", "utils")


def read_list(path):
    """{name: (parameters or None, verdict)}."""
    listed = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, verdict = re.split("  +", line.strip())[:2]
            match = re.fullmatch(r"([\w.*]+?)(?:\((.*)\))?", name)
            parameters = None if match[2] is None else [p for p in match[2].split(", ") if p]
            listed[match[1]] = (parameters, verdict)
    return listed


def import_module(name):
    try:
        return importlib.import_module("cuda.core" if name == "core" else f"cuda.core.{name}")
    except ImportError as error:
        print(f"cuda.core has no module {name}: {error}")
        return None


def public_names(module):
    """Names that a module exports; modules are listed by themselves."""
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    for name in names:
        value = getattr(module, name, None)
        if inspect.ismodule(value) or getattr(value, "__module__", "").startswith("enum"):
            continue
        yield name, value


def public_members(cls):
    return [n for n in dir(cls) if not n.startswith("_")]


def stub_parameters(root):
    """{(class or "", function): parameters} of all stubs of cuda.core."""
    found = {}
    for path in root.rglob("*.pyi"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                found["", node.name] = of_stub(node, 0)
            elif isinstance(node, ast.ClassDef):
                for part in node.body:
                    if isinstance(part, ast.FunctionDef):
                        decorators = [ast.unparse(d) for d in part.decorator_list]
                        if not any("property" in d or "." in d for d in decorators):
                            bound = "staticmethod" not in decorators
                            found[node.name, part.name] = of_stub(part, bound)
    return found


def of_stub(function, bound):
    arguments = function.args
    names = [a.arg for a in arguments.posonlyargs + arguments.args][bound:]
    if arguments.vararg:
        names.append("*" + arguments.vararg.arg)
    elif arguments.kwonlyargs:
        names.append("*")
    names += [a.arg for a in arguments.kwonlyargs]
    return names + ([f"**{arguments.kwarg.arg}"] if arguments.kwarg else [])


def of_signature(target):
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return None
    names, starred = [], False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            names.append("*")
            starred = True
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        names.append({2: "*", 4: "**"}.get(int(parameter.kind), "") + parameter.name)
    return names


def parameters_of(stubs, cls, name, target):
    """The parameters, or None if they are not known."""
    of_class = cls.__mro__ if inspect.isclass(cls) else ()
    for one in of_class:
        if (one.__name__, name) in stubs:
            return stubs[one.__name__, name]
    if not of_class and ("", name) in stubs:
        return stubs["", name]
    return of_signature(target) if callable(target) else None


def complaint(listed, real):
    """Keyword-only or not is the package's own affair: it takes both where they are listed so."""
    if listed is None or real is None or any(p.startswith("**") for p in real):
        return ""
    ours = [p for p in listed if p != "*"]
    theirs = [p for p in real if p != "*"]
    if sorted(ours) == sorted(theirs):
        return ""
    return f"({', '.join(real)}), listed as ({', '.join(listed)})"


def compare(listed, stubs):
    problems, seen = [], set()
    for module_name in _MODULES:
        module = import_module(module_name)
        if module is None:
            continue
        for name, value in public_names(module):
            full = f"{module_name}.{name}"
            seen.add(full)
            if full not in listed:
                if f"{module_name}.*" not in listed:
                    problems.append(f"{full} is not listed")
                continue
            parameters, verdict = listed[full]
            if verdict == "absent":
                continue
            real = parameters_of(stubs, None, name, value)
            if inspect.isclass(value):
                fields = getattr(value, "__dataclass_fields__", None)
                real = list(fields) if fields else parameters_of(stubs, value, "__init__", value)
            wrong = complaint(parameters, real)
            if wrong:
                problems.append(f"{full} is {wrong}")
            if not inspect.isclass(value) or issubclass(value, (enum.Enum, BaseException)):
                continue
            for member in public_members(value):
                seen.add(f"{full}.{member}")
                problems += member_problems(listed, stubs, value, full, member)
    return problems, seen


def inherits(listed, full, cls, member):
    """Whether a class above has the member's line."""
    module = full.split(".")[0]
    return any(f"{module}.{one.__name__}.{member}" in listed for one in cls.__mro__)


def member_problems(listed, stubs, cls, full, member):
    name = f"{full}.{member}"
    if name not in listed:
        fields = getattr(cls, "__dataclass_fields__", {})
        if member in fields or inherits(listed, full, cls, member) or full.startswith("system."):
            return []
        return [f"{name} is not listed"]
    parameters, verdict = listed[name]
    value = getattr(cls, member, None)
    wrong = complaint(parameters, parameters_of(stubs, cls, member, value))
    return [f"{name} is {wrong}"] if wrong and verdict != "absent" else []


def main():
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else _LIST
    listed = read_list(path)
    core = import_module("core")
    if core is None:
        return "cuda.core is not installed"
    root = pathlib.Path(inspect.getfile(core)).parent
    problems, seen = compare(listed, stub_parameters(root))
    for name, (_, verdict) in listed.items():
        is_new = name.split(".")[-1] in ("CUDAError", "CUDAWarning", "NVRTCError")
        if name.endswith("*") or verdict == "kept" or name in seen or is_new:
            continue
        if ".".join(name.split(".")[:2]) in seen and name.count(".") == 1:
            continue
        problems.append(f"{name} is listed as {verdict}, and is not there")
    version = importlib.metadata.version("cuda-core")
    print("\n".join(problems))
    print(f"cuda.core {version}: {len(listed)} names listed, {len(problems)} differences")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
