# SPDX-License-Identifier: Apache-2.0
"""A kernel and a function of the user's, compiled apart and linked at run time with optimization
across the two: the linker inlines one into the other."""

import numpy as np
from holdfast.core import Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch

KERNEL = """
extern "C" __device__ float shade(float x, float y);

extern "C" __global__ void render(float* image, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  image[i] = shade(static_cast<float>(i % width) / width, static_cast<float>(i / width) / width);
}
"""
SHADERS = {
    "gradient": 'extern "C" __device__ float shade(float x, float y) { return x; }',
    "checkers": """
extern "C" __device__ float shade(float x, float y) {
  return (static_cast<int>(x * 4) + static_cast<int>(y * 4)) % 2;
}
""",
}
WIDTH = 32
COLUMNS, ROWS = np.meshgrid(np.arange(WIDTH) / WIDTH, np.arange(WIDTH) / WIDTH)
EXPECTED = {
    "gradient": COLUMNS,
    "checkers": ((COLUMNS * 4).astype(int) + (ROWS * 4).astype(int)) % 2,
}

device = Device()
device.set_current()
stream = device.create_stream()
arch = f"sm_{device.arch}"
to_ltoir = ProgramOptions(arch=arch, relocatable_device_code=True, link_time_optimization=True)
kernel_part = Program(KERNEL, "c++", to_ltoir).compile("ltoir")
image = device.allocate(4 * WIDTH * WIDTH, stream=stream)

for name, source in SHADERS.items():
    shader_part = Program(source, "c++", to_ltoir).compile("ltoir")
    linker = Linker(
        kernel_part, shader_part, options=LinkerOptions(arch=arch, link_time_optimization=True)
    )
    render = linker.link("cubin").get_kernel("render")
    launch(stream, LaunchConfig(grid=WIDTH, block=WIDTH), render, image, WIDTH)
    found = image.copy_to(np.empty((WIDTH, WIDTH), np.float32), stream=stream)
    assert np.allclose(found, EXPECTED[name]), name
    print(f"rendered with {name}")
