# SPDX-License-Identifier: Apache-2.0
"""Arrays and streams of other libraries as a kernel's arguments and stream, on a GPU.

Usage: HOLDFAST_ADDRESS=unix:... python3 foreign_arguments.py

Each library that is installed is tried: CuPy, PyTorch, JAX, Numba. One line a check; exit status 1
if any was wrong, 2 if no library is there.
"""

import importlib.util
import sys

import numpy as np

from holdfast.core import Device, LaunchConfig, Program, Stream, launch

N = 1 << 20
SOURCE = r"""
extern "C" __global__ void add_one(float* x, unsigned long long n) {
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1.0f;
}
struct View { float* data; unsigned long long n; };
extern "C" __global__ void add_one_view(View v) {
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  if (i < v.n) v.data[i] += 1.0f;
}
extern "C" __global__ void slow_add_one(float* x, unsigned long long n, long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {}
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1.0f;
}
"""
CONFIG = LaunchConfig(grid=(N + 255) // 256, block=256)
CHECKS = []


def check(library):
    def add(function):
        CHECKS.append((library, function))
        return function

    return add


def kernels():
    device = Device()
    device.set_current()
    code = Program(SOURCE, "c++").compile("cubin")
    return device, [code.get_kernel(n) for n in ("add_one", "add_one_view", "slow_add_one")]


def everywhere(array, value):
    assert np.all(np.asarray(array) == value), np.unique(np.asarray(array))[:5]


@check("cupy")
def an_array_its_pointer_and_a_slice():
    import cupy as cp

    device, (add, _, _) = kernels()
    s = device.create_stream()
    x = cp.zeros(N, cp.float32)
    cp.cuda.get_current_stream().synchronize()
    launch(s, CONFIG, add, x, N)
    launch(s, CONFIG, add, x.data.ptr, np.uint64(N))
    launch(s, CONFIG, add, x[N // 2 :], np.uint64(N // 2))
    s.sync()
    everywhere(x[: N // 2].get(), 2)
    everywhere(x[N // 2 :].get(), 3)


@check("cupy")
def a_stream_of_ours_is_cupys():
    import cupy as cp

    device, (add, _, slow) = kernels()
    s = device.create_stream()
    with cp.cuda.ExternalStream(int(s.handle)):
        x = cp.zeros(N, cp.float32)
        for i in range(20):
            x += 1
            launch(s, CONFIG, slow if i % 5 == 0 else add, x, np.uint64(N),
                   *([np.int64(2_000_000)] if i % 5 == 0 else []))  # fmt: skip
            x *= 1
        result = x.get()
    everywhere(result, 40)


@check("cupy")
def a_stream_of_cupys_is_ours():
    import cupy as cp

    device, (_, _, slow) = kernels()
    theirs = cp.cuda.Stream(non_blocking=True)
    s = Stream.from_handle(theirs.ptr)
    with theirs:
        x = cp.zeros(N, cp.float32)
        launch(s, CONFIG, slow, x, np.uint64(N), np.int64(20_000_000))
        y = x + 1
        everywhere(y.get(), 2)


@check("torch")
def a_tensor_and_its_pointer():
    import torch

    device, (add, _, slow) = kernels()
    s = device.create_stream()
    x = torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    launch(s, CONFIG, add, x, N)
    launch(s, CONFIG, add, x.data_ptr(), np.uint64(N))
    s.sync()
    everywhere(x.cpu().numpy(), 2)


@check("torch")
def an_object_with_cuda_stream_is_ordered():
    import torch

    class Wrapped:
        def __init__(self, stream):
            self.stream = stream

        def __cuda_stream__(self):
            return (0, self.stream.cuda_stream)

    device, (_, _, slow) = kernels()
    theirs = torch.cuda.Stream()
    s = device.create_stream(Wrapped(theirs))
    with torch.cuda.stream(theirs):
        x = torch.zeros(N, device="cuda")
        launch(s, CONFIG, slow, x, np.uint64(N), np.int64(20_000_000))
        launch(Wrapped(theirs), CONFIG, slow, x, np.uint64(N), np.int64(20_000_000))
        everywhere((x + 1).cpu().numpy(), 3)


@check("jax")
def a_jax_array():
    import jax.numpy as jnp

    device, (add, _, _) = kernels()
    s = device.create_stream()
    x = jnp.zeros(N, jnp.float32).block_until_ready()
    launch(s, CONFIG, add, x, N)
    s.sync()
    everywhere(np.asarray(x + 0), 1)


@check("numba")
def a_device_array_of_numba():
    from numba import cuda

    device, (add, _, _) = kernels()
    s = device.create_stream()
    x = cuda.to_device(np.zeros(N, np.float32))
    cuda.synchronize()
    launch(s, CONFIG, add, x, N)
    s.sync()
    everywhere(x.copy_to_host(), 1)


@check("cupy")
def memory_that_cannot_be_shared_is_refused_by_a_sentence():
    import cupy as cp

    device, (add, _, _) = kernels()
    s = device.create_stream()
    pool = cp.cuda.MemoryAsyncPool()
    memory = pool.malloc(4 * N)
    cp.cuda.get_current_stream().synchronize()
    try:
        launch(s, CONFIG, add, memory.ptr, np.uint64(N))
    except ValueError as error:
        assert "cannot" in str(error), error
    else:
        s.sync()
        raise AssertionError("it was taken")
    launch(s, CONFIG, add, cp.zeros(N, cp.float32), np.uint64(N))  # the session goes on
    s.sync()


def main():
    wrong = tried = 0
    for library, function in CHECKS:
        if importlib.util.find_spec(library) is None:
            print(f"{library}: not installed: {function.__name__}")
            continue
        tried += 1
        try:
            function()
        except Exception as error:
            wrong += 1
            print(f"{library}: WRONG {function.__name__}: {type(error).__name__}: {error}")
        else:
            print(f"{library}: right {function.__name__}")
    print(f"{tried - wrong} passed, {wrong} failed")
    sys.exit(2 if tried == 0 else 1 if wrong else 0)


if __name__ == "__main__":
    main()
