# SPDX-License-Identifier: Apache-2.0
"""Members of structs: properties that read and write C's memory.

The struct keeps alive the objects that its members point to.
"""

import ctypes
import re
import weakref

from holdfast.bindings import _convert
from holdfast.bindings._codec import Codec
from holdfast.bindings._types import Struct, is_handle, view_handle


def make_member(api, field, offset, kind, counter):
    """The property for a row of the table of structs."""
    if field == "kernelParams":
        read, write = _read_pointer, _write_kernel_parameters
    elif counter == [""] and kind[:3] == "*h:":
        read, write = _make_handle_behind(Codec(api, kind[1:]))
    elif counter:
        codec = Codec(api, re.sub(r"^\*k?", "", kind))
        read, write = _make_list(codec, counter[0], field.endswith("_out"))
    elif kind[0] == "*":
        read, write = _read_pointer, _write_pointer
    elif _is_bytes(kind):
        read, write = _make_bytes(int(kind[1 : kind.index("]")]), kind[-2:], field)
    elif kind[0] == "[":
        read, write = _make_array(api, kind)
    else:
        codec = Codec(api, kind)
        read, write = codec.read, codec.write
        if kind[:2] == "h:":
            read = _make_handle_reader(codec.cls)
    return property(
        lambda self: read(self, self._address + offset),
        lambda self, value: write(self, self._address + offset, value),
    )


def make_writer(field, kind):
    """The function that returns a member's value as its struct's text has it behind the colon:
    a space and the value, or a line for each member of a struct."""
    if kind[0] == "t":
        return lambda value: "".join(f"\n    {line}" for line in str(value).splitlines())
    if kind in ("*v", "*kv"):
        return lambda value: " " + hex(value)
    if _is_bytes(kind) and field == "name":
        return lambda value: " " + value.decode(errors="replace")
    if _is_bytes(kind) and field in ("bytes", "luid"):
        return lambda value: " " + value.hex()
    return lambda value: f" {value}"


def _is_bytes(kind):
    return re.match(r"\[\d+\][iu]1$", kind)


def _make_handle_reader(cls):
    return lambda owner, address: view_handle(cls, address, owner)


def _read_pointer(owner, address):
    return ctypes.c_uint64.from_address(address).value


def _write_pointer(owner, address, value):
    ctypes.c_uint64.from_address(address).value = _convert.pointer(value)
    owner._kept[address] = value


def _write_kernel_parameters(owner, address, value):
    array = _convert.kernel_parameters(value)
    if not isinstance(array, int):
        return _point_to(owner, address, ctypes.addressof(array), array)
    ctypes.c_uint64.from_address(address).value = array
    owner._kept[address] = value


def _point_to(owner, address, place, memory):
    """Stores the address of new memory, which ``memory`` keeps and which ends with the owner. An
    owner that was made with ``_ptr`` is in memory of the program, which may live longer: the member
    is cleared when such an owner ends."""
    ctypes.c_uint64.from_address(address).value = place
    owner._kept[address] = memory
    while isinstance(owner._owner, Struct):
        owner = owner._owner
    if owner._owner is None:
        _clear_at_end(owner, address, place)


def _clear_at_end(owner, address, place):
    """Clears the member when its owner ends, if the member still has this value. Replaces the
    finalizer of an earlier value, so that a member has at most one."""
    if address in owner._endings:
        owner._endings[address].detach()
    owner._endings[address] = ending = weakref.finalize(owner, _clear, address, place)
    ending.atexit = False


def _clear(address, place):
    member = ctypes.c_uint64.from_address(address)
    if member.value == place:
        member.value = 0


def _make_bytes(size, kind, field):
    """A member of `size` bytes; one that is a name ends at its first zero."""
    least = -128 if kind == "i1" else 0

    def read(owner, address):
        value = ctypes.string_at(address, size)
        return value.split(b"\0", 1)[0] if field == "name" else value

    def write(owner, address, value):
        if field == "name":
            value = bytes(value).ljust(size, b"\0")
        if len(value) != size:
            raise ValueError(f"{field} length must be {size}, is {len(value)}")
        if not all(least <= one < 256 for one in value):
            raise OverflowError(f"{field} has a value that does not fit into a byte")
        ctypes.memmove(address, bytes(one & 255 for one in value), size)

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
        read_element = _make_copier(codec) if codec.kind == "t" else codec.read
        inner_size, inner = codec.size, (read_element, codec.write)

    def read(owner, address):
        return [inner[0](owner, address + i * inner_size) for i in range(count)]

    def write(owner, address, values):
        values = list(values)
        if len(values) != count:
            what = "too many" if len(values) > count else "not enough"
            raise IndexError(f"{what} values found during array assignment, expected {count}")
        for i, value in enumerate(values):
            inner[1](owner, address + i * inner_size, value)

    return read, write


def _make_copier(codec):
    """The function that reads an element of an array of structs as a copy, as cuda.bindings does. A
    change of the copy has an effect when the program assigns the array."""

    def read(owner, address):
        made = codec.cls()
        codec.write(made, made.getPtr(), codec.read(owner, address))
        return made

    return read


def _make_handle_behind(codec):
    """A member that points to one handle. While it points to nothing, it reads as a new handle that
    is 0."""

    def read(owner, address):
        place = _read_pointer(owner, address)
        return view_handle(codec.cls, place, owner) if place else codec.cls()

    def write(owner, address, value):
        _write_pointer(owner, address, value.getPtr() if is_handle(value) else value)
        owner._kept[address] = value

    return read, write


def _make_list(codec, counter, is_written):
    """A member that points to elements, which the member `counter` counts; without a counter, to
    one element. Before the library has written its elements, they are handles that are 0."""

    def read(owner, address):
        place = _read_pointer(owner, address)
        kept = owner._kept.get(address)
        if isinstance(kept, tuple):
            return codec.list(place, kept[1], kept[0])
        count = getattr(owner, counter, 0) if counter else 1
        if is_written and not place:
            return [codec.cls() for _ in range(count)]
        return codec.list(place, count, owner) if place else []

    def write(owner, address, values):
        if isinstance(values, int) or values is None:
            ctypes.c_uint64.from_address(address).value = values or 0
            owner._kept.pop(address, None)
            return
        values = [values] if isinstance(values, Struct) or is_handle(values) else list(values)
        place, memory = codec.array(values)
        _point_to(owner, address, place if values else 0, (memory, len(values)))

    return read, write
