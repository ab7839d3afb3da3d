# SPDX-License-Identifier: Apache-2.0
"""The list of cuda.core's names says what is true of the package and of its stubs."""

import ast
import os

import holdfast.core
import holdfast.core.graph
import holdfast.core.utils
import pytest

_MODULES = {
    "core": holdfast.core,
    "graph": holdfast.core.graph,
    "utils": holdfast.core.utils,
}


def _listed():
    with open(os.environ["HOLDFAST_NAMES"], encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, verdict, *why = line.split(None, 2)
                yield name, verdict, why[0].strip() if why else ""


def _stub(module):
    """Names of classes, and of their members, and of functions in a module's stub."""
    path = os.path.join(os.path.dirname(module.__file__), "__init__.pyi")
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    members = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            own = {b.id for b in node.bases if isinstance(b, ast.Name)}
            found = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            found |= {
                n.target.id
                for n in node.body
                if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
            }
            members[node.name] = found.union(*(members.get(base, ()) for base in own))
        elif isinstance(node, ast.FunctionDef):
            members[node.name] = set()
    return members


_STUBS = {name: _stub(module) for name, module in _MODULES.items()}


def test_no_name_is_listed_twice_and_every_verdict_has_its_reason():
    names = [name for name, _, _ in _listed()]
    assert len(names) == len(set(names)) > 150
    for name, verdict, why in _listed():
        assert verdict in ("same", "differs", "absent"), name
        assert bool(why) == (verdict != "same"), name


@pytest.mark.parametrize("name, verdict", [(n, v) for n, v, _ in _listed()])
def test_the_list_is_true(name, verdict):
    module, cls, *member = name.split(".")
    if verdict == "absent":
        # A member may be there to say why not; its stub must not promise it.
        declared = _STUBS[module].get(cls)
        assert declared is None or (member and member[0] not in declared)
        return
    target = getattr(_MODULES[module], cls)
    assert cls in _STUBS[module]
    for part in member:
        assert hasattr(target, part)
        assert part in _STUBS[module][cls]


def test_every_exported_name_is_in_the_stubs():
    for name, module in _MODULES.items():
        for exported in module.__all__:
            if exported == "GraphDef":
                continue
            assert exported in _STUBS[name] or exported in _STUBS["graph"], exported
