# SPDX-License-Identifier: Apache-2.0
"""The list of cuda.core's names says what is true of the package and of its stubs: which names are
there, and by which parameters they are called."""

import ast
import importlib
import inspect
import os
import re

import pytest

_MODULES = {
    name: importlib.import_module("holdfast.core" if name == "core" else f"holdfast.core.{name}")
    for name in ("core", "experimental", "graph", "system", "texture", "typing", "utils")
}


def _listed():
    """(name, parameters or None, verdict, reason) of each line."""
    with open(os.environ["HOLDFAST_NAMES"], encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, verdict, *why = re.split("  +", line.strip(), maxsplit=2)
                match = re.fullmatch(r"([\w.*]+?)(?:\((.*)\))?", name)
                assert match, line
                listed = match[2]
                parameters = None if listed is None else [p for p in listed.split(", ") if p]
                yield match[1], parameters, verdict, why[0] if why else ""


def _stub(module):
    """{name: {member: parameters or None}} of a module's stub, with what its classes inherit."""
    file = os.path.splitext(module.__file__)[0] + ".pyi"
    with open(file, encoding="utf-8") as stub:
        tree = ast.parse(stub.read())
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            members = {}
            for base in node.bases:
                members.update(found.get(getattr(base, "id", None), {}))
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    members[part.name] = _parameters_of_stub(part)
                elif isinstance(part, ast.AnnAssign):
                    members[part.target.id] = None
                elif isinstance(part, ast.Assign):
                    members.update((target.id, None) for target in part.targets)
            found[node.name] = members
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = {"": _parameters_of_stub(node)}
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = {}
        elif isinstance(node, ast.Assign):
            found.update((target.id, {}) for target in node.targets)
        elif isinstance(node, ast.ImportFrom):
            found.update((alias.asname, {}) for alias in node.names if alias.asname)
    return found


def _parameters_of_stub(function):
    """[(name, kind)], or None for a property."""
    decorators = [getattr(d, "id", "") for d in function.decorator_list]
    if "property" in decorators:
        return None
    kinds = inspect.Parameter
    arguments = function.args
    positional = [(a.arg, kinds.POSITIONAL_OR_KEYWORD) for a in arguments.args]
    if positional and "staticmethod" not in decorators and positional[0][0] in ("self", "cls"):
        positional = positional[1:]
    named = [(a.arg, kinds.KEYWORD_ONLY) for a in arguments.kwonlyargs]
    if arguments.vararg:
        named.append((arguments.vararg.arg, kinds.VAR_POSITIONAL))
    if arguments.kwarg:
        named.append((arguments.kwarg.arg, kinds.VAR_KEYWORD))
    return positional + named


def _parameters_of(target):
    """[(name, kind)] of a function or a class, whose options are its parameters."""
    fields = getattr(target, "_fields", None)
    if isinstance(fields, dict):
        return [(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in fields]
    signature = inspect.signature(target)
    found = [(p.name, p.kind) for p in signature.parameters.values()]
    return found[1:] if found and found[0][0] in ("self", "cls") else found


def _complaint(listed, ours):
    """What of the listed parameters ours do not take as they are given; "" if nothing."""
    kinds = inspect.Parameter
    takes = {kind: [n for n, k in ours if k == kind] for _, kind in ours}
    positional = takes.get(kinds.POSITIONAL_OR_KEYWORD, [])
    place, by_name = 0, False
    for name in listed:
        if name.startswith("*"):
            if name != "*" and kinds.VAR_POSITIONAL not in takes:
                return f"takes no {name}"
            by_name = True
        elif name in positional:
            if not by_name and positional.index(name) != place:
                return f"{name} is at place {positional.index(name)}, not {place}"
            place += 1
        elif not by_name and kinds.VAR_POSITIONAL not in takes and kinds.VAR_KEYWORD not in takes:
            return f"{name} cannot be given by place"
        elif name not in takes.get(kinds.KEYWORD_ONLY, []) and kinds.VAR_KEYWORD not in takes:
            return f"takes no {name}"
    return ""


_STUBS = {name: _stub(module) for name, module in _MODULES.items()}
_LISTED = list(_listed())


def test_no_name_is_listed_twice_and_every_verdict_has_its_reason():
    names = [(name, verdict == "kept") for name, _, verdict, _ in _LISTED]
    assert len(names) == len(set(names)) > 300
    for name, _, verdict, why in _LISTED:
        assert verdict in ("same", "differs", "absent", "kept"), name
        assert bool(why) == (verdict != "same"), name


@pytest.mark.parametrize(
    "name, parameters, verdict", [pytest.param(*line[:3], id=line[0]) for line in _LISTED]
)
def test_the_list_is_true(name, parameters, verdict):
    module, cls, *member = name.split(".")
    declared = _STUBS.get(module, {}).get(cls)
    if verdict == "absent":
        # A member may be there to say why not; its stub must not promise it.
        promised = declared is not None and (not member or member[0] in declared)
        says_never = promised and not member and "NoReturn" in _stub_text(module, cls)
        assert not promised or says_never
        return
    if cls == "*":
        assert _MODULES[module].__all__
        return
    target = getattr(_MODULES[module], cls)
    assert declared is not None
    if not member:
        if parameters is not None:
            constructor = declared.get("__init__", declared.get("__new__", declared.get("")))
            assert not _complaint(parameters, constructor), f"stub: {name}"
            assert not _complaint(parameters, _parameters_of(target)), name
        return
    assert member[0] in declared
    is_field = member[0] in {**getattr(target, "_fields", {}), **getattr(target, "_aliases", {})}
    assert hasattr(target, member[0]) or is_field
    if parameters is not None:
        assert not _complaint(parameters, declared[member[0]]), f"stub: {name}"
        assert not _complaint(parameters, _parameters_of(getattr(target, member[0]))), name


def _stub_text(module, function):
    with open(os.path.splitext(_MODULES[module].__file__)[0] + ".pyi", encoding="utf-8") as stub:
        return next(line for line in stub if line.startswith(f"def {function}("))


@pytest.mark.parametrize(
    "listed, ours, complaint",
    [
        ("a, b", lambda a, b, c=1: 0, ""),
        ("a, *, b", lambda a, b=1: 0, ""),
        ("a, *, b", lambda a, *, c=0, b=1: 0, ""),
        ("*rest, b", lambda *rest, b=1: 0, ""),
        ("a, b", lambda b, a: 0, "a is at place 1, not 0"),
        ("a, b", lambda a, *, b: 0, "b cannot be given by place"),
        ("a, *, b", lambda a: 0, "takes no b"),
        ("*rest", lambda rest: 0, "takes no *rest"),
    ],
)
def test_a_parameter_that_is_missing_or_misplaced_is_seen(listed, ours, complaint):
    found = _complaint(listed.split(", "), _parameters_of(ours))
    assert found == complaint


def test_every_exported_name_is_in_the_stubs():
    for name, module in _MODULES.items():
        if name in ("experimental", "texture"):
            continue  # the one has core's, the other none that is served
        for exported in module.__all__:
            assert exported in _STUBS[name] or exported in _STUBS["graph"], exported


def test_what_is_not_served_is_not_in_the_stubs():
    from holdfast.core import _not_served

    absent = {name.split(".")[1] for name, _, verdict, _ in _LISTED if verdict == "absent"}
    for name in _not_served.REASONS:
        assert name in absent and name not in _STUBS["core"], name
