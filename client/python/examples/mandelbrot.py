# SPDX-License-Identifier: Apache-2.0
"""A zoom into the Mandelbrot set, one launch a picture. NumPy computes the last picture again.

Prints the first picture as text. --out=zoom.gif writes all of them, which takes Pillow.
"""

import argparse
import time

import holdfast.array as ha
import numpy as np
from holdfast.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = """
extern "C" __global__ void mandelbrot(unsigned char* steps, int width, int height, double left,
                                      double top, double pixel, int limit) {
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y, n = 0;
  if (column >= width || row >= height) return;
  double cx = left + column * pixel, cy = top + row * pixel, x = 0, y = 0;
  for (; n < limit && x * x + y * y <= 4; ++n) {
    double next = x * x - y * y + cx;
    y = 2 * x * y + cy, x = next;
  }
  steps[row * width + column] = n;
}
"""
CENTER = (-0.743643887037151, 0.131825904205330)


def with_numpy(width, height, left, top, pixel, limit):
    cx, cy = np.meshgrid(left + np.arange(width) * pixel, top + np.arange(height) * pixel)
    x, y, steps = np.zeros_like(cx), np.zeros_like(cx), np.zeros(cx.shape, np.uint8)
    for _ in range(limit):
        inside = x * x + y * y <= 4
        steps += inside
        x, y = np.where(inside, (x * x - y * y + cx, 2 * x * y + cy), (x, y))
    return steps


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, nargs=2, default=(320, 240), help="width and height")
parser.add_argument("--pictures", type=int, default=16, help="each shows 2/3 of the last")
parser.add_argument("--limit", type=int, default=255, help="steps of a point, up to 255")
parser.add_argument("--out", help="a GIF")
args = parser.parse_args()
if args.out:
    try:
        from PIL import Image
    except ImportError:
        parser.error("--out needs Pillow: apt-get install python3-pil")
(width, height), limit = args.size, min(args.limit, 255)

device = Device()
device.set_current()
stream = device.create_stream()
program = Program(SOURCE, "c++", ProgramOptions(fma=False))  # rounds as NumPy does
kernel = program.compile("cubin").get_kernel("mandelbrot")
steps = ha.empty((args.pictures, height, width), np.uint8)
config = LaunchConfig(grid=((width + 31) // 32, (height + 7) // 8), block=(32, 8))
start = time.perf_counter()
for i, pixel in enumerate(3 / width / 1.5 ** np.arange(args.pictures)):
    view = CENTER[0] - pixel * width / 2, CENTER[1] - pixel * height / 2, pixel
    launch(stream, config, kernel, steps[i], width, height, *view, limit)
pictures = ha.asnumpy(steps, stream=stream)
seconds = time.perf_counter() - start

for line in pictures[0, :: (height + 19) // 20, :: (width + 63) // 64].tolist():
    print("".join("   .:-+*@"[n.bit_length()] for n in line))
wrong = np.count_nonzero(pictures[-1] != with_numpy(width, height, *view, limit))
print(f"{args.pictures} pictures of {width} x {height} in {seconds:.2f} s on {device.name}")
print(f"{pictures.sum() / seconds / 1e6:.0f} million steps a second; {wrong} points are wrong")
if args.out:
    colors = (128 - 127 * np.cos(np.arange(256)[:, None] / (11, 17, 29))).astype(np.uint8)
    colors[limit:] = 0
    frames = [Image.fromarray(colors[picture]) for picture in pictures]
    frames[0].save(args.out, save_all=True, append_images=frames[1:], duration=100, loop=0)
assert not wrong
