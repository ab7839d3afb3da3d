# SPDX-License-Identifier: Apache-2.0
"""Moves the elements of Arrays: between Arrays, and between an Array and an array of NumPy.

What is contiguous on both sides is one copy. Everything else is copied, broadcast or converted by a
generated kernel, where need be through a contiguous Array that is freed in the stream's order.
"""

import contextlib
import math

import numpy

from holdfast import _native
from holdfast.core._stream import check_stream

_SIZE_OF_PATTERN = (1, 2, 4)


@contextlib.contextmanager
def order(device, stream):
    """The stream for an operation. Of None: all work of the session is done before, and the
    operation when the block is left."""
    if stream is not None:
        yield check_stream(stream)
        return
    device.sync()
    stream = check_stream(device.default_stream)
    yield stream
    stream.sync()


def assign_array(target, source, stream):
    """Copies an Array, which is broadcast, to the elements of ``target``."""
    shape = _fitted(source.shape, target)
    source = source if shape == source.shape else source._view(lambda model: model.reshape(shape))
    if target.size == 0 or is_same(target, source):
        return
    same = target.dtype == source.dtype
    if overlaps(target, source):
        source = packed(source, stream)
    if same and target.shape == source.shape and target.is_contiguous and source.is_contiguous:
        _native.place_copy(
            target._buffer._copied_memory(), target._offset, source._buffer._copied_memory(),
            source._offset, target.nbytes, stream,
        )  # fmt: skip
    else:
        _copy_strided(target, source, stream)


def _fitted(shape, target):
    """``shape`` without leading dimensions of one element that ``target`` does not have."""
    extra = max(0, len(shape) - target.ndim)
    fitted = shape[extra:] if set(shape[:extra]) <= {1} else shape
    if len(fitted) > target.ndim or any(
        extent not in (1, wanted) for extent, wanted in zip(fitted[::-1], target.shape[::-1])
    ):
        raise ValueError(f"shape {shape} does not fit into shape {target.shape}")
    return fitted


def is_same(one, two):
    """Whether these are the same elements in the same order."""
    return (
        one._buffer is two._buffer and one._offset == two._offset and one.dtype == two.dtype
        and one.shape == two.shape and one.strides == two.strides
    )  # fmt: skip


def overlaps(one, two):
    """Whether they may have bytes in common.

    Raises:
        ValueError: they belong to different sessions.
    """
    if one._buffer._session is not two._buffer._session:
        raise ValueError("the Arrays belong to different sessions: copy by asnumpy")
    (first, end), (other_first, other_end) = one._reach(), two._reach()
    return one._buffer == two._buffer and first < other_end and other_first < end


def assign_host(target, value, stream):
    """Copies a number or an array of NumPy, which is broadcast, to the elements of ``target``."""
    # A tuple may be an element of a structured type.
    is_native = target.dtype.names is None or isinstance(value, (numpy.ndarray, numpy.generic))
    host = numpy.asarray(value) if is_native else numpy.asarray(value, target.dtype)
    if host.dtype != target.dtype:
        host = host.astype(target.dtype)
    host = host.reshape(_fitted(host.shape, target))
    if target.size == 0:
        return
    is_filled = host.size == 1 and target.is_contiguous and not target._buffer._is_ordinary
    pattern = _pattern(host) if is_filled else None
    if pattern is not None:
        memory = target._buffer._copied_memory()
        _native.place_fill(memory, target._offset, target.nbytes, pattern, stream)
    elif target.is_contiguous:
        _upload(target, numpy.broadcast_to(host, target.shape), stream)
    else:
        made = _temporary(target, host.shape, host.dtype, stream)
        _upload(made, host, stream)
        _copy_strided(target, made, stream)


def _pattern(host):
    """1, 2 or 4 bytes that repeated make the element; None: there are none."""
    data = host.tobytes()
    for size in _SIZE_OF_PATTERN:
        if len(data) % size == 0 and data == data[:size] * (len(data) // size):
            return data[:size]
    return None


def _upload(target, host, stream):
    data = numpy.ascontiguousarray(host).reshape(-1).view("u1")
    if target._buffer._memory is not None:
        stream.sync()
        memoryview(target._buffer._memory)[target._offset : target._offset + data.size] = data
    elif data.size:
        target._buffer._upload(data, target._offset, stream)


def download(source, host, stream):
    """Copies a contiguous Array to an array of NumPy of its shape."""
    data = host.reshape(-1).view("u1")
    if source._buffer._memory is not None:
        stream.sync()
        memory = memoryview(source._buffer._memory)
        data[:] = memory[source._offset : source._offset + data.size]
    elif data.size:
        source._buffer._download(data, source._offset, stream)


def _temporary(like, shape, dtype, stream):
    """A contiguous Array on the device of ``like``."""
    memory = like.device.allocate(math.prod(shape) * dtype.itemsize, stream)
    return type(like)(memory, shape, dtype)


def packed(array, stream):
    """A contiguous copy, freed in the stream's order."""
    made = _temporary(array, array.shape, array.dtype, stream)
    assign_array(made, array, stream)
    return made


def _copy_strided(target, source, stream):
    """Copies, broadcasts and converts by a kernel."""
    from holdfast.array import _elementwise

    if target.dtype.kind == "c" and target.dtype != source.dtype:
        real, imaginary = _parts(target)
        if source.dtype.kind == "c":
            source, of_imaginary = _parts(source)
            _copy_strided(imaginary, of_imaginary, stream)
        else:
            _elementwise.run(stream, target.device, "0", {}, imaginary.dtype, imaginary)
        _copy_strided(real, source, stream)
        return
    if target.dtype == source.dtype:
        target, source = _elementwise.as_words(target), _elementwise.as_words(source)
    _elementwise.run(stream, target.device, "x", {"x": source}, source.dtype, target)


def _parts(array):
    """The real and the imaginary parts of complex numbers, as views."""
    half = array.itemsize // 2
    return tuple(
        type(array)(
            array._buffer, array.shape, f"f{half}", strides=array.strides,
            offset=array._offset + part,
        )
        for part in (0, half)
    )  # fmt: skip
