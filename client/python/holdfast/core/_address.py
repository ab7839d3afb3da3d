# SPDX-License-Identifier: Apache-2.0
"""Places in Buffers: arguments of kernels, and numbers."""

import operator


class Address:
    """A place in a Buffer: an argument of kernels, which is checked, and a number.

    ``int(address)`` is 64 bits in the session's own address space, the same over faults, upgrades
    and suspensions: for structs, tables of pointers, NumPy and ctypes. The first one of a Buffer
    waits for the daemon. A kernel's argument made of the number is not checked.
    """

    __slots__ = ("_buffer", "_offset")

    def __init__(self, buffer, offset):
        self._buffer = buffer
        self._offset = offset

    @property
    def _kernel_argument_(self):
        return (self._buffer, self._offset)

    def __index__(self):
        return self._buffer._first_address() + self._offset

    __int__ = __index__

    def __bool__(self):
        return True

    def __add__(self, offset):
        if isinstance(offset, bool) or not hasattr(offset, "__index__"):
            return NotImplemented
        place = self._offset + operator.index(offset)
        if not 0 <= place <= self._buffer._length:
            raise IndexError(f"offset {place} of a Buffer of {self._buffer._length} bytes")
        return Address(self._buffer, place)

    __radd__ = __add__

    def __sub__(self, other):
        if isinstance(other, Address):
            return int(self) - int(other)
        if isinstance(other, bool) or not hasattr(other, "__index__"):
            return NotImplemented
        return self + -operator.index(other)

    def __eq__(self, other):
        if isinstance(other, Address):
            if self._buffer is other._buffer:
                return self._offset == other._offset
            return self._key() == other._key()
        try:
            number = operator.index(other)
        except TypeError:
            return NotImplemented
        # No memory is at 0, also that which a graph has not made yet.
        return number != 0 and int(self) == number

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        """The number; of memory that a graph has not made yet, the place."""
        if self._buffer._is_of_graph:
            return (id(self._buffer), self._offset)
        return int(self)

    def __format__(self, spec):
        return format(int(self), spec)

    def __repr__(self):
        return f"<{self._buffer!r} + {self._offset}>"


def _as_int(operation):
    def apply(self, other):
        try:
            number = operator.index(other)
        except TypeError:
            return NotImplemented
        return operation(int(self), number)

    return apply


# What programs ask of a pointer: its alignment, and which of two comes first.
for _name in ("lt", "le", "gt", "ge", "mod", "and", "or", "xor", "floordiv", "lshift", "rshift"):
    setattr(Address, f"__{_name}__", _as_int(getattr(operator, f"__{_name}__")))
