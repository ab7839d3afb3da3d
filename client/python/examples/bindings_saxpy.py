# SPDX-License-Identifier: Apache-2.0
"""out = a * x + y through CUDA's driver API and NVRTC, function by function.

A script for cuda.bindings with another import. HOLDFAST_ADDRESS says where the daemon is; without
it a private one is started. With LD_LIBRARY_PATH=$(holdfast cuda-path --cpu) there is none: the
software driver works in this process.
"""

import ctypes

import numpy as np

from holdfast.bindings import driver, nvrtc

CODE = b"""
extern "C" __global__ void saxpy(float a, const float* x, const float* y, float* out, size_t n) {
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}
"""


def check(result):
    """What a function returns behind its CUresult or nvrtcResult, which has to be 0."""
    error, *values = result
    if isinstance(error, driver.CUresult) and error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(driver.cuGetErrorName(error)[1].decode())
    if isinstance(error, nvrtc.nvrtcResult) and error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(nvrtc.nvrtcGetErrorString(error)[1].decode())
    return values[0] if len(values) == 1 else values


def compile_for(device):
    """PTX of the code for the device."""
    major, minor = check(driver.cuDeviceComputeCapability(device))
    program = check(nvrtc.nvrtcCreateProgram(CODE, b"saxpy.cu", 0, [], []))
    options = [f"--gpu-architecture=compute_{major}{minor}".encode()]
    check(nvrtc.nvrtcCompileProgram(program, len(options), options))
    ptx = bytearray(check(nvrtc.nvrtcGetPTXSize(program)))
    check(nvrtc.nvrtcGetPTX(program, ptx))
    check(nvrtc.nvrtcDestroyProgram(program))
    return ptx


def main(n=1 << 20):
    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(0))
    context = check(driver.cuCtxCreate(None, 0, device))
    module = check(driver.cuModuleLoadData(compile_for(device)))
    kernel = check(driver.cuModuleGetFunction(module, b"saxpy"))
    stream = check(driver.cuStreamCreate(0))

    x, y = np.random.default_rng(1).random((2, n), dtype=np.float32)
    out = np.empty_like(x)
    device_x, device_y, device_out = (check(driver.cuMemAlloc(x.nbytes)) for _ in range(3))
    check(driver.cuMemcpyHtoDAsync(device_x, x, x.nbytes, stream))
    check(driver.cuMemcpyHtoDAsync(device_y, y, y.nbytes, stream))
    values = (2.5, device_x, device_y, device_out, n)
    types = (ctypes.c_float, None, None, None, ctypes.c_size_t)
    grid = (n + 255) // 256, 1, 1
    check(driver.cuLaunchKernel(kernel, *grid, 256, 1, 1, 0, stream, (values, types), 0))
    check(driver.cuMemcpyDtoHAsync(out, device_out, out.nbytes, stream))
    check(driver.cuStreamSynchronize(stream))
    assert np.allclose(out, 2.5 * x + y)
    name = check(driver.cuDeviceGetName(128, device)).split(b"\0")[0].decode()
    print(f"saxpy of {n} numbers is right on {name}")

    for buffer in (device_x, device_y, device_out):
        check(driver.cuMemFree(buffer))
    check(driver.cuStreamDestroy(stream))
    check(driver.cuModuleUnload(module))
    check(driver.cuCtxDestroy(context))


if __name__ == "__main__":
    main()
