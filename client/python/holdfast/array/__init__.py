# SPDX-License-Identifier: Apache-2.0
"""Arrays in the memory of devices, for programs without CuPy or PyTorch::

    import numpy as np
    from holdfast import array as ha

    x = ha.asarray(np.arange(6.0).reshape(2, 3))
    x[:, 1] = 7                        # from a number, an array of the host, or another Array
    launch(stream, config, kernel, x)  # a kernel gets its first element's address
    ha.asnumpy(2 * x + 1)

An Array is a Buffer with a shape and a type. Its slices are views. Arithmetic is made of one
generated kernel, ``elementwise``; there are no reductions and no linear algebra.

Each function takes ``stream=``: then it is work of that stream, as with Buffers. Without, it waits
for all work of the session, and is done when it returns; so do the operators.
"""

import math

import numpy

from holdfast import _html, _native
from holdfast.array import _transfer
from holdfast.core import _foreign
from holdfast.core._bytes_alone import COPIES_TO_HOST
from holdfast.core._buffer import Buffer
from holdfast.core._device import Device
from holdfast.core._dlpack import make_capsule
from holdfast.core._memory import DeviceMemoryResource
from holdfast.core._stream import check_stream
from holdfast.core.utils._strided import StridedMemoryView, _dlpack_of_dtype

__all__ = [
    "Array", "arange", "asarray", "asnumpy", "elementwise", "empty", "empty_like", "full", "full_like",
    "ones", "ones_like", "zeros", "zeros_like",
]  # fmt: skip

_ELEMENTWISE = 'holdfast.array.elementwise("EXPRESSION of x", x=a) computes any'

# By NumPy's name of an operator: the method of its right operand.
_REFLECTED = {
    "add": "__radd__", "subtract": "__rsub__", "multiply": "__rmul__", "divide": "__rtruediv__",
    "true_divide": "__rtruediv__", "floor_divide": "__rfloordiv__", "remainder": "__rmod__",
    "divmod": "__rdivmod__", "power": "__rpow__", "matmul": "__rmatmul__", "bitwise_and": "__rand__",
    "bitwise_or": "__ror__", "bitwise_xor": "__rxor__", "left_shift": "__rlshift__",
    "right_shift": "__rrshift__", "equal": "__eq__", "not_equal": "__ne__", "less": "__gt__",
    "less_equal": "__ge__", "greater": "__lt__", "greater_equal": "__le__",
}  # fmt: skip

_BASIC = "an index is made of ints, slices, ... and None; holdfast.array.asnumpy(a)[index] takes others"


class Array:
    """Memory of a device with a shape and a type of elements.

    Args:
        buffer: its memory, a Buffer, which the Array keeps.
        shape: an int or a tuple of ints.
        dtype: anything that ``numpy.dtype`` takes.
        strides: bytes from one element to the next, by dimension; None: as C has them.
        offset: bytes to the first element.

    Raises:
        ValueError: an element lies outside of the Buffer.
    """

    __hash__ = None

    def __init__(self, buffer, shape, dtype=float, *, strides=None, offset=0):
        if not isinstance(buffer, Buffer):
            raise TypeError(f"a Buffer expected, got {type(buffer).__name__}: see asarray")
        self._buffer = buffer
        self._dtype = _to_dtype(dtype)
        self._shape = _to_shape(shape)
        self._strides = _c_strides(self._shape, self._dtype) if strides is None else tuple(strides)
        self._offset = offset
        self._check_fits()

    def _check_fits(self):
        if len(self._strides) != len(self._shape):
            raise ValueError(f"{len(self._shape)} strides expected, got {self._strides}")
        first, end = self._reach()
        if first < 0 or end > self._buffer.size:
            raise ValueError(
                f"shape {self._shape} of {self._dtype} from byte {self._offset} on, with strides "
                f"{self._strides}, reaches from byte {first} to {end} of {self._buffer.size}"
            )

    def _reach(self):
        """The first byte of the Buffer that an element has, and the one behind the last."""
        if self.size == 0:
            return self._offset, self._offset
        steps = [(extent - 1) * s for extent, s in zip(self._shape, self._strides)]
        first = self._offset + sum(step for step in steps if step < 0)
        last = self._offset + sum(step for step in steps if step > 0)
        return first, last + self._dtype.itemsize

    buffer = property(lambda self: self._buffer, doc="The Buffer that it lies in.")
    offset = property(lambda self: self._offset, doc="Bytes from the Buffer's first to its own.")
    shape = property(lambda self: self._shape)
    strides = property(lambda self: self._strides, doc="Bytes, by dimension.")
    dtype = property(lambda self: self._dtype)
    ndim = property(lambda self: len(self._shape))
    size = property(lambda self: math.prod(self._shape), doc="Elements.")
    itemsize = property(lambda self: self._dtype.itemsize)
    nbytes = property(lambda self: self.size * self._dtype.itemsize)

    @property
    def device(self):
        """The Device; of pinned memory, the first of the session."""
        session = self._buffer._session
        ordinal = self._buffer.device_id
        return session.device(session._ordinals[0] if ordinal < 0 else ordinal)

    @property
    def is_contiguous(self):
        """Whether the elements lie one after the other, as C has them."""
        return self._strides == _c_strides(self._shape, self._dtype, self._strides)

    @property
    def _kernel_argument_(self):
        return self._buffer, self._offset

    def _view(self, change):
        """The view whose geometry NumPy works out: ``change`` gets an array that is never read."""
        base = numpy.empty(1, self._dtype)
        model = change(numpy.lib.stride_tricks.as_strided(base, self._shape, self._strides))
        moved = model.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        offset = self._offset + (moved if model.size else 0)
        return Array(
            self._buffer, model.shape, self._dtype, strides=model.strides, offset=offset
        )

    def __getitem__(self, index):
        """A view."""
        index = index if isinstance(index, tuple) else (index,)
        for part in index:
            is_number = isinstance(part, (int, numpy.integer)) and not isinstance(part, bool)
            if not (part is None or part is Ellipsis or is_number or isinstance(part, slice)):
                raise TypeError(f"{_BASIC}; got {type(part).__name__}")
        ends = () if any(part is Ellipsis for part in index) else (Ellipsis,)
        return self._view(lambda model: model[index + ends])

    def __setitem__(self, index, value):
        _assign(self[index], value, None)

    def fill(self, value, *, stream=None):
        """Copies ``value``, a number or an array of the host or a device, over the elements."""
        _assign(self, value, stream)

    @property
    def T(self):
        """The transposed view."""
        return self.transpose()

    def transpose(self, *axes):
        """A view with the dimensions in another order; without any, in the opposite one."""
        return self._view(lambda model: model.transpose(*axes))

    def reshape(self, *shape):
        """A view with another shape; of an Array that is not contiguous, a copy."""
        shape = shape[0] if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
        whole = self if self.is_contiguous else self.copy()
        return whole._view(lambda model: model.reshape(shape))

    def ravel(self):
        """``reshape(-1)``."""
        return self.reshape(-1)

    def copy(self, *, stream=None):
        """A contiguous Array with the same elements."""
        made = empty(self._shape, self._dtype, device=self.device, stream=stream)
        _assign(made, self, stream)
        return made

    def astype(self, dtype, *, stream=None):
        """A copy whose elements are converted as C does it."""
        made = empty(self._shape, dtype, device=self.device, stream=stream)
        _assign(made, self, stream)
        return made

    def asnumpy(self, out=None, *, stream=None):
        """A copy in this process, a NumPy array, or ``out``. Waits."""
        return asnumpy(self, out, stream=stream)

    def item(self, *index):
        """The element at ``index``, an int or one a dimension, or the only one: a number of Python.
        Waits."""
        if len(index) > 1:
            return self[index].item()
        return asnumpy(self.ravel()[index] if index else self).item()

    def tolist(self):
        """The elements as numbers in lists. Waits."""
        return asnumpy(self).tolist()

    def __getattr__(self, name):
        """Raises the error for a name that an Array lacks. If NumPy's arrays have the name, the
        error says how to get one."""
        if hasattr(type(self), name):  # A property has failed: its own error says why.
            return object.__getattribute__(self, name)
        text = f"'Array' object has no attribute {name!r}"
        if hasattr(numpy.ndarray, name) and not name.startswith("__"):
            text += f", NumPy's arrays have it: holdfast.array.asnumpy(a).{name}"
        elif name in COPIES_TO_HOST:
            text += ": holdfast.array.asnumpy(a) copies the elements here"
        raise AttributeError(text, name=name, obj=self)

    def __array__(self, *args, **kwargs):
        if self._buffer.is_host_accessible:
            raise TypeError(
                "the elements are in pinned memory: numpy.from_dlpack(a) has them here without a "
                "copy, holdfast.array.asnumpy(a) copies them"
            )
        raise TypeError(
            "the elements are in the daemon: holdfast.array.asnumpy(a) copies them here, "
            "holdfast.array.asarray(x) copies an array there"
        )

    def __array_ufunc__(self, ufunc, method, *operands, **options):
        """NumPy leaves an operator with an Array on its right, ``numpy.float32(2) * a``, to the
        Array, and computes nothing of Arrays itself."""
        reflected = _REFLECTED.get(ufunc.__name__)
        is_operator = reflected and method == "__call__" and not options
        if is_operator and not isinstance(operands[0], Array):
            left = operands[0]
            is_number = isinstance(left, numpy.ndarray) and left.ndim == 0
            return getattr(operands[1], reflected)(left[()] if is_number else left)
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        raise TypeError(
            f"no numpy.{name} of Arrays: {_ELEMENTWISE}, numpy.{name} takes holdfast.array.asnumpy(a)"
        )

    def __len__(self):
        if not self._shape:
            raise TypeError("len() of an Array without dimensions")
        return self._shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __bool__(self):
        if self.size != 1:
            raise ValueError("the truth of more than one element: holdfast.array.asnumpy(a).any()")
        return bool(self.item())

    def __int__(self):
        return int(self.item())

    def __float__(self):
        return float(self.item())

    @property
    def __cuda_array_interface__(self):
        local = self._buffer.__cuda_array_interface__
        pointer, is_read_only = local["data"]
        return {
            "shape": self._shape,
            "typestr": self._dtype.str,
            "data": (pointer + self._offset, is_read_only),
            "strides": None if self.is_contiguous else self._strides,
            "stream": None,
            "version": 3,
        }

    def __dlpack_device__(self):
        return self._buffer.__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """For NumPy the elements of pinned memory; for libraries with CUDA those of a device, if the
        Buffer is of a resource with ``ipc_enabled``."""
        code, bits = _dlpack_of_dtype(self._dtype, self.itemsize)
        device = self._buffer.__dlpack_device__()
        if self._buffer._can_be_mapped:
            local = self._buffer._local_view()
            keep, pointer = local._mapping, local.ptr
        else:
            keep = self._buffer._host_memory()
            pointer = _native.address_of(keep)
        strides = tuple(stride // self.itemsize for stride in self._strides)
        return make_capsule(
            keep, pointer + self._offset, device, self._shape, max_version=max_version,
            dl_device=dl_device, copy=copy, code=code, bits=bits, strides=strides,
        )  # fmt: skip

    def __neg__(self):
        if self._dtype.kind == "b":
            raise TypeError("booleans have no negative: convert them by astype")
        return elementwise("-x", x=self)

    def __matmul__(self, other):
        raise TypeError("no linear algebra on Arrays: holdfast.array.asnumpy(a) @ asnumpy(b)")

    __rmatmul__ = __matmul__

    def __abs__(self):
        raise TypeError('no abs() of Arrays: holdfast.array.elementwise("abs(x)", x=a)')

    def __invert__(self):
        raise TypeError('no ~ of Arrays: holdfast.array.elementwise("~x", x=a)')

    def __pos__(self):
        return self.copy()

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __format__(self, spec):
        return format(self.item() if spec and not self._shape else str(self), spec)

    def __str__(self):
        return str(asnumpy(self))

    def __repr__(self):
        return f"<Array {self._shape} {self._dtype}, device {self._buffer.device_id}>"

    def _repr_html_(self):
        return _html.card("Array", (
            ("shape", " × ".join(map(str, self._shape)) or "a number"),
            ("type", self._dtype),
            ("memory", _html.bytes_of(self.nbytes) + ("" if self.is_contiguous else ", strided")),
            ("device", self.device),
        ))  # fmt: skip


def __dir__():
    return sorted(__all__)


def __getattr__(name):
    """Raises the error for a name that this module lacks. If NumPy has the name, the error says what
    to use instead."""
    text = f"module 'holdfast.array' has no attribute {name!r}"
    known = None if name.startswith("_") else getattr(numpy, name, None)
    if isinstance(known, numpy.ufunc):
        text += f", NumPy has it: {_ELEMENTWISE}"
    elif callable(known):
        text += f", NumPy has it: use numpy.{name} with holdfast.array.asnumpy(a) and asarray(x)"
    raise AttributeError(text)


def _operator(sign, dtype, is_swapped):
    expression = f"y {sign} x" if is_swapped else f"x {sign} y"

    def apply(self, other):
        if not _is_operand(other):
            return NotImplemented
        common = _result_type(sign, self, other)
        wanted, worked = dtype(common) if callable(dtype) else (dtype, common)
        return _evaluate(expression, {"x": self, "y": other}, wanted, worked, None, None)

    return apply


def _in_place(sign, dtype):
    def apply(self, other):
        if not _is_operand(other):
            return NotImplemented
        common = _result_type(sign, self, other)
        wanted, worked = dtype(common)
        if not numpy.can_cast(wanted, self.dtype, "same_kind"):
            raise TypeError(f"the result is {wanted}, which an Array of {self.dtype} does not have")
        return _evaluate(f"x {sign} y", {"x": self, "y": other}, wanted, worked, self, None)

    return apply


def _comparison(sign):
    compare = _operator(sign, numpy.dtype(bool), False)

    def apply(self, other):
        compared = compare(self, other)
        if compared is NotImplemented and sign in ("==", "!="):
            # Python would compare the objects, not the elements.
            raise TypeError(f"an Array or a number expected, got {type(other).__name__}")
        return compared

    return apply


def _refusal(sign, expression):
    text = f'no {sign} of Arrays: holdfast.array.elementwise("{expression}", x=a, y=b)'

    def apply(self, *operands):
        raise TypeError(text)

    return apply


def _result_type(sign, one, other):
    """The common type of two operands. TypeError: booleans have no difference, as in NumPy."""
    common = numpy.result_type(_typed(one), _typed(other))
    if sign == "-" and common.kind == "b":
        raise TypeError("booleans have no difference: convert them by astype")
    return common


def _is_operand(value):
    """Whether it is an Array or a number; TypeError: it is an array of the host."""
    if isinstance(value, numpy.ndarray) and value.ndim > 0:
        raise TypeError("an array of the host: holdfast.array.asarray(x) copies it to the device")
    return isinstance(value, (Array, bool, int, float, numpy.generic))


def _same(common):
    return common, common


def _quotient(common):
    """As NumPy divides: integers as doubles."""
    divided = common if common.kind in "fc" else numpy.dtype(float)
    return divided, divided


for _name, _sign, _type in (
    ("add", "+", _same), ("sub", "-", _same), ("mul", "*", _same), ("truediv", "/", _quotient),
):  # fmt: skip
    setattr(Array, f"__{_name}__", _operator(_sign, _type, False))
    setattr(Array, f"__r{_name}__", _operator(_sign, _type, True))
    setattr(Array, f"__i{_name}__", _in_place(_sign, _type))
for _name, _sign, _expression in (
    ("pow", "**", "pow(x, y)"), ("mod", "%", "x % y"), ("floordiv", "//", "floor(x / y)"),
    ("divmod", "divmod()", "floor(x / y)"), ("and", "&", "x & y"), ("or", "|", "x | y"),
    ("xor", "^", "x ^ y"), ("lshift", "<<", "x << y"), ("rshift", ">>", "x >> y"),
):  # fmt: skip
    setattr(Array, f"__{_name}__", _refusal(_sign, _expression))
    setattr(Array, f"__r{_name}__", _refusal(_sign, _expression))
for _name, _sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")):
    setattr(Array, f"__{_name}__", _comparison(_sign))


def empty(shape, dtype=float, *, device=None, stream=None, resource=None):
    """An Array with undefined elements.

    Args:
        device: default: the current one.
        stream: in whose order it is allocated and freed.
        resource: the memory resource; default: the device's. With ``ipc_enabled`` libraries of this
            process that have CUDA can use the Array in place; of pinned memory, NumPy can.
    """
    dtype, shape = _to_dtype(dtype), _to_shape(shape)
    size = math.prod(shape) * dtype.itemsize
    device = _device_of(device, resource, stream)
    if resource is not None:
        return Array(resource.allocate(size, stream=stream or device.default_stream), shape, dtype)
    if stream is not None or type(device.memory_resource) is not DeviceMemoryResource:
        return Array(device.allocate(size, stream), shape, dtype)
    # Freed when the work of all streams is done that may use it.
    return Array(Buffer._on_device(device, size, device.memory_resource, None), shape, dtype)


def full(shape, value, dtype=None, *, device=None, stream=None, resource=None):
    """An Array of one number, in the number's type by default."""
    dtype = numpy.asarray(value).dtype if dtype is None else dtype
    made = empty(shape, dtype, device=device, stream=stream, resource=resource)
    _assign(made, value, stream)
    return made


def zeros(shape, dtype=float, *, device=None, stream=None, resource=None):
    """An Array of zeros."""
    nothing = numpy.zeros((), dtype)
    return full(shape, nothing, dtype, device=device, stream=stream, resource=resource)


def ones(shape, dtype=float, *, device=None, stream=None, resource=None):
    """An Array of ones."""
    return full(shape, 1, dtype, device=device, stream=stream, resource=resource)


def empty_like(array, dtype=None, *, stream=None):
    """An Array with the shape, the type and the device of another, and undefined elements."""
    dtype = array.dtype if dtype is None else dtype
    return empty(array.shape, dtype, device=array.device, stream=stream)


def full_like(array, value, dtype=None, *, stream=None):
    """An Array of one number, with the shape, the type and the device of another."""
    made = empty_like(array, dtype, stream=stream)
    _assign(made, value, stream)
    return made


def zeros_like(array, dtype=None, *, stream=None):
    """An Array of zeros, with the shape, the type and the device of another."""
    dtype = array.dtype if dtype is None else dtype
    return full_like(array, numpy.zeros((), dtype), dtype, stream=stream)


def ones_like(array, dtype=None, *, stream=None):
    """An Array of ones, with the shape, the type and the device of another."""
    return full_like(array, 1, dtype, stream=stream)


def arange(*args, dtype=None, device=None, stream=None):
    """``numpy.arange`` of a device."""
    return asarray(numpy.arange(*args, dtype=dtype), device=device, stream=stream)


def asarray(obj, dtype=None, *, device=None, stream=None, resource=None):
    """An Array of what is given.

    Args:
        obj: an Array, a Buffer (as bytes, or as ``dtype`` has them), a StridedMemoryView of a
            Buffer, or an array of CuPy or PyTorch that the daemon can use in place: the same
            memory. Anything else that ``numpy.asarray`` takes: a copy.
        dtype: of the elements; an Array of another type is converted.
    """
    if isinstance(obj, Array):
        same = dtype is None or _to_dtype(dtype) == obj.dtype
        return obj if same else obj.astype(dtype, stream=stream)
    if isinstance(obj, Buffer):
        dtype = _to_dtype("u1" if dtype is None else dtype)
        return Array(obj, obj.size // dtype.itemsize, dtype)
    if isinstance(obj, StridedMemoryView) and isinstance(obj.exporting_obj, Buffer):
        return _of_view(obj)
    if hasattr(obj, "__cuda_array_interface__"):
        return _of_foreign(obj, _device_of(device, resource, stream))
    host = numpy.asarray(obj, dtype)
    made = empty(host.shape, host.dtype, device=device, stream=stream, resource=resource)
    _assign(made, host, stream)
    return made


def _of_view(view):
    dtype = numpy.dtype("u1" if view.dtype is None else view.dtype)
    strides = view.strides
    if strides is not None:
        strides = [stride * dtype.itemsize for stride in strides]
    return Array(view.exporting_obj, view.shape, dtype, strides=strides)


def _of_foreign(obj, device):
    interface = obj.__cuda_array_interface__
    found = _foreign.memory_of(device).find(interface["data"][0])
    if found is None:
        raise TypeError(f"{type(obj).__name__} is not memory of this process's CUDA device")
    buffer, offset = found
    return Array(
        buffer, interface["shape"], interface["typestr"], strides=interface.get("strides"),
        offset=offset,
    )  # fmt: skip


def asnumpy(array, out=None, *, stream=None):
    """A copy of an Array in this process, a NumPy array, or ``out``. Waits.

    Other objects are passed to ``numpy.asarray``; a Buffer gives its bytes.
    """
    if isinstance(array, Buffer):
        array = asarray(array)
    if not isinstance(array, Array):
        host = numpy.asarray(array)
        return host if out is None else _filled(out, host)
    if out is not None and not isinstance(out, numpy.ndarray):
        raise TypeError(f"out: an array of NumPy expected, got {type(out).__name__}")
    if out is not None and (out.dtype != array.dtype or not out.flags.c_contiguous):
        return _filled(out, asnumpy(array, stream=stream))
    host = numpy.empty(array.shape, array.dtype) if out is None else out
    if host.shape != array.shape:
        raise ValueError(f"out has shape {host.shape}, the Array {array.shape}")
    with _transfer.order(array.device, stream) as order:
        whole = array if array.is_contiguous else _transfer.packed(array, order)
        _transfer.download(whole, host, order)
    return host


def _filled(out, host):
    out[...] = host
    return out


def elementwise(expression, *, out=None, dtype=None, stream=None, **operands):
    """Evaluates an expression of CUDA C++ for each element, by one kernel that is generated::

        y = elementwise("a * x + y", a=2, x=x, y=y)
        elementwise("x < 0 ? 0 : x", x=x, out=x)

    Operands are Arrays, whose shapes are broadcast as NumPy does it, and numbers. They are converted
    to their common type, in which the expression is evaluated.

    Args:
        out: an Array that gets the result; default: a new one.
        dtype: of the new one; default: the common type.

    Raises:
        NVRTCError: the expression does not compile.
    """
    from holdfast.array import _elementwise

    for name, value in operands.items():
        _elementwise.check_name(name)
        if isinstance(value, numpy.ndarray):
            raise TypeError(
                f"{name}: an Array or a number expected, got an array of the host: "
                f"holdfast.array.asarray({name}) copies it to the device"
            )
        if not _is_operand(value):
            raise TypeError(f"{name}: an Array or a number expected, got {type(value).__name__}")
    if not any(isinstance(value, Array) for value in operands.values()):
        raise TypeError("elementwise needs an Array among its operands")
    if out is not None and not isinstance(out, Array):
        raise TypeError(f"out: an Array expected, got {type(out).__name__}")
    common = numpy.result_type(*map(_typed, operands.values()))
    wanted = common if dtype is None else _to_dtype(dtype)
    return _evaluate(expression, operands, wanted, common, out, stream)


def _typed(value):
    """The operand as ``numpy.result_type`` takes it."""
    return value.dtype if isinstance(value, Array) else value


def _evaluate(expression, operands, dtype, common, out, stream):
    from holdfast.array import _elementwise

    arrays = {name: value for name, value in operands.items() if isinstance(value, Array)}
    shape = numpy.broadcast_shapes(*(array.shape for array in arrays.values()))
    device = next(iter(arrays.values())).device
    if out is None:
        out = empty(shape, dtype, device=device, stream=stream)
    elif out.shape != shape:
        raise ValueError(f"out has shape {out.shape}, the result {shape}")
    with _transfer.order(device, stream) as order:
        for name, array in arrays.items():
            if _transfer.overlaps(out, array) and not _transfer.is_same(out, array):
                operands = {**operands, name: _transfer.packed(array, order)}
        _elementwise.run(order, device, expression, operands, common, out)
    return out


def _assign(target, value, stream):
    """Copies ``value``, which is broadcast, to the elements of ``target``."""
    if not isinstance(value, Array) and (
        isinstance(value, (Buffer, StridedMemoryView)) or hasattr(value, "__cuda_array_interface__")
    ):
        value = asarray(value, device=target.device)
    with _transfer.order(target.device, stream) as order:
        if isinstance(value, Array):
            _transfer.assign_array(target, value, order)
        else:
            _transfer.assign_host(target, value, order)


def _device_of(device, resource, stream):
    if device is not None:
        if not isinstance(device, Device):
            raise TypeError(f"device: a Device expected, got {type(device).__name__}")
        own = getattr(resource, "_device", None)
        if own is not None and own != device:
            raise ValueError(f"the resource is of {own!r}, not of {device!r}")
        return device
    if stream is not None:
        return check_stream(stream).device
    found = getattr(resource, "_device", None)
    return Device() if found is None else found


def _to_dtype(dtype):
    dtype = numpy.dtype(dtype)
    if dtype.hasobject:
        raise TypeError(f"{dtype}: the elements are objects of Python, which devices cannot have")
    if not dtype.isnative:
        raise TypeError(f"{dtype}: the elements have the other byte order")
    return dtype


def _to_shape(shape):
    if not hasattr(shape, "__index__") and not hasattr(shape, "__iter__"):
        raise TypeError(f"shape: an int or a tuple of ints expected, got {type(shape).__name__}")
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    limit = 2**63 - 1
    shape = tuple(_native.whole_number("shape", extent, limit) for extent in shape)
    if math.prod(extent for extent in shape if extent > 0) > limit:
        raise ValueError(f"shape {shape} is larger than an array may be, {limit} elements")
    return shape


def _c_strides(shape, dtype, like=None):
    """The strides of C. ``like``: those of a dimension of one element, and of an Array without
    elements, do not count."""
    if like is not None and 0 in shape:
        return like
    strides, step = [], dtype.itemsize
    for axis in range(len(shape) - 1, -1, -1):
        free = like is not None and shape[axis] == 1
        strides.append(like[axis] if free else step)
        step *= shape[axis]
    return tuple(reversed(strides))
