# SPDX-License-Identifier: Apache-2.0
"""Converts Python's values to those of C."""

import ctypes
import enum
from operator import index

NUMBERS = {
    "i1": ctypes.c_int8, "u1": ctypes.c_uint8, "i2": ctypes.c_int16, "u2": ctypes.c_uint16,
    "i4": ctypes.c_int32, "u4": ctypes.c_uint32, "i8": ctypes.c_int64, "u8": ctypes.c_uint64,
    "f4": ctypes.c_float, "f8": ctypes.c_double,
}  # fmt: skip


def _whole(value):
    """The integer of a value: of a float, as C converts it, the part before the point."""
    try:
        return index(value)
    except TypeError:
        if hasattr(value, "__int__"):
            return int(value)
        raise


def _integer(kind, take=_whole):
    """The function that takes the integer of a value, and checks that C's type can hold it."""
    bits = 8 * int(kind[1])
    least, most = (0, (1 << bits) - 1) if kind[0] == "u" else (-1 << bits - 1, (1 << bits - 1) - 1)

    def convert(value):
        value = take(value)
        if least <= value <= most:
            return value
        raise OverflowError(f"{value} does not fit into {bits} bits")

    return convert


# kind of a number -> function that checks a value.
checks = {kind: float if kind[0] == "f" else _integer(kind) for kind in NUMBERS}


def make_handle_check(kind):
    """The function that takes the number of a handle whose type is ``kind``, as `number` does."""
    return _integer(kind if kind in NUMBERS else "u8", number)


class _Buffer(ctypes.Structure):
    """Py_buffer. Its object is a plain pointer, since ctypes must not count references to it."""

    _fields_ = [
        ("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p),
    ]  # fmt: skip


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.c_void_p]
_release_buffer.restype = None
_ANY_CONTIGUOUS = 0x80 | 0x10 | 0x8
_C_TYPES = (
    ctypes.Structure, ctypes.Union, ctypes._SimpleCData, ctypes.Array, ctypes._Pointer,
    ctypes._CFuncPtr,
)


def number(value):
    """The number of a handle, an enumeration's member or an int; 0 for None."""
    if value is None:
        return 0
    try:
        return _whole(value)
    except TypeError:
        if isinstance(value, ctypes._CFuncPtr):
            return ctypes.cast(value, ctypes.c_void_p).value or 0
        raise


def pointer(value):
    """An address: of an int the number itself, of a buffer its first byte, which the caller keeps
    alive."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if hasattr(value, "getPtr"):
        return int(value) if hasattr(value, "__int__") else value.getPtr()
    view = _Buffer()
    try:
        _get_buffer(value, ctypes.byref(view), _ANY_CONTIGUOUS)
    except (TypeError, BufferError):
        if hasattr(value, "__index__"):
            return index(value)
        raise TypeError(
            f"Provided argument is of type {type(value)} but expected Type int or buffer protocol"
        ) from None
    address = view.buf
    _release_buffer(ctypes.byref(view))
    return address or 0


def text(value):
    """bytes for a ``const char*``."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, bytearray):
        return bytes(value)
    raise TypeError(f"expected bytes, {type(value).__name__} found")


def make_array(ctype, values):
    return (ctype * len(values))(*values)


def kernel_parameters(value):
    """The array of pointers to a kernel's arguments, as an address or as an object that keeps it.

    ``value`` is None, an address, a buffer of pointers, or a pair of tuples: values, and their
    types of ctypes. A number may be a member of an enumeration or a scalar of NumPy. The type None
    stands for a value that knows its bytes: a handle or a struct of these modules, an instance of
    ctypes, a member of an enumeration.
    """
    if not isinstance(value, (tuple, list)):
        return pointer(value)
    if len(value) != 2 or not all(isinstance(part, (tuple, list)) for part in value):
        raise TypeError(
            "Argument 'kernelParams' is not a valid type. "
            "Expected Tuple[Tuple[Any, ...], Tuple[Any, ...]] or void**"
        )
    values, types = value
    if len(values) != len(types):
        raise TypeError(f"kernelParams has {len(values)} values, but {len(types)} types")
    cells = [_argument(one, kind) for one, kind in zip(values, types)]
    places = [cell if isinstance(cell, int) else ctypes.addressof(cell) for cell in cells]
    array = make_array(ctypes.c_void_p, places)
    array.kept = cells, values
    return array


def _argument(value, kind):
    """An argument's address, or the instance of ctypes that holds it."""
    if kind is None:
        if hasattr(value, "getPtr"):
            return value.getPtr()
        if isinstance(value, enum.Enum):
            return ctypes.c_int(value.value)
        if isinstance(value, _C_TYPES):
            return value
        raise TypeError(f"kernelParams: {type(value)} needs a type")
    if not (isinstance(kind, type) and issubclass(kind, _C_TYPES)):
        raise TypeError(f"kernelParams: {kind!r} is not a type of ctypes")
    if isinstance(value, kind):
        return value
    value = _plain(value)
    try:
        made = kind(value)
    except (TypeError, ValueError):
        raise TypeError(f"kernelParams: {value!r} is no value of {kind.__name__}") from None
    _check_kept(value, made)
    return made


def _plain(value):
    """A value that the types of ctypes take."""
    if isinstance(value, enum.Enum):
        return value.value
    if hasattr(value, "_as_argument"):
        return value._as_argument()
    if hasattr(value, "getPtr"):  # a struct, or a handle of cuda.bindings.driver
        return int(value) if hasattr(value, "__int__") else value.getPtr()
    if isinstance(value, ctypes._SimpleCData):
        return value.value
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:  # NumPy's, with one number
        return value.item()
    return value


def _check_kept(value, made):
    """Raises OverflowError if ctypes has dropped bits of a number, as it does in silence."""
    if not isinstance(value, int) or not isinstance(made, ctypes._SimpleCData):
        return
    kept = made.value  # None: a null pointer
    if (kept is None or type(kept) is int) and (kept or 0) != value:
        raise OverflowError(f"kernelParams: {value} does not fit into {type(made).__name__}")


def check_count(values, count):
    """Raises RuntimeError if C would read more values than there are."""
    if count is not None and number(count) > len(values):
        raise RuntimeError(f"List is too small: {len(values)} < {number(count)}")


def option_values(values, count):
    """void*[] of the values of ``count`` options: a number is its own value; a buffer, a text or a
    list of these is given by its address."""
    if values is None:
        return None
    check_count(values, count)
    cells = [_option_value(value) for value in values]
    array = make_array(ctypes.c_void_p, [place for place, _ in cells])
    array.kept = cells, values
    return array


def _option_value(value):
    """(number, what keeps its memory)."""
    if isinstance(value, float):
        return ctypes.c_uint32.from_buffer(ctypes.c_float(value)).value, None
    if isinstance(value, (list, tuple)):
        if all(isinstance(one, (bytes, bytearray)) for one in value):
            array = make_array(ctypes.c_char_p, [bytes(one) for one in value])
        else:
            array = make_array(ctypes.c_void_p, [pointer(one) for one in value])
        return ctypes.addressof(array), array
    return pointer(value), value
