# SPDX-License-Identifier: Apache-2.0
"""Handles and structs: classes over C's memory."""

import ctypes

from holdfast.bindings import _convert
from holdfast.bindings._api import api as api_of


class Handle:
    """A number or a pointer that names something of the library.

    Args:
        init_value: the number; another handle; of a callback, a function of ctypes.
        _ptr: instead, the address of the memory that has the number.
    """

    __slots__ = ("_cell", "_kept", "__weakref__")
    _ctype = ctypes.c_uint64

    def __init__(self, init_value=0, _ptr=0):
        if _ptr:
            self._cell = self._ctype.from_address(_ptr)
        else:
            self._cell = self._ctype(_convert.number(init_value))
            self._kept = init_value

    def __int__(self):
        return self._cell.value

    __index__ = __int__

    def __eq__(self, other):
        if isinstance(other, type(self)) or isinstance(self, type(other)):
            return self._cell.value == other._cell.value
        return NotImplemented

    def __hash__(self):
        return hash(self._cell.value)

    def __repr__(self):
        is_number = self._ctype is not ctypes.c_uint64
        value = self._cell.value
        return f"<{type(self).__name__} {value if is_number else hex(value)}>"

    def getPtr(self):
        """The address of the memory that has the number."""
        return ctypes.addressof(self._cell)


def make_handle(api, name):
    kind = api.table["handles"][name]
    base = Handle
    if api.name == "runtime" and kind[0] == "*" and kind != "*()":
        driver = api_of("driver")
        handles = driver.table["handles"].items()
        base = next((driver.get(own) for own, of in handles if of == kind), Handle)
    ctype = _convert.NUMBERS.get(kind, ctypes.c_uint64)
    return type(name, (base,), {"__slots__": (), "_ctype": ctype, "__module__": _module(api)})


def _module(api):
    return f"holdfast.bindings.{api.name}"


class Struct:
    """A struct or union of C. Its members are attributes.

    Args:
        _ptr: the address of a struct that others own; default: new memory, all zero.
    """

    __slots__ = ("_address", "_owner", "_kept", "__weakref__")
    _size = 0
    _alignment = 1
    _members = ()

    def __init__(self, _ptr=0):
        # The objects that members point to, by the member's address; nested structs share them.
        self._kept = {}
        if _ptr:
            self._address, self._owner = _ptr, None
        else:
            self._owner = memory = (ctypes.c_char * (self._size + self._alignment))()
            self._address = -(-ctypes.addressof(memory) // self._alignment) * self._alignment

    def getPtr(self):
        """The address of the struct."""
        return self._address

    def __repr__(self):
        lines = []
        for member in self._members:
            lines.append(f"{member} : {getattr(self, member)!r}")
        return "\n".join(lines)


def view(cls, address, owner):
    """A struct within the memory of ``owner``, which it keeps."""
    found = cls(_ptr=address)
    found._owner = owner
    if isinstance(owner, Struct):
        found._kept = owner._kept
    return found


def sizeof(kind):
    """The size in C of a class of these modules."""
    if issubclass(kind, Struct):
        return kind._size
    if issubclass(kind, Handle):
        return ctypes.sizeof(kind._ctype)
    return 4


def make_struct(api, name):
    from holdfast.bindings._members import make_member

    size, alignment, fields = api.table["structs"][name]
    members = {
        "__slots__": (),
        "__module__": _module(api),
        "_size": size,
        "_alignment": alignment,
        "_members": tuple(field[0] for field in fields),
    }
    for field, offset, kind, *counter in fields:
        members[field] = make_member(api, field, offset, kind, counter)
    return type(name.split(".")[-1], (Struct,), members)
