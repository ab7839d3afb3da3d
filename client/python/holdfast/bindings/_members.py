# SPDX-License-Identifier: Apache-2.0
"""Members of structs: properties that read and write C's memory.

The struct keeps alive the objects that its members point to.
"""

import ctypes
import re

from holdfast.bindings import _convert
from holdfast.bindings._codec import Codec
from holdfast.bindings._types import Handle, Struct


def make_member(api, field, offset, kind, counter):
    """The property for a row of the table of structs."""
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
    value = _convert.text(value)
    ctypes.memmove(address, ctypes.byref(ctypes.c_char_p(value)), 8)
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
