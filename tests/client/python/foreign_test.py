# SPDX-License-Identifier: Apache-2.0
"""Memory and streams of this process's own CUDA, for which the software driver stands here."""

import ctypes

import numpy as np
import pytest

from holdfast.core import Device, LaunchConfig, Program, Stream, launch

N = 1000
SOURCE = """
extern "C" __global__ void add_one(float* x, unsigned long long n) {
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1.0f;
}
"""
CONFIG = LaunchConfig(grid=(N + 255) // 256, block=256)


class Cuda:
    """This process's own CUDA: what CuPy or PyTorch has loaded."""

    CHUNK = 2 << 20

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self("cuInit", 0)
        context = ctypes.c_void_p()
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self("cuCtxSetCurrent", context)

    def __call__(self, name, *arguments):
        assert getattr(self.lib, name)(*arguments) == 0, name

    def allocate(self):
        """Memory as PyTorch's expandable segments make it, with a descriptor."""

        class Location(ctypes.Structure):
            _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]

        class Properties(ctypes.Structure):
            _fields_ = [
                ("type", ctypes.c_int),
                ("handle_types", ctypes.c_int),
                ("location", Location),
                ("win32", ctypes.c_void_p),
                ("flags", ctypes.c_ubyte * 8),
            ]

        class Access(ctypes.Structure):
            _fields_ = [("location", Location), ("flags", ctypes.c_int)]

        properties = Properties(type=1, handle_types=1, location=Location(1, 0))
        handle, base = ctypes.c_uint64(), ctypes.c_uint64()
        size = ctypes.c_size_t(self.CHUNK)
        self("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(properties), ctypes.c_uint64(0))
        self("cuMemAddressReserve", ctypes.byref(base), size, ctypes.c_size_t(0), ctypes.c_uint64(0),
             ctypes.c_uint64(0))  # fmt: skip
        self("cuMemMap", base, size, ctypes.c_size_t(0), handle, ctypes.c_uint64(0))
        access = Access(Location(1, 0), 3)
        self("cuMemSetAccess", base, size, ctypes.byref(access), ctypes.c_size_t(1))
        return base.value

    def fill(self, pointer, value, stream=0):
        word = int(np.float32(value).view(np.uint32))
        self("cuMemsetD32Async", ctypes.c_uint64(pointer), ctypes.c_uint(word), ctypes.c_size_t(N),
             ctypes.c_void_p(stream))  # fmt: skip

    def read(self, pointer, stream=0):
        values = np.empty(N, np.float32)
        self("cuMemcpyDtoHAsync_v2", values.ctypes.data_as(ctypes.c_void_p),
             ctypes.c_uint64(pointer), ctypes.c_size_t(values.nbytes),
             ctypes.c_void_p(stream))  # fmt: skip
        self("cuStreamSynchronize", ctypes.c_void_p(stream))
        return values

    def stream(self):
        made = ctypes.c_void_p()
        self("cuStreamCreate", ctypes.byref(made), 1)
        return made.value


class Array:
    """An array of another library."""

    def __init__(self, pointer, count=N):
        self.__cuda_array_interface__ = {
            "shape": (count,), "typestr": "<f4", "data": (pointer, False), "version": 3,
            "strides": None, "stream": None,
        }  # fmt: skip


class Tensor:
    """The same without the interface, as a tensor that requires a gradient has it."""

    def __init__(self, pointer):
        self._pointer = pointer

    def data_ptr(self):
        return self._pointer


@pytest.fixture
def anywhere(device):
    return Cuda(device._info()["driver_path"] if device.is_software else "libcuda.so.1")


@pytest.fixture
def cuda(address, anywhere):
    if address.startswith("tcp:"):
        pytest.skip("the daemon uses memory of its own machine's processes, by its Unix socket")
    return anywhere


@pytest.fixture
def kernel(device):
    return Program(SOURCE, "c++").compile("cubin").get_kernel("add_one")


def test_memory_of_this_process_is_an_argument(device, cuda, kernel):
    stream = device.create_stream()
    pointer = cuda.allocate()
    cuda.fill(pointer, 1)
    cuda("cuStreamSynchronize", None)
    for array in (
        Array(pointer),
        Tensor(pointer),
        pointer,
        np.uint64(pointer),
        ctypes.c_void_p(pointer),
    ):
        launch(stream, CONFIG, kernel, array, np.uint64(N))
    launch(stream, CONFIG, kernel, Array(pointer + 2000, N // 2), np.uint64(N // 2))
    stream.sync()
    expected = np.full(N, 6, np.float32)
    expected[N // 2 :] += 1
    assert np.array_equal(cuda.read(pointer), expected)


def test_an_allocation_is_imported_once(device, cuda, kernel):
    stream = device.create_stream()
    pointer = cuda.allocate()
    before = len(device._session._foreign_memory[0]._imports) if hasattr(
        device._session, "_foreign_memory"
    ) else 0  # fmt: skip
    for offset in (0, 4096, 8192):
        launch(stream, CONFIG, kernel, pointer + offset, np.uint64(N))
    stream.sync()
    assert len(device._session._foreign_memory[0]._imports) == before + 1


def test_an_array_that_is_not_of_a_device_is_refused(device, cuda, kernel):
    stream = device.create_stream()
    with pytest.raises(TypeError, match="not memory of this process's CUDA"):
        launch(stream, CONFIG, kernel, Array(np.zeros(N).ctypes.data), np.uint64(N))
    stream.sync()


def test_numbers_that_are_no_pointers_stay_numbers(device, cuda):
    source = 'extern "C" __global__ void put(unsigned long long* x, unsigned long long v) { *x = v; }'
    put = Program(source, "c++").compile("cubin").get_kernel("put")
    stream = device.create_stream()
    x = device.allocate(8, stream=stream)
    for value in (1 << 40, np.uint64(3 << 40)):
        launch(stream, LaunchConfig(grid=1, block=1), put, x, value)
        assert x.copy_to(np.empty(1, np.uint64), stream=stream)[0] == value


def test_a_stream_acts_as_one_with_its_custream(device, cuda, kernel):
    stream = device.create_stream()
    handle = int(stream.handle)
    assert stream.__cuda_stream__() == (0, handle)
    pointer = cuda.allocate()
    for value in range(20):
        cuda.fill(pointer, value, handle)
        launch(stream, CONFIG, kernel, pointer, np.uint64(N))
        assert np.all(cuda.read(pointer, handle) == value + 1)


def test_a_custream_of_this_process_is_a_stream(device, cuda, kernel):
    handle = cuda.stream()
    pointer = cuda.allocate()
    stream = Stream.from_handle(handle)
    for value in range(20):
        cuda.fill(pointer, value, handle)
        launch(stream, CONFIG, kernel, pointer, np.uint64(N))
        assert np.all(cuda.read(pointer, handle) == value + 1)

    class Wrapped:
        def __cuda_stream__(self):
            return 0, handle

    assert device.create_stream(Wrapped()) == stream
    with pytest.warns(DeprecationWarning, match="foreign stream objects"):
        launch(Wrapped(), CONFIG, kernel, pointer, np.uint64(N))
    assert np.all(cuda.read(pointer, handle) == 21)


def test_a_daemon_on_another_machine_refuses_by_a_sentence(address, device, anywhere, kernel):
    if not address.startswith("tcp:"):
        pytest.skip("the daemon is on this machine")
    pointer, stream = anywhere.allocate(), device.create_stream()
    for array in (pointer, Array(pointer)):
        with pytest.raises(ValueError, match="cannot use in place.*on the same machine"):
            launch(stream, CONFIG, kernel, array, np.uint64(N))
    assert stream.handle == stream._handle  # a name in the session
    with pytest.raises(NotImplementedError, match="CUDA"):
        stream.__cuda_stream__()
    stream.sync()
