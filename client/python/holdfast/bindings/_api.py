# SPDX-License-Identifier: Apache-2.0
"""Makes the names of a module when they are first used, from the module's table."""

import ctypes
import enum
import functools
import json
import os

_apis = {}

# Types that the driver's module defines, and the runtime's uses by the same name.
_DRIVERS = ("cuuint32_t", "cuuint64_t", "CUmemFabricHandle")


def api(name):
    """The `Api` of the module ``name``."""
    if name not in _apis:
        import importlib

        importlib.import_module(f"holdfast.bindings.{name}")
    return _apis[name]


class _Enumeration(enum.IntEnum):
    """Numbers whose text has their name in all versions of Python."""

    __str__ = enum.Enum.__repr__

    def __format__(self, spec):
        return format(self.value, spec) if spec else str(self)


class _ArgumentEnumeration(_Enumeration):
    """Numbers that cuda.bindings.driver passes to kernels: it knows the members of its own
    enumerations, and objects with an address."""

    def getPtr(self):
        """The address of the number, as an int of C."""
        if not hasattr(self, "_cell"):
            self._cell = ctypes.c_int(self.value)
        return ctypes.addressof(self._cell)


class Api:
    """The functions, types and constants of one header.

    Attributes:
        name: "driver", "runtime" or "nvrtc".
        table: what bindings/generate.py has made from the header.
        peer_driver: the module cuda.bindings.driver, if this module stands in for
            cuda.bindings.runtime beside it; else None. Handles of the runtime that are handles of
            the driver are then of its classes, and its kernels take members of enumerations. Set
            before the first name is used.
    """

    def __init__(self, name, module):
        _apis[name] = self
        self.name = name
        self.peer_driver = None
        self._module = module
        self._makers = {
            "functions": self._make_function,
            "enums": self._make_enum,
            "structs": self._make_struct,
            "handles": self._make_handle,
            "aliases": lambda alias: self.get(self.table["aliases"][alias]),
            "constants": lambda constant: self.table["constants"][constant],
        }

    @functools.cached_property
    def table(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{self.name}.json")
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def names(self):
        """Every name of the module, for ``dir``."""
        found = {*self._module, *self._own_names()}
        for kind in self._makers:
            found.update(name for name in self.table[kind] if "." not in name)
        return sorted(found)

    def get(self, name):
        """The object of this name; made at most once."""
        return self._module[name] if name in self._module else self.make(name)

    def make(self, name):
        """``__getattr__`` of the module."""
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)  # what Python's import asks for, without the table
        for kind, maker in self._makers.items():
            if name in self.table[kind]:
                return self._module.setdefault(name, maker(name))
        if name == "__all__":
            return [name for name in self.names() if not name.startswith("_")]
        if name in self._own_names():
            return self._module.setdefault(name, self._make_own(name))
        if name in _DRIVERS and self.name == "runtime":
            return self._module.setdefault(name, api("driver").get(name))
        raise AttributeError(f"module 'holdfast.bindings.{self.name}' has no attribute {name!r}")

    def _own_names(self):
        """The functions of cuda.bindings that no header has."""
        return ("sizeof", "getLocalRuntimeVersion") if self.name == "runtime" else ("sizeof",)

    def _make_own(self, name):
        if name == "getLocalRuntimeVersion":
            return self.get("cudaRuntimeGetVersion")
        from holdfast.bindings._types import sizeof

        return sizeof

    def _make_function(self, name):
        from holdfast.bindings._call import make_function

        return make_function(self, name)

    def _make_enum(self, name):
        module = f"holdfast.bindings.{self.name}"
        base = _Enumeration if self.peer_driver is None else _ArgumentEnumeration
        return base(name, self.table["enums"][name], module=module)

    def _make_struct(self, name):
        from holdfast.bindings._types import make_struct

        if self.name == "runtime" and name in api("driver").table["structs"]:
            return api("driver").get(name)
        return make_struct(self, name)

    def _make_handle(self, name):
        from holdfast.bindings._types import make_handle

        return make_handle(self, name)
