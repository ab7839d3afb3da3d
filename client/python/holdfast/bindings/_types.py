# SPDX-License-Identifier: Apache-2.0
"""Handles and structs: classes over C's memory."""

import ctypes
import enum

from holdfast.bindings import _convert
from holdfast.bindings._api import api as api_of


class Handle:
    """A number or a pointer that names something of the library.

    Args:
        init_value: the number; another handle; of a callback, a function of ctypes.
        _ptr: the address of memory of the program that has the number; default: new memory.
    """

    __slots__ = ("_cell", "_kept", "_at", "__weakref__")
    _ctype = ctypes.c_uint64
    _check = staticmethod(_convert.make_handle_check("u8"))
    _write = staticmethod(hex)

    def __init__(self, init_value=0, _ptr=0):
        self._at = _ptr
        self._kept = init_value
        if not _ptr:
            self._cell = self._ctype(self._check(init_value) if init_value else 0)
            return
        self._cell = self._ctype.from_address(_ptr)
        if init_value:
            self._cell.value = self._check(init_value)

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
        return f"<{type(self).__name__} {self._write(self._cell.value)}>"

    def getPtr(self):
        """The address of the memory that has the number."""
        return ctypes.addressof(self._cell)

    def _as_argument(self):
        """The number for a parameter of a kernel that is a pointer: the handle itself; of a handle
        in memory that the program has named, the address of that memory."""
        return self._at or self._cell.value


_peers = []  # classes of cuda.bindings.driver that are the runtime's handles, too


def is_handle(value):
    return isinstance(value, (Handle, *_peers))


def make_handle(api, name):
    kind = api.table["handles"][name]
    base = Handle
    if api.name == "runtime" and kind[0] == "*" and kind != "*()":
        driver = api_of("driver")
        handles = driver.table["handles"].items()
        own = next((own for own, of in handles if of == kind), None)
        peer = getattr(api.peer_driver, own, None) if own else None
        if peer is not None:
            _peers.append(peer)
            return peer
        base = driver.get(own) if own else Handle
    members = {
        "__slots__": (),
        "__module__": _module(api),
        "_ctype": _convert.NUMBERS.get(kind, ctypes.c_uint64),
        "_check": staticmethod(_convert.make_handle_check(kind)),
        "_write": staticmethod(hex if kind[0] == "*" else str),
    }
    return type(name, (base,), members)


def _module(api):
    return f"holdfast.bindings.{api.name}"


class Struct:
    """A struct or union of C. Its members are attributes.

    Args:
        _ptr: the address of a struct that others own; default: new memory, all zero.
    """

    __slots__ = ("_address", "_owner", "_kept", "_endings", "__weakref__")
    _size = 0
    _alignment = 1
    _members = {}  # name -> function that writes the value for `repr`

    def __init__(self, _ptr=0):
        # The objects that members point to, by the member's address; nested structs share them.
        self._kept = {}
        if _ptr:
            self._address, self._owner = _ptr, None
            # By the member's address: the finalizers of members in the program's memory.
            self._endings = {}
        else:
            self._owner = memory = (ctypes.c_char * (self._size + self._alignment))()
            self._address = -(-ctypes.addressof(memory) // self._alignment) * self._alignment

    def getPtr(self):
        """The address of the struct."""
        return self._address

    def __repr__(self):
        return "\n".join(
            f"{name} :{write(getattr(self, name))}" for name, write in self._members.items()
        )


def view(cls, address, owner):
    """A struct within the memory of ``owner``, which it keeps."""
    found = cls(_ptr=address)
    found._owner = owner
    if isinstance(owner, Struct):
        found._kept = owner._kept
    return found


def view_handle(cls, address, owner):
    """A handle within the memory of ``owner``, which it keeps."""
    if not issubclass(cls, Handle):  # of cuda.bindings, which keeps no owner: a copy
        return cls(ctypes.c_uint64.from_address(address).value)
    found = cls(_ptr=address)
    found._at, found._kept = 0, owner
    return found


def sizeof(objType):
    """The size in C of a class of these modules."""
    if issubclass(objType, Struct):
        return objType._size
    if issubclass(objType, Handle):
        return ctypes.sizeof(objType._ctype)
    if issubclass(objType, enum.Enum):
        return 4
    raise TypeError(f"The requested type {objType} is not supported")


def make_struct(api, name):
    from holdfast.bindings._members import make_member, make_writer

    size, alignment, fields = api.table["structs"][name]
    members = {
        "__slots__": (),
        "__module__": _module(api),
        "_size": size,
        "_alignment": alignment,
        "_members": {field: make_writer(field, kind) for field, _, kind, *_ in fields},
    }
    for field, offset, kind, *counter in fields:
        members[field] = make_member(api, field, offset, kind, counter)
    return type(name.split(".")[-1], (Struct,), members)
