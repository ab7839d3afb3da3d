# SPDX-License-Identifier: Apache-2.0
"""Memory with a shape, of Buffers and of other libraries' arrays."""

import functools
import math
import warnings

from holdfast import _native
from holdfast._session import current_device
from holdfast.core import _foreign
from holdfast.core._dlpack import CPU, CUDA, CUDA_HOST, make_capsule
from holdfast.core._buffer import Buffer
from holdfast.core._options import not_served

_ON_DEVICE = (CUDA, CUDA_HOST, 13)  # also pinned and managed memory, which kernels of CUDA reach
# DLPack's types of elements, by NumPy's kind.
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_KINDS = {code: kind for kind, code in _CODES.items()}
_BFLOAT = 4
# A view's type of elements for which NumPy needs ml_dtypes, until it is asked for.
_BFLOAT16 = "bfloat16"

_AMBIGUOUS = "stream=None is ambiguous: -1 is for memory that needs no order"

# Of an extent: DLPack has 63 bits.
_MAX = 2**63 - 1


class StridedMemoryView:
    """Memory with a shape, without a copy; made by one of the ``from_...`` methods.

    The memory is that of a Buffer, whose ``ptr`` is an Address for kernels of the daemon, or that
    of another library's array, whose ``ptr`` is a number of this process: for functions of this
    process, not for kernels of the daemon.

    Attributes:
        ptr: where element (0, 0, ...) lies.
        shape: elements by dimension; size: their number.
        strides: from one to the next, by dimension, in elements; None: as C has them.
        dtype: NumPy's type of the elements; None, if only their size is known.
        device_id: -1 for memory of the host.
        is_device_accessible: whether kernels reach the memory: the daemon's for that of a Buffer,
            those of this process for that of others.
        readonly: whether it must not be written to.
        exporting_obj: whose memory it is; lives as long as the view.
    """

    def __init__(self, obj=None, stream_ptr=None):
        """``from_any_interface``, as cuda.core had it before 0.5."""
        warnings.warn(
            f"Constructing {_deprecated(obj)} is deprecated; use from_any_interface, from_buffer "
            "and their kin",
            DeprecationWarning,
            stacklevel=2,
        )
        if obj is None:
            raise TypeError(
                "a StridedMemoryView needs an object: see from_any_interface, from_buffer and their kin"
            )
        self.__dict__.update(self.from_any_interface(obj, stream_ptr).__dict__)

    @classmethod
    def _make(cls, obj, ptr, shape, strides, dtype, itemsize, device, readonly, keep=None):
        self = object.__new__(cls)
        self._obj = obj
        self._ptr = ptr
        self._shape = shape
        self._strides = _normal(shape, strides)
        self._dtype = dtype
        self._itemsize = itemsize
        self._dlpack_type, self._device_id = device
        self._readonly = readonly
        self._keep = keep
        self._capsule = None
        return self

    @classmethod
    def from_buffer(cls, buffer, shape, strides=None, *, itemsize=None, dtype=None,
                    is_readonly=False):  # fmt: skip
        """The memory of a Buffer.

        Args:
            shape: an int or a tuple of ints.
            strides: in elements, not negative; None: as C has them.
            itemsize, dtype: bytes or type of an element. Default: a byte.
            is_readonly: the view must not be written through.

        Raises:
            ValueError: the last element lies behind the end of the Buffer.
        """
        if not isinstance(buffer, Buffer):
            raise TypeError(f"a Buffer expected, got {type(buffer).__name__}")
        if itemsize is None and dtype is None:
            dtype = "u1"
        dtype, itemsize = _element(itemsize, dtype)
        shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
        shape = tuple(_native.whole_number("shape", extent, _MAX) for extent in shape)
        strides = None if strides is None else tuple(strides)
        _check_fits(shape, strides, itemsize, buffer.size)
        device, ptr = (CUDA, buffer.device_id), buffer.handle
        if buffer.is_host_accessible:
            kind = CUDA_HOST if buffer.is_device_accessible else CPU
            device, ptr = (kind, -1), _native.address_of(buffer.memory)
        return cls._make(
            buffer, ptr, shape, strides, dtype, itemsize, device, bool(is_readonly)
        )

    @classmethod
    def from_dlpack(cls, obj, stream_ptr=None):
        """The memory of an array with ``__dlpack__``. ``stream_ptr``: for an array of a CUDA
        device, the stream of this process that uses it; -1: that needs no order."""
        kind, _ = obj.__dlpack_device__()
        if kind != CPU and kind not in _ON_DEVICE:
            raise BufferError(f"device not supported: DLPack's type {kind}")
        if stream_ptr is None:
            raise BufferError(_AMBIGUOUS)
        if kind in (CPU, CUDA_HOST):
            capsule = _ask_dlpack(obj)
        else:  # DLPack's None is CUDA's legacy default stream, for which it refuses 0
            capsule = _ask_dlpack(obj, stream=int(stream_ptr) or None)
        return cls._of_capsule(capsule, obj)

    @classmethod
    def _of_capsule(cls, capsule, obj=None):
        keep, ptr, code, bits, lanes, shape, strides, kind, device_id, readonly = (
            _native.take_dlpack(capsule)
        )
        dtype, itemsize = _dtype_of_dlpack(code, bits, lanes)
        device = (kind, -1 if kind in (CPU, CUDA_HOST) else device_id)
        return cls._make(obj, ptr, shape, strides, dtype, itemsize, device, readonly, keep)

    @classmethod
    def from_cuda_array_interface(cls, obj, stream_ptr=None):
        """The memory of an array with ``__cuda_array_interface__``, version 3. Later work of the
        CUstream ``stream_ptr`` waits for the stream that the array names; -1: nothing waits."""
        interface = obj.__cuda_array_interface__
        # PyTorch says version 2, which names no stream: its tensors are ready on their device's.
        is_torch = type(obj).__module__.partition(".")[0] == "torch"
        if interface["version"] < 3 and not is_torch:
            raise BufferError("only version 3 of __cuda_array_interface__, or later, is supported")
        if stream_ptr is None:
            raise BufferError(_AMBIGUOUS)
        producer = interface.get("stream")
        if producer not in (None, stream_ptr) and stream_ptr not in (None, -1):
            _foreign.order(int(producer), int(stream_ptr))
        return cls._of_interface(obj, interface, (CUDA, 0))

    @classmethod
    def from_array_interface(cls, obj):
        """The memory of an array with NumPy's ``__array_interface__``. Its ``device_id`` is that of
        the current device, if there is one, as cuda.core has it."""
        current = current_device()
        device_id = -1 if current is None else current.device_id
        return cls._of_interface(obj, obj.__array_interface__, (CPU, device_id))

    @classmethod
    def _of_interface(cls, obj, interface, device):
        import numpy

        if interface.get("mask") is not None:
            raise BufferError("arrays with a mask are not supported")
        dtype = numpy.dtype(interface["typestr"])
        strides = interface.get("strides")
        if strides is not None:
            if any(stride % dtype.itemsize for stride in strides):
                raise ValueError(
                    f"strides must be divisible by itemsize: {strides} by {dtype.itemsize}"
                )
            strides = tuple(stride // dtype.itemsize for stride in strides)
        ptr, readonly = interface["data"]
        view = cls._make(
            obj, ptr, tuple(interface["shape"]), None, dtype, dtype.itemsize, device,
            bool(readonly),
        )  # fmt: skip
        view._strides = strides  # as the array says them, though they may be C's
        return view

    @classmethod
    def from_any_interface(cls, obj, stream_ptr=None):
        """The memory of a Buffer, as bytes, or of an array with any of the interfaces above."""
        if isinstance(obj, Buffer):
            import numpy

            return cls.from_buffer(obj, obj.size, dtype=numpy.uint8)
        if hasattr(obj, "__dlpack__"):
            try:
                return cls.from_dlpack(obj, stream_ptr)
            except BufferError:
                if not hasattr(obj, "__array_interface__"):  # which tells what is read-only
                    raise
        if hasattr(obj, "__cuda_array_interface__"):
            return cls.from_cuda_array_interface(obj, stream_ptr)
        if hasattr(obj, "__array_interface__"):
            return cls.from_array_interface(obj)
        raise BufferError(
            f"{type(obj).__name__} does not support any data exchange protocol: it has neither "
            "__dlpack__ nor __cuda_array_interface__ nor __array_interface__"
        )

    ptr = property(lambda self: self._ptr)
    device_id = property(lambda self: self._device_id)
    is_device_accessible = property(lambda self: self._dlpack_type in _ON_DEVICE)
    readonly = property(lambda self: self._readonly)
    exporting_obj = property(lambda self: self._obj)
    size = property(lambda self: math.prod(self._shape))
    shape = property(lambda self: self._shape)
    strides = property(lambda self: self._strides)

    @property
    def dtype(self):
        return _bfloat16() if self._dtype is _BFLOAT16 else self._dtype

    def view(self, layout=None, dtype=None):
        """The same memory with elements of another type of the same size; of another size where
        the strides are C's and the last dimension can be divided."""
        if layout is not None:
            raise not_served("a layout of cuda.core", "StridedMemoryView.from_buffer(strides=...)")
        if dtype is None or self._dtype is not _BFLOAT16 and dtype == self._dtype:
            return self
        shape = self._shape
        dtype, itemsize = _element(None, dtype)
        if itemsize != self._itemsize:
            last = shape[-1] * self._itemsize if shape else -1
            if self._strides is not None or last < 0 or last % itemsize:
                raise ValueError(
                    f"elements of {itemsize} bytes in place of {self._itemsize} need C's strides "
                    f"and a last dimension of whole elements: {self!r}"
                )
            shape = (*shape[:-1], last // itemsize)
        device = (self._dlpack_type, self._device_id)
        return self._make(
            self._obj, self._ptr, shape, self._strides, dtype, itemsize, device, self._readonly,
            self._keep,
        )  # fmt: skip

    def copy_from(self, other, stream, allocator=None, blocking=None):
        raise NotImplementedError("copy_from is not there: copy Buffers, or arrays by their library")

    def copy_to(self, other, stream, allocator=None, blocking=None):
        raise NotImplementedError("copy_to is not there: copy Buffers, or arrays by their library")

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """The memory for another library of this process. A Buffer's of a device is mapped here,
        which needs a resource with ``ipc_enabled`` and a daemon on this machine."""
        code, bits = _dlpack_of_dtype(self._dtype, self._itemsize)
        keep, ptr, device = self._here()
        return make_capsule(
            keep, ptr, device, self._shape, max_version=max_version, dl_device=dl_device, copy=copy,
            code=code, bits=bits, strides=self._strides, read_only=self._readonly,
        )  # fmt: skip

    def __dlpack_device__(self):
        return self._here()[2]

    def _exported(self):
        """A capsule of version 1, as ``__dlpack__`` makes it, for ``__dlpack_c_exchange_api__``."""
        return self.__dlpack__(max_version=(1, 0))

    def _borrowed(self):
        """The same for callers that keep the view themselves, as it is kept by none."""
        if self._capsule is None:
            code, bits = _dlpack_of_dtype(self._dtype, self._itemsize)
            keep, ptr, device = self._here()
            self._capsule = make_capsule(
                None if keep is self else keep, ptr, device, self._shape, max_version=(1, 0),
                dl_device=None, copy=None, code=code, bits=bits, strides=self._strides,
                read_only=self._readonly,
            )  # fmt: skip
        return self._capsule

    def _here(self):
        """(what keeps the memory, its address in this process, DLPack's device)."""
        if isinstance(self._obj, Buffer) and self._dlpack_type == CUDA:
            kind, device_id = self._obj.__dlpack_device__()
            local = self._obj._local_view()
            return local._mapping, local.ptr, (kind, device_id)
        number = 0 if self._dlpack_type in (CPU, CUDA_HOST) else self._device_id
        return self, self._ptr, (self._dlpack_type, number)

    def __repr__(self):
        return (
            f"StridedMemoryView(ptr={int(self._ptr):#x}, shape={self._shape}, "
            f"strides={self._strides}, itemsize={self._itemsize}, "
            f"dtype={'NoneType' if self._dtype is None else self._dtype}, "
            f"device_id={self._device_id}, is_device_accessible={self.is_device_accessible}, "
            f"readonly={self._readonly})"
        )


# DLPack's table of functions for callers in C, by both names that libraries ask for.
StridedMemoryView.__dlpack_c_exchange_api__ = _native.dlpack_exchange_api(StridedMemoryView)
StridedMemoryView.__c_dlpack_exchange_api__ = StridedMemoryView.__dlpack_c_exchange_api__


def _deprecated(obj):
    if obj is None:
        return "an empty StridedMemoryView"
    kind = "DLPack" if hasattr(obj, "__dlpack__") else "CUDA-array-interface"
    return f"a StridedMemoryView directly from a {kind}-supporting object"


def _normal(shape, strides):
    """None for the strides of C; dimensions of one element do not count."""
    if not strides:
        return strides
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != expected:
            return tuple(strides)
        expected *= extent
    return None


def _element(itemsize, dtype):
    """(NumPy's type or None, bytes) of an element."""
    import numpy

    if dtype is None:
        itemsize = 1 if itemsize is None else itemsize
        if not isinstance(itemsize, int) or itemsize < 1:
            raise ValueError(f"itemsize must be an int of 1 or more, got {itemsize!r}")
        return None, itemsize
    dtype = numpy.dtype(dtype)
    if itemsize not in (None, dtype.itemsize):
        raise ValueError(f"itemsize {itemsize}, but {dtype} has {dtype.itemsize} bytes")
    return dtype, dtype.itemsize


def _check_fits(shape, strides, itemsize, size):
    if strides is None:
        end = math.prod(shape)
    else:
        if len(strides) != len(shape) or any(stride < 0 for stride in strides):
            raise ValueError(f"{len(shape)} strides of 0 or more expected, got {strides}")
        last = sum((extent - 1) * stride for extent, stride in zip(shape, strides))
        end = 0 if 0 in shape else last + 1
    if end * itemsize > size:
        raise ValueError(
            f"shape {shape}, strides {strides} of {itemsize} bytes reach to {end * itemsize} "
            f"of {size} bytes"
        )


def _ask_dlpack(obj, **stream):
    """A capsule of version 1, which tells what is read-only, where the array has it."""
    try:
        return obj.__dlpack__(max_version=(1, 0), **stream)
    except TypeError:  # it does not know max_version
        return obj.__dlpack__(**stream)


def _bfloat16():
    try:
        import numpy
        from ml_dtypes import bfloat16
    except ImportError:
        raise NotImplementedError("bfloat16 dtype requires `ml_dtypes` to be installed") from None
    return numpy.dtype(bfloat16)


def _dtype_of_dlpack(code, bits, lanes):
    """(NumPy's type, bytes) of an element."""
    import numpy

    if lanes != 1:
        raise BufferError(f"elements of {lanes} lanes are not supported")
    if code == _BFLOAT and bits == 16:
        return _BFLOAT16, 2
    if code not in _KINDS or bits % 8:
        raise BufferError(f"DLPack's type {code} of {bits} bits is not supported")
    return numpy.dtype(f"{_KINDS[code]}{bits // 8}"), bits // 8


def _fault_of(dtype):
    if dtype.names is not None:
        return "Structured dtypes have no number"
    return "it has none" if dtype.isnative else "Non-native-endian"


def _dlpack_of_dtype(dtype, itemsize):
    if dtype is None:
        raise BufferError(
            f"DLPack export needs a dtype, and only the size of an element is known, {itemsize} "
            "bytes: view(dtype=...)"
        )
    if str(dtype) == "bfloat16":
        return _BFLOAT, 16
    if dtype.kind not in _CODES or not dtype.isnative:
        raise BufferError(f"Unsupported dtype for DLPack export, {_fault_of(dtype)}: {dtype}")
    return _CODES[dtype.kind], 8 * dtype.itemsize


class _Viewable:
    """An argument of a function, which becomes a view when its stream is known."""

    __slots__ = ("_obj",)

    def __init__(self, obj):
        self._obj = obj

    def view(self, stream_ptr=None):
        return StridedMemoryView.from_any_interface(self._obj, stream_ptr)


def args_viewable_as_strided_memory(arg_indices):
    """Decorates a function, which takes the arguments of these positions, arrays of any library,
    by ``argument.view(stream_ptr)``, a StridedMemoryView::

        @args_viewable_as_strided_memory((0,))
        def total(array):
            return array.view(-1).size
    """

    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            args = list(args)
            for index in arg_indices:
                args[index] = _Viewable(args[index])
            return function(*args, **kwargs)

        return wrapped

    return decorate
