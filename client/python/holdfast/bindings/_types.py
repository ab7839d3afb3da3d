# SPDX-License-Identifier: Apache-2.0
"""Handles and structs: classes over C's memory."""

import ctypes
import re

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
        # What members point to, by the address of the member; shared with nested structs.
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
    size, alignment, fields = api.table["structs"][name]
    members = {
        "__slots__": (),
        "__module__": _module(api),
        "_size": size,
        "_alignment": alignment,
        "_members": tuple(field[0] for field in fields),
    }
    for field, offset, kind, *counter in fields:
        members[field] = _make_member(api, field, offset, kind, counter)
    return type(name.split(".")[-1], (Struct,), members)


def _make_member(api, field, offset, kind, counter):
    if field == "kernelParams":
        read, write = _read_pointer, _write_kernel_parameters
    elif counter or re.match(r"\*k?[iufh]", kind) and kind not in ("*ki1", "*i1"):
        read, write = _make_list(Codec(api, re.sub(r"^\*k?", "", kind)), counter)
    elif kind in ("*ki1", "*i1"):
        read, write = _read_text, _write_text
    elif kind[0] == "*":
        read, write = _read_pointer, _write_pointer
    elif re.match(r"\[\d+\][iu]1$", kind):
        read, write = _make_bytes(int(kind[1 : kind.index("]")]), field == "name")
    elif kind[0] == "[":
        read, write = _make_array(api, kind)
    else:
        codec = Codec(api, kind)
        read, write = codec.read, codec.write
    return property(
        lambda self: read(self, self._address + offset),
        lambda self, value: write(self, self._address + offset, value),
    )


class Codec:
    """Reads and writes elements of one type.

    Attributes:
        cls: the class of an enumeration, a handle or a struct; else None.
        size: bytes of an element.
    """

    def __init__(self, api, kind):
        self.kind, _, name = kind.partition(":")
        self.cls = None
        if name in ("cuuint64_t", "cuuint32_t", "CUmemFabricHandle"):
            api = api_of("driver")
        if name:
            self.cls = api.get(name)
        if self.kind == "t":
            self.size = self.cls._size
            return
        if self.kind == "h":
            self.ctype = self.cls._ctype
        elif self.kind == "e":
            self.ctype = ctypes.c_int
        else:
            self.ctype = _convert.NUMBERS.get(kind, ctypes.c_uint64)
        self._check = _convert.checks.get(kind, _convert.number)
        if self.kind[0] in "*v":
            self._check = _convert.pointer
        self.size = ctypes.sizeof(self.ctype)

    def wrap(self, value):
        """What Python gets for a number of C."""
        if self.kind == "e":
            return member(self.cls, value)
        return value if self.cls is None else self.cls(value)

    def unwrap(self, value):
        """The number for C."""
        return self._check(value)

    def read(self, owner, address):
        if self.kind == "t":
            return view(self.cls, address, owner)
        return self.wrap(self.ctype.from_address(address).value)

    def write(self, owner, address, value):
        if self.kind != "t":
            self.ctype.from_address(address).value = self.unwrap(value)
            if self.kind == "h" and owner is not None:
                owner._kept[address] = value
            return
        if not isinstance(value, self.cls):
            raise TypeError(f"expected {self.cls.__name__}, got {type(value).__name__}")
        if value.getPtr() != address:
            ctypes.memmove(address, value.getPtr(), self.size)
        if owner is not None:
            owner._kept[address] = value

    def array(self, values):
        """(address, what keeps it) of new memory with the values."""
        if self.kind != "t":
            memory = _convert.make_array(self.ctype, [self.unwrap(value) for value in values])
            memory.kept = values
            return ctypes.addressof(memory), memory
        memory = self.allocate(len(values))
        for i, value in enumerate(values):
            self.write(None, ctypes.addressof(memory) + i * self.size, value)
        memory.kept = values
        return ctypes.addressof(memory), memory

    def allocate(self, count):
        return (ctypes.c_char * (count * self.size))()

    def list(self, address, count, owner):
        """The elements at an address."""
        return [self.read(owner, address + i * self.size) for i in range(count)]


def member(cls, value):
    """The member of an enumeration; one without a name, if the header has none."""
    try:
        return cls(value)
    except ValueError:
        unknown = int.__new__(cls, value)
        unknown._name_, unknown._value_ = f"{cls.__name__}({value})", value
        return unknown


def _read_pointer(owner, address):
    return ctypes.c_uint64.from_address(address).value


def _write_pointer(owner, address, value):
    ctypes.c_uint64.from_address(address).value = _convert.pointer(value)
    owner._kept[address] = value


def _write_kernel_parameters(owner, address, value):
    array = _convert.kernel_parameters(value)
    place = array if isinstance(array, int) else ctypes.addressof(array)
    ctypes.c_uint64.from_address(address).value = place
    owner._kept[address] = array, value


def _read_text(owner, address):
    return ctypes.c_char_p.from_address(address).value


def _write_text(owner, address, value):
    cell = ctypes.c_char_p(_convert.text(value))
    ctypes.memmove(address, ctypes.byref(cell), 8)
    owner._kept[address] = value


def _make_bytes(size, is_text):
    def read(owner, address):
        return ctypes.string_at(address) if is_text else ctypes.string_at(address, size)

    def write(owner, address, value):
        value = bytes(value)
        if len(value) > size:
            raise ValueError(f"{len(value)} bytes do not fit into {size}")
        ctypes.memmove(address, value.ljust(size, b"\0"), size)

    return read, write


def _make_array(api, kind):
    """A member that is an array: a list, in Python, of lists if it has two dimensions."""
    count, rest = kind[1:].split("]", 1)
    count = int(count)
    if rest[0] == "[":
        inner_size = int(rest[1:].split("]")[0]) * Codec(api, rest.split("]")[1]).size
        inner = _make_array(api, rest)
    else:
        codec = Codec(api, rest)
        inner_size, inner = codec.size, (codec.read, codec.write)

    def read(owner, address):
        return [inner[0](owner, address + i * inner_size) for i in range(count)]

    def write(owner, address, values):
        values = list(values)
        if len(values) > count:
            raise IndexError(f"not enough values found during array assignment, expected {count}")
        for i, value in enumerate(values):
            inner[1](owner, address + i * inner_size, value)

    return read, write


def _make_list(codec, counter):
    """A member that points to elements, which another one counts."""

    def read(owner, address):
        place = _read_pointer(owner, address)
        kept = owner._kept.get(address)
        if isinstance(kept, tuple):
            return codec.list(place, kept[1], kept[0])
        count = getattr(owner, counter[0], 0) if counter and counter[0] else 1
        return codec.list(place, count, owner) if place else []

    def write(owner, address, values):
        if isinstance(values, int) or values is None:
            ctypes.c_uint64.from_address(address).value = values or 0
            owner._kept.pop(address, None)
            return
        values = [values] if isinstance(values, (Struct, Handle)) else list(values)
        place, memory = codec.array(values)
        ctypes.c_uint64.from_address(address).value = place if values else 0
        owner._kept[address] = memory, len(values)

    return read, write
