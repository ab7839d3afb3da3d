# SPDX-License-Identifier: Apache-2.0
"""StridedMemoryView over Buffers, and over arrays of other libraries."""

import ctypes
import gc
import sys
import weakref

import holdfast
import numpy as np
import pytest
from holdfast import _native
from holdfast.core import LaunchConfig, PinnedMemoryResource, Program, launch
from holdfast.core.utils import StridedMemoryView, args_viewable_as_strided_memory


def test_a_buffer_has_the_shape_that_it_is_given(device, stream):
    buffer = device.allocate(96, stream=stream)
    view = StridedMemoryView.from_buffer(buffer, (4, 6), dtype=np.float32)
    assert (view.shape, view.size, view.strides) == ((4, 6), 24, None)
    assert view.dtype == np.float32 and view.exporting_obj is buffer
    assert view.device_id == device.device_id and view.is_device_accessible
    assert not view.readonly and view.ptr == buffer.handle
    assert "shape=(4, 6), strides=None, itemsize=4, dtype=float32" in repr(view)
    transposed = StridedMemoryView.from_buffer(buffer, (6, 4), (1, 6), itemsize=4, is_readonly=True)
    assert transposed.strides == (1, 6) and transposed.dtype is None and transposed.readonly
    assert StridedMemoryView.from_buffer(buffer, (4, 6), (6, 1), dtype="f4").strides is None
    assert StridedMemoryView.from_buffer(buffer, (1, 6), (99, 1), dtype="f4").strides is None
    halves = view.view(dtype=np.float16)
    assert halves.shape == (4, 12) and halves.dtype == np.float16
    everything = StridedMemoryView.from_any_interface(buffer)
    assert everything.shape == (96,) and everything.dtype == np.uint8
    assert StridedMemoryView.from_buffer(buffer, 24, itemsize=4).view(dtype="f4").dtype == "f4"


def test_a_shape_beyond_the_buffer_is_refused(device, stream):
    buffer = device.allocate(96, stream=stream)
    make = StridedMemoryView.from_buffer
    for shape, strides, message in (
        ((5, 6), None, "reach to 120 of 96"),
        ((4, 6), (7, 1), "reach to 108 of 96"),
        ((4, 6), (-6, 1), "strides of 0 or more"),
        ((4, 6), (1,), "2 strides"),
        ((-1,), None, "shape must be >= 0"),
    ):
        with pytest.raises(ValueError, match=message):
            make(buffer, shape, strides, dtype=np.float32)
    assert make(buffer, (0, 1 << 40), (1 << 40, 1), dtype=np.float32).size == 0
    with pytest.raises(ValueError, match="itemsize 2"):
        make(buffer, 1, itemsize=2, dtype=np.float32)
    with pytest.raises(ValueError, match="itemsize"):
        make(buffer, 1, itemsize=0)
    with pytest.raises(TypeError, match="Buffer"):
        make(bytearray(4), 1)
    with pytest.raises(ValueError, match="last dimension"):
        make(buffer, (8, 3), dtype=np.float32).view(dtype=np.float64)
    with pytest.raises(TypeError, match="needs an object"):
        StridedMemoryView()


def test_functions_take_buffers_and_arrays_alike(device, stream):
    scale = (
        Program(
            'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }', "c++"
        )
        .compile("cubin")
        .get_kernel("twice")
    )

    @args_viewable_as_strided_memory((0,))
    def twice(array, on):
        view = array.view(-1)
        assert isinstance(view, StridedMemoryView)
        if not view.is_device_accessible:
            return view.size
        count = view.size // 4
        launch(on, LaunchConfig(grid=1, block=count), scale, view.ptr)
        return count

    values = np.arange(8, dtype=np.float32)
    buffer = device.allocate(values.nbytes, stream=stream)
    buffer.copy_from(values, stream=stream)
    assert twice(buffer, stream) == 8 == twice(values, on=stream)
    assert np.array_equal(buffer.copy_to(np.empty_like(values), stream=stream), 2 * values)
    assert twice.__name__ == "twice"


@pytest.mark.parametrize(
    "make", [StridedMemoryView.from_dlpack, StridedMemoryView.from_array_interface]
)
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "f2", "f8", "c8"])
def test_arrays_of_numpy_go_in_and_out(make, dtype):
    array = np.arange(24).astype(dtype).reshape(4, 6)[1:, ::2]
    view = make(array, -1) if make == StridedMemoryView.from_dlpack else make(array)
    assert view.ptr == array.ctypes.data and view.exporting_obj is array
    assert (view.shape, view.strides, view.dtype) == ((3, 3), (6, 2), array.dtype)
    assert view.device_id == -1 and not view.is_device_accessible
    again = np.from_dlpack(view)
    assert np.shares_memory(again, array) and np.array_equal(again, array)


def test_what_is_read_only_stays_so():
    array = np.arange(4)
    array.flags.writeable = False
    view = StridedMemoryView.from_any_interface(array)
    assert view.readonly and view.ptr == array.ctypes.data
    with pytest.raises(BufferError, match="read-only"):
        view.__dlpack__()


def test_views_keep_the_memory():
    array = np.arange(4)
    watched = weakref.ref(array)
    view = StridedMemoryView.from_dlpack(array, -1)
    taken = np.from_dlpack(view)
    del array, view
    gc.collect()
    assert taken.tolist() == [0, 1, 2, 3]
    assert watched() is not None
    del taken
    gc.collect()
    assert watched() is None


def test_pinned_memory_has_a_shape_too(stream):
    buffer = PinnedMemoryResource().allocate(48, stream=stream)
    view = StridedMemoryView.from_buffer(buffer, (3, 4), dtype=np.int32)
    array = np.from_dlpack(view)
    buffer.fill(7, stream=stream)
    stream.sync()
    assert array.shape == (3, 4) and array.dtype == np.int32
    assert (array == 0x07070707).all()
    assert view.device_id == -1 and view.is_device_accessible == buffer.is_device_accessible


def test_memory_of_the_daemon_is_not_given_away(device, stream):
    view = StridedMemoryView.from_buffer(device.allocate(16, stream=stream), 4, dtype="f4")
    with pytest.raises(BufferError, match="in the daemon"):
        np.from_dlpack(view)


def test_arrays_whose_place_or_order_is_not_told_are_refused():
    with pytest.raises(BufferError, match="stream=None is ambiguous"):
        StridedMemoryView.from_dlpack(np.arange(4))

    class OfVulkan:
        def __dlpack_device__(self):
            return (7, 0)

    with pytest.raises(BufferError, match="device not supported"):
        StridedMemoryView.from_dlpack(OfVulkan(), -1)


class _Bfloat16:
    """An array whose capsule has elements of bfloat16."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **kwargs):
        return _native.make_dlpack(
            self.array, self.array.ctypes.data, 1, 0, 4, 16, self.array.shape, None, True, False
        )


def test_bfloat16_needs_ml_dtypes_for_its_type_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    array = np.arange(6, dtype=np.uint16).reshape(2, 3)
    view = StridedMemoryView.from_dlpack(_Bfloat16(array), -1)
    assert (view.shape, view.size, view.ptr) == ((2, 3), 6, array.ctypes.data)
    assert "itemsize=2, dtype=bfloat16" in repr(view)
    with pytest.raises(NotImplementedError, match="requires `ml_dtypes`"):
        view.dtype
    assert view.view(dtype=np.uint16).dtype == np.uint16
    bits = StridedMemoryView.from_dlpack(view, -1).view(dtype=np.uint16)
    assert np.array_equal(np.from_dlpack(bits), array)


class _Tensor(ctypes.Structure):
    """DLTensor, of DLPack's header."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
        ("dimensions", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Managed(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.PYFUNCTYPE(None, ctypes.c_void_p)), ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]  # fmt: skip


_Function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_Told = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


class _Exchange(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p),
        ("allocate", ctypes.PYFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, _Told)),
        ("managed_of", _Function), ("of_managed", _Function), ("tensor_of", _Function),
        ("current_stream", ctypes.PYFUNCTYPE(
            ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.c_void_p)),
    ]  # fmt: skip


@pytest.fixture
def exchange():
    capsule = StridedMemoryView.__dlpack_c_exchange_api__
    assert StridedMemoryView.__c_dlpack_exchange_api__ is capsule
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.argtypes, get.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    return _Exchange.from_address(get(capsule, b"dlpack_exchange_api"))


def test_callers_in_c_read_a_view_in_place(exchange):
    assert (exchange.major, exchange.minor, exchange.previous) == (1, 3, None)
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    view = StridedMemoryView.from_any_interface(array, -1)
    tensor = _Tensor()
    for _ in range(2):
        assert exchange.tensor_of(id(view), ctypes.addressof(tensor)) == 0
        assert tensor.data == array.ctypes.data and (tensor.device_type, tensor.device) == (1, 0)
        assert (tensor.code, tensor.bits, tensor.lanes) == (0, 32, 1)
        assert tensor.shape[: tensor.dimensions] == [3, 4]
        assert tensor.strides[: tensor.dimensions] == [4, 1]
    watched = weakref.ref(view)
    del view
    assert watched() is None
    with pytest.raises(TypeError, match="must be a StridedMemoryView"):
        exchange.tensor_of(id(array), ctypes.addressof(tensor))


def test_callers_in_c_take_a_view_and_give_it_back(exchange):
    array = np.arange(6, dtype=np.float64).reshape(2, 3)[:, ::2]
    array.flags.writeable = False
    watched = weakref.ref(array)
    managed = ctypes.c_void_p()
    view = StridedMemoryView.from_array_interface(array)
    assert exchange.managed_of(id(view), ctypes.addressof(managed)) == 0
    taken = _Managed.from_address(managed.value)
    assert taken.major == 1 and taken.flags == 1 and taken.tensor.data == array.ctypes.data
    assert taken.tensor.strides[:2] == [3, 2]
    del view, array
    assert watched() is not None
    made = ctypes.py_object()
    assert exchange.of_managed(managed, ctypes.addressof(made)) == 0
    again = made.value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(again))  # what the call has given
    assert isinstance(again, StridedMemoryView) and again.readonly
    assert (again.shape, again.strides, again.dtype) == ((2, 2), (3, 2), np.float64)
    del again, made
    gc.collect()
    assert watched() is None  # the deleter was called
    with pytest.raises(RuntimeError, match="tensor cannot be NULL"):
        exchange.of_managed(None, ctypes.addressof(managed))


def test_callers_in_c_learn_what_views_cannot_do(exchange):
    out = ctypes.c_void_p(1)
    assert exchange.current_stream(2, 0, ctypes.addressof(out)) == 0 and out.value is None
    out.value = 1
    with pytest.raises(NotImplementedError, match="not supported"):
        exchange.allocate(None, ctypes.addressof(out), None, _Told())
    assert out.value is None
    told = []
    note = _Told(lambda context, kind, message: told.append(kind))
    assert exchange.allocate(None, ctypes.addressof(out), None, note) == -1
    assert told == [b"NotImplementedError"]


class _OfInterface:
    def __init__(self, **changes):
        self.__cuda_array_interface__ = {
            "shape": (2, 3), "typestr": "<f4", "data": (0x1000, True), "strides": None,
            "version": 3, **changes,
        }  # fmt: skip


def test_the_interface_of_cuda_arrays_is_read():
    view = StridedMemoryView.from_any_interface(_OfInterface(strides=(4, 8)), -1)
    assert (view.ptr, view.shape, view.strides) == (0x1000, (2, 3), (1, 2))
    assert view.readonly and view.is_device_accessible and view.dtype == np.float32
    for changes, message in (
        ({"version": 2}, "version 3"),
        ({"mask": object()}, "mask"),
    ):
        with pytest.raises(BufferError, match=message):
            StridedMemoryView.from_cuda_array_interface(_OfInterface(**changes), -1)
    with pytest.raises(ValueError, match="strides must be divisible by itemsize"):
        StridedMemoryView.from_cuda_array_interface(_OfInterface(strides=(4, 7)), -1)
    with pytest.raises(BufferError, match="any data exchange protocol"):
        StridedMemoryView.from_any_interface(object())
    assert holdfast.core.utils.StridedMemoryView is StridedMemoryView
