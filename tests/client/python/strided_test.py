# SPDX-License-Identifier: Apache-2.0
"""StridedMemoryView over Buffers, and over arrays of other libraries."""

import gc
import weakref

import holdfast
import numpy as np
import pytest
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
    view = make(array)
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
    view = StridedMemoryView.from_dlpack(array)
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
