# SPDX-License-Identifier: Apache-2.0
"""Arrays and structs as C's functions take and leave them."""

import ctypes

from holdfast.bindings import _convert
from holdfast.bindings._types import Struct


def elements(codec, memory, count):
    """The list of what a function has written."""
    if memory is None:
        return []
    count = min(count, ctypes.sizeof(memory) // codec.size)
    return codec.list(ctypes.addressof(memory), count, memory)


def copies(codec, place, count):
    """Elements of the library's own memory, which may change later."""
    if not place:
        return []
    memory = codec.allocate(count)
    ctypes.memmove(memory, place, count * codec.size)
    return codec.list(ctypes.addressof(memory), count, memory)


def make_maker(codec):
    """The function that makes arrays of a parameter."""

    def make(values, count):
        """(address, what keeps it)."""
        if values is None:
            return (None,)
        if isinstance(values, Struct):
            values = [values]
        _convert.check_count(values, count)
        return codec.array(values) if len(values) else (None,)

    return make


def make_texts(values, count):
    """char*[] of a list of bytes, as `make_maker`'s functions return it."""
    if values is None:
        return (None,)
    _convert.check_count(values, count)
    if not values:
        return (None,)
    array = _convert.make_array(ctypes.c_char_p, [_convert.text(value) for value in values])
    return ctypes.addressof(array), array


def by_value(cls):
    """The Structure of ctypes for passing a struct of integers by value."""
    if "_by_value" not in cls.__dict__:
        step = {8: ctypes.c_uint64, 4: ctypes.c_uint32, 1: ctypes.c_uint8}[cls._alignment]
        count = cls._size // ctypes.sizeof(step)
        fields = [(f"f{i}", step) for i in range(count)]
        cls._by_value = type(cls.__name__, (ctypes.Structure,), {"_fields_": fields})
    return cls._by_value
