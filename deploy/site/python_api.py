#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the Python modules that the reference is made of: the signatures of the stubs (.pyi) with the docstrings of the
sources (.py). Imports nothing, so that it needs no built module.

    python_api.py PACKAGE OUT      such as client/python/holdfast and a folder for holdfast/...

Every public module has a stub.
"""

import ast
import functools
import os
import sys


# Nothing of it is served; or its names are those of holdfast.core, or of CUDA's headers.
_LEFT_OUT = {
    "holdfast.bindings.driver",
    "holdfast.bindings.nvrtc",
    "holdfast.bindings.runtime",
    "holdfast.core.experimental",
    "holdfast.core.texture",
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (ast.ClassDef, *_FUNCTIONS)


class Sources:
    """The package's modules, by their dotted names."""

    def __init__(self, package):
        self._package = package
        self._root = os.path.dirname(os.path.abspath(package))

    def file(self, module, extension=".py"):
        """Where the module is; None if it is not of the package."""
        stem = os.path.join(self._root, *module.split("."))
        return next((f for f in (f"{stem}{extension}", f"{stem}/__init__{extension}") if os.path.exists(f)), None)

    @functools.cache
    def tree(self, module, extension=".py"):
        file = self.file(module, extension)
        if file is None:
            return ast.Module([], [])
        with open(file, encoding="utf-8") as text:
            return ast.parse(text.read())

    def public(self):
        """The names of the public modules."""
        for folder, _, names in os.walk(self._package):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), os.path.dirname(self._package))
                module = path.removesuffix(".pyi").removesuffix("/__init__").replace("/", ".")
                if name.endswith(".pyi") and "._" not in module and module not in _LEFT_OUT:
                    yield module

    def find(self, module, name):
        """The module and the node that define `name`, which `module` may have imported."""
        for node in self.tree(module).body:
            if _name(node) == name:
                return module, node
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self.find(node.module, alias.name)
        return module, None

    def members(self, module, owner):
        """Name -> node of all that a class has, of itself and of the classes that it is derived from."""
        found = {}
        for base in reversed(owner.bases):
            there, node = self.find(module, base.id) if isinstance(base, ast.Name) else (module, None)
            if isinstance(node, ast.ClassDef):
                found |= self.members(there, node)
        return found | {_name(node): node for node in owner.body if _name(node)}


def _name(node):
    """What the statement defines."""
    if isinstance(node, _DEFINITIONS):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return node.target.id if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else None


def _docstring(node):
    """Of a class, a function, `x = property(..., doc="...")`, or `Names = _names("Names", "...")`."""
    if isinstance(node, (*_DEFINITIONS, ast.Module)):
        # Not inspect.cleandoc, which takes the indentation of code below a single line.
        text = ast.get_docstring(node, clean=False)
        return text and text.replace("\n" + " " * node.body[0].col_offset, "\n").strip()
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return None
    texts = [k.value for k in node.value.keywords if k.arg == "doc"] or node.value.args[1:2]
    return texts[0].value if texts and isinstance(texts[0], ast.Constant) else None


def _docstring_statement(text):
    """A statement. The text begins on a line of its own: the first line's indentation does not count."""
    return ast.Expr(ast.Constant(f"\n{text}\n"))


def _put_docstring(node, text):
    if text and not ast.get_docstring(node):
        node.body.insert(0, _docstring_statement(text))


def _describe(sources, module, node):
    """Gives a class or a function of a stub its docstrings."""
    there, source = sources.find(module, node.name)
    _put_docstring(node, _docstring(source))
    if isinstance(node, ast.ClassDef) and isinstance(source, ast.ClassDef):
        members = sources.members(there, source)
        for member in node.body:
            if isinstance(member, _FUNCTIONS):
                _put_docstring(member, _docstring(members.get(member.name)))


def _is_of_package(node):
    return isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "holdfast"


class _FullNames(ast.NodeTransformer):
    """Puts the full names of the package's classes where a stub has the short ones: `Device` is in two modules."""

    def __init__(self, module, statements):
        self._names = {node.name: f"{module}.{node.name}" for node in statements if isinstance(node, ast.ClassDef)}
        for node in filter(_is_of_package, statements):
            for alias in node.names:
                self._names[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in self._names:
            return ast.parse(self._names[node.id], mode="eval").body
        return node


def described(sources, module):
    """The text of a module with signatures and docstrings."""
    statements = sources.tree(module, ".pyi").body
    for node in statements:
        if isinstance(node, _DEFINITIONS):
            _describe(sources, module, node)
    documentation = _docstring_statement(_docstring(sources.tree(module)) or "")
    own = [node for node in statements if not _is_of_package(node)]
    tree = _FullNames(module, statements).visit(ast.Module([documentation, *own], []))
    return ast.unparse(ast.fix_missing_locations(tree))


def _main(package, out):
    sources = Sources(package)
    root = os.path.dirname(os.path.abspath(package))
    for module in sources.public():
        target = os.path.join(out, os.path.relpath(sources.file(module), root))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(described(sources, module) + "\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
