# SPDX-License-Identifier: Apache-2.0
"""Buffers of memory that is there already: ``Buffer.from_handle``."""

import ctypes
import operator

from holdfast._errors import CUDAError
from holdfast.core._device import Device
from holdfast.core._address import Address
from holdfast.core._memory import MemoryResource
from holdfast.core._pool import Pool


class Release:
    """Gives memory back to the user's resource it is of, once: when it is called, or ends."""

    __slots__ = ("_resource", "_ptr", "_size", "stream")

    def __init__(self, resource, ptr, size, stream):
        self._resource = resource
        self._ptr = ptr
        self._size = size
        self.stream = stream

    def __call__(self, stream=None):
        resource, self._resource = self._resource, None
        if resource is None:
            return
        stream = self.stream if stream is None else stream
        if stream is None:
            stream = Device().default_stream
        resource.deallocate(self._ptr, self._size, stream=stream)

    def __del__(self):
        try:
            self()
        except Exception as error:
            import warnings

            from holdfast._errors import CUDAWarning

            warnings.warn(f"deallocate of {self._size} bytes failed: {error}", CUDAWarning)


class _Unknown:
    """What stands for memory that only the user's resource knows."""

    def __init__(self, number):
        self._number = number


def buffer_at(cls, ptr, size, mr, owner, stream):
    """See Buffer.from_handle."""
    is_users = mr is not None and not isinstance(mr, Pool)
    if is_users and owner is not None:
        raise ValueError("owner and memory resource cannot be both specified together")
    if is_users and not isinstance(mr, MemoryResource):
        raise TypeError(f"a MemoryResource expected, got {type(mr).__name__}")
    size = operator.index(size)
    device = mr._device if isinstance(mr, Pool) and hasattr(mr, "_device") else Device()
    buffer = _found(cls, device, ptr, size, mr, owner, stream, is_users)
    buffer._resource = mr
    buffer._owner = owner
    if is_users:
        buffer._release = Release(mr, ptr, size, stream)
    return buffer


def _found(cls, device, ptr, size, mr, owner, stream, is_users):
    if isinstance(ptr, Address):
        return _part(ptr._buffer, ptr._offset, size)
    number = operator.index(ptr)
    place = device._session._place(number)
    if place is not None:
        return _part(*place, size)
    if size == 0 or _is_of_this_process(number, size):
        return _host_memory(cls, device, number, size, mr, stream)
    try:
        return cls._imported(device, number, size, mr, owner, stream)
    except CUDAError:
        if not is_users:
            raise
    buffer = cls._empty(device._session, -1, size, mr, stream)
    buffer._memory = _Unknown(number)
    return buffer


def _part(buffer, offset, size):
    if buffer._memory is None:
        return buffer.sub(offset, size)
    if size < 0 or offset + size > buffer.size:
        raise ValueError(f"{size} bytes at {offset} of a Buffer of {buffer.size} bytes")
    part = type(buffer)._empty(buffer._session, -1, size, None, buffer._stream)
    part._part_of = buffer, offset
    # Kernels take the whole of a span, or `handle + offset`; a part is for copies.
    part._memory = buffer._memory
    if offset > 0:
        part._memory = memoryview(buffer._memory)[offset : offset + size]
    return part


def _host_memory(cls, device, number, size, mr, stream):
    buffer = cls._empty(device._session, -1, size, mr, stream)
    array = (ctypes.c_char * size).from_address(number) if size else bytearray()
    buffer._memory = memoryview(array).cast("B")
    return buffer


# What CUDA drivers map here, the software driver included: its pages are not for the CPU.
_DRIVERS = ("/dev/nvidia", "/memfd:")
_ARENA = "/memfd:holdfast-arena"


def _is_of_this_process(number, size):
    """Whether it is ordinary memory, which this process may read."""
    end = number
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            span, access, _, _, _, *path = line.split(None, 5)
            first, last = (int(part, 16) for part in span.split("-"))
            if first <= end < last:
                name = path[0] if path else ""
                is_drivers = name.startswith(_DRIVERS) and not name.startswith(_ARENA)
                if is_drivers or not access.startswith("r"):
                    return False
                end = last
                if end >= number + size:
                    return True
    return False
