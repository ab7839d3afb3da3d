# SPDX-License-Identifier: Apache-2.0
"""Reads and writes C's values in memory."""

import ctypes

from holdfast.bindings import _convert
from holdfast.bindings._types import Handle, view


class Codec:
    """Reads and writes elements of one type.

    Attributes:
        cls: the class of an enumeration, a handle or a struct; else None.
        size: bytes of an element.
        unwrap: the function that returns the number for C of a Python value; not of structs.
    """

    def __init__(self, api, kind):
        self.kind, _, name = kind.partition(":")
        self.cls = None
        if name:
            self.cls = api.get(name)
        if self.kind == "t":
            self.size = self.cls._size
            return
        if self.kind == "h":
            # A class of cuda.bindings has no _ctype: its handles are pointers.
            handle = self.cls if issubclass(self.cls, Handle) else Handle
            self.ctype, self.unwrap = handle._ctype, handle._check
        elif self.kind == "e":
            self.ctype, self.unwrap = ctypes.c_int, _convert.number
        elif self.kind[0] in "*v":
            self.ctype, self.unwrap = ctypes.c_uint64, _convert.pointer
        else:
            self.ctype, self.unwrap = _convert.NUMBERS[kind], _convert.checks[kind]
        self.size = ctypes.sizeof(self.ctype)

    def wrap(self, value):
        """Returns the Python value for a number of C."""
        if self.kind == "e":
            return member(self.cls, value)
        return value if self.cls is None else self.cls(value)

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
        source = value.getPtr()
        if source == address:
            return
        ctypes.memmove(address, source, self.size)
        if owner is not None:
            self._move_kept(value._kept, source, owner._kept, address)

    def _move_kept(self, kept, source, owned, address):
        """Passes the objects that the struct at ``source`` keeps to the owner of the memory at
        ``address``, in the place of the objects that it kept there."""
        moved = {at - source: one for at, one in kept.items() if 0 <= at - source < self.size}
        for at in [at for at in owned if 0 <= at - address < self.size]:
            del owned[at]
        owned.update({address + at: one for at, one in moved.items()})

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
