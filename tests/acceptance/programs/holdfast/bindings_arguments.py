# SPDX-License-Identifier: Apache-2.0
"""holdfast.bindings: a kernel writes to the program's pinned memory, with its arguments given in each form."""

import ctypes

import numpy as np

from checks import equal, finish
from holdfast.bindings import driver, nvrtc, runtime

SOURCE = b"""
struct Pair { int first; float second; };
extern "C" __global__ void store(int i, int* to_int, float f, float* to_float, Pair pair, Pair* to_pair) {
  *to_int = i; *to_float = f; *to_pair = pair;
}
"""


class Pair(ctypes.Structure):
    _fields_ = [("first", ctypes.c_int), ("second", ctypes.c_float)]


def check(result):
    if result[0] != 0:
        raise RuntimeError(f"{result[0]}")
    return result[1] if len(result) == 2 else result[1:]


def kernel_of(device):
    major, minor = check(driver.cuDeviceComputeCapability(device))
    program = check(nvrtc.nvrtcCreateProgram(SOURCE, b"store.cu", 0, None, None))
    check(nvrtc.nvrtcCompileProgram(program, 1, [f"-arch=compute_{major}{minor}".encode()]))
    ptx = bytearray(check(nvrtc.nvrtcGetPTXSize(program)))
    check(nvrtc.nvrtcGetPTX(program, ptx))
    return check(driver.cuModuleGetFunction(check(driver.cuModuleLoadData(ptx)), b"store"))


def cells(i, to_int, f, to_float, pair, to_pair):
    """The arguments as instances of ctypes, which a packed call names by their addresses."""
    return (ctypes.c_int(i), ctypes.c_void_p(to_int), ctypes.c_float(f), ctypes.c_void_p(to_float), pair,
            ctypes.c_void_p(to_pair))  # fmt: skip


check(driver.cuInit(0))
device = check(driver.cuDeviceGet(0))
context = check(driver.cuCtxCreate(None, 0, device))
kernel = kernel_of(device)
stream = check(driver.cuStreamCreate(0))
host = check(runtime.cudaHostAlloc(64, runtime.cudaHostAllocMapped))
values = 7, host, 1.5, host + 16, Pair(8, 2.5), host + 32
types = ctypes.c_int, ctypes.c_void_p, ctypes.c_float, ctypes.c_void_p, None, ctypes.c_void_p
of_ctypes = cells(*values)
packed = (ctypes.c_void_p * 6)(*map(ctypes.addressof, of_ctypes))
of_handle = driver.cuuint32_t(_ptr=host), runtime.dim3(_ptr=host + 16)
forms = {
    "values and types": (values, types),
    "values of ctypes and types": (of_ctypes, types),
    "handles in the memory": ((7, of_handle[0], 1.5, of_handle[1], values[4], values[5]), types),
    "a buffer of addresses": packed,
    "an array of addresses": np.array(list(packed), np.uint64),
    "the address of addresses": ctypes.addressof(packed),
}
for form, arguments in forms.items():
    ctypes.memset(host, 0, 64)
    check(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, 0))
    check(driver.cuStreamSynchronize(stream))
    pair = Pair.from_address(host + 32)
    found = ctypes.c_int.from_address(host).value, ctypes.c_float.from_address(host + 16).value
    equal(form, (*found, pair.first, pair.second), (7, 1.5, 8, 2.5))
check(runtime.cudaFreeHost(host))
check(driver.cuCtxDestroy(context))
finish()
