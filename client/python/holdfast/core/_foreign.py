# SPDX-License-Identifier: Apache-2.0
"""Memory and streams of this process's own CUDA: of CuPy, PyTorch, JAX, Numba and others.

A kernel runs in the daemon, whose CUDA knows no address of this process. So memory that a kernel
is given is imported once per allocation, and the kernel gets the session's address of it. A stream
of this process is paired with one of the session: both act as one stream.

Both need a daemon on this machine, and nothing here loads CUDA: a process that has not loaded the
driver has no such memory.
"""

import ctypes
import os
import weakref

from holdfast._errors import CUDAError

_MEMORY_TYPE = 2
_BUFFER_ID = 7
_HOST = 1
_DISABLE_TIMING = 2
# Of so many allocations the imports are kept; then those whose memory was freed are let go.
_MANY = 1024


class _Driver:
    """The CUDA driver that this process has loaded."""

    def __init__(self, library):
        self._library = library
        self._attribute = library.cuPointerGetAttribute
        self._attribute.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)
        self._range = library.cuMemGetAddressRange_v2
        self._range.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)

    @classmethod
    def loaded(cls, path):
        """The driver of this file; None if this process has not loaded it."""
        try:
            return cls(ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW))
        except OSError:
            return None

    def buffer_id(self, pointer):
        """The number that no other allocation ever has; None: no memory of this driver."""
        number = ctypes.c_uint64()
        failed = self._attribute(ctypes.byref(number), _BUFFER_ID, pointer)
        return None if failed or number.value == 0 else number.value

    def is_host(self, pointer):
        kind = ctypes.c_uint()
        return not self._attribute(ctypes.byref(kind), _MEMORY_TYPE, pointer) and kind.value == _HOST

    def allocation(self, pointer):
        """(base, bytes) of the allocation that the pointer lies in; None: none is known."""
        base, size = ctypes.c_uint64(), ctypes.c_size_t()
        failed = self._range(ctypes.byref(base), ctypes.byref(size), pointer)
        return None if failed else (base.value, size.value)

    def order(self, producer, consumer):
        event = ctypes.c_void_p()
        self._call("cuEventCreate", ctypes.byref(event), _DISABLE_TIMING)
        try:
            self._call("cuEventRecord", event, ctypes.c_void_p(producer))
            self._call("cuStreamWaitEvent", ctypes.c_void_p(consumer), event, 0)
        finally:
            self._library.cuEventDestroy_v2(event)

    def _call(self, name, *arguments):
        failed = getattr(self._library, name)(*arguments)
        if failed:
            raise BufferError(f"{name} failed with CUDA's error {failed}")


class ForeignMemory:
    """The allocations of this process's own CUDA that a session uses on one device."""

    def __init__(self, session, ordinal):
        self._session = weakref.ref(session)
        self._ordinal = ordinal
        info = session._info(ordinal)
        self.path = info["driver_path"] if info["is_software"] else None
        self._driver = None
        self._imports = {}

    def driver(self):
        if self._driver is None:
            self._driver = _Driver.loaded(self.path or "libcuda.so.1")
        return self._driver

    def find(self, pointer):
        """(Buffer, offset) of the session's import of the memory at ``pointer``.

        None: the pointer is no memory of this process's CUDA. The first call for an allocation
        waits for the daemon.

        Raises:
            ValueError: it is, but the daemon cannot use it; says why.
        """
        driver = self.driver()
        number = None if driver is None else driver.buffer_id(pointer)
        if number is None:
            return None
        found = self._imports.get(number)
        if found is None:
            found = self._import(driver, pointer)
            self._imports[number] = found
        base, buffer = found
        return buffer, pointer - base

    def _import(self, driver, pointer):
        from holdfast.core._buffer import Buffer

        if driver.is_host(pointer):
            raise ValueError(
                f"{pointer:#x} is page-locked memory of this process, which the daemon does not "
                "have mapped: use holdfast.empty_pinned, or copy it into a Buffer"
            )
        allocation = driver.allocation(pointer)
        if allocation is None:
            raise ValueError(f"{pointer:#x}: this process's CUDA does not tell its allocation")
        base, size = allocation
        if len(self._imports) >= _MANY:
            self._forget(driver)
        session = self._session()
        buffer = Buffer._empty(session, self._ordinal, size, None, None)
        try:
            buffer._import_local(session, self._ordinal, base, size, self.path, self._ordinal)
        except CUDAError as error:
            raise ValueError(
                f"{pointer:#x} is memory of this process's CUDA that the daemon cannot use in "
                f"place: {error}. Memory of cudaMalloc can be used, of a daemon on this machine; "
                "that of asynchronous pools and managed memory cannot: copy it into a Buffer"
            ) from error
        buffer._is_mapped = True
        return base, buffer

    def _forget(self, driver):
        """Lets go of the imports whose allocation is no more."""
        for number, (base, _) in list(self._imports.items()):
            if driver.buffer_id(base) != number:
                del self._imports[number]


def memory_of(device):
    """The ForeignMemory of a device of a session."""
    known = device._session.__dict__.setdefault("_foreign_memory", {})
    found = known.get(device._ordinal)
    if found is None:
        found = known[device._ordinal] = ForeignMemory(device._session, device._ordinal)
    return found


def pointer_of(obj):
    """The device pointer of an array of another library; None: it is no such array."""
    try:
        interface = getattr(obj, "__cuda_array_interface__", None)
    except (AttributeError, RuntimeError):  # PyTorch's, of a tensor that requires a gradient
        interface = None
    if interface is not None:
        return interface["data"][0]
    data_ptr = getattr(obj, "data_ptr", None)
    return data_ptr() if callable(data_ptr) else None


_NUMBERS = frozenset(
    (int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int64, ctypes.c_ulonglong, ctypes.c_longlong)
)
_NUMPY_NUMBERS = frozenset(("uint64", "int64", "uintp", "intp", "ulonglong", "longlong"))
# No pointer of a device is lower.
_LOWEST = 1 << 32


def _number(obj):
    """The number that a 64-bit argument is, if it may be a pointer; else 0."""
    kind = type(obj)
    if kind in _NUMBERS:
        value = obj if kind is int else obj.value
    elif kind.__module__ == "numpy" and kind.__name__ in _NUMPY_NUMBERS:
        value = int(obj)
    else:
        return 0
    return value if value is not None and value >= _LOWEST else 0


def may_be_foreign(args):
    """Whether one of a kernel's arguments may be a pointer of this process's own CUDA."""
    return any(type(arg) is int and arg >= _LOWEST or _number(arg) for arg in args)


def arguments(device, args):
    """A kernel's arguments, with the session's Address for each that is memory of this process."""
    return [argument(device, arg) for arg in args]


def argument(device, obj):
    """The session's Address of an array of another library, or of a number that is a pointer of
    this process's CUDA; else the object itself.

    Raises:
        TypeError: an array whose memory is not memory of this process's CUDA.
        ValueError: the daemon cannot use the memory.
    """
    from holdfast.core._address import Address
    from holdfast.core._buffer import Buffer

    # An object of the session: a Buffer, an Address, a holdfast.array.Array.
    if isinstance(obj, Buffer) or hasattr(obj, "_kernel_argument_"):
        return obj
    number = _number(obj)
    pointer = number or pointer_of(obj)
    if not pointer:
        return obj
    found = memory_of(device).find(pointer)
    if found is not None:
        return Address(*found)
    if number:
        return obj
    raise TypeError(
        f"{type(obj).__name__} at {pointer:#x} is not memory of this process's CUDA device"
    )


def pair(stream, handle=None):
    """Pairs a session's stream with the CUstream ``handle``, or with a new one. Returns it."""
    memory = memory_of(stream._device)
    return stream._pair(handle, memory.path, stream._device._ordinal)


def order(producer, consumer):
    """Later work of one CUstream of this process waits for the work that the other has."""
    from holdfast.core._device import Device

    driver = memory_of(Device()).driver()
    if driver is None:
        raise BufferError("the array names a stream, and this process has loaded no CUDA")
    driver.order(producer, consumer)


def has_cuda(device):
    """Whether this process has loaded the device's kind of CUDA driver."""
    return memory_of(device).driver() is not None


def can_pair(device):
    """Whether streams of this process can be paired with those of the device's session."""
    return has_cuda(device) and device._session.address.startswith("unix:")
