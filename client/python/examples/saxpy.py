# SPDX-License-Identifier: Apache-2.0
"""y = a * x + y, for float and double: two kernels of one module.

A script for cuda.core with another import. HOLDFAST_ADDRESS says where the daemon is; without it a
private one is started.
"""

import numpy as np

from holdfast.core import Device, LaunchConfig, Program, ProgramOptions, launch

CODE = """
template <typename T>
__global__ void saxpy(T a, const T* x, const T* y, T* out, size_t n) {
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}
"""


def run(device, stream, kernel, dtype, n):
    """Computes on the device, and compares with NumPy."""
    rng = np.random.default_rng(1)
    x = rng.random(n).astype(dtype)
    y = rng.random(n).astype(dtype)
    a = dtype(2.5)

    buffers = [device.allocate(x.nbytes, stream=stream) for _ in range(3)]
    device_x, device_y, device_out = buffers
    device_x.copy_from(x, stream=stream)
    device_y.copy_from(y, stream=stream)

    config = LaunchConfig(grid=(n + 255) // 256, block=256)
    launch(stream, config, kernel, a, device_x, device_y, device_out, np.uint64(n))
    out = np.empty_like(x)
    device_out.copy_to(out, stream=stream)
    assert np.allclose(out, a * x + y)
    for buffer in buffers:
        buffer.close(stream)


def main():
    device = Device()
    device.set_current()
    stream = device.create_stream()
    program = Program(
        CODE, code_type="c++", options=ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    )
    module = program.compile("cubin", name_expressions=("saxpy<float>", "saxpy<double>"))
    for name, dtype in ("saxpy<float>", np.float32), ("saxpy<double>", np.float64):
        run(device, stream, module.get_kernel(name), dtype, 100_000)
        print(f"{name} is right on {device.name}")
    stream.close()


if __name__ == "__main__":
    main()
