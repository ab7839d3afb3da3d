# SPDX-License-Identifier: Apache-2.0
"""A median filter takes noise out of a picture and keeps its edges. NumPy computes it again."""

import argparse
import time

import holdfast.array as ha
import numpy as np
from holdfast.core import Device, LaunchConfig, Program, launch

SOURCE = """
// The median of the square around a pixel, bit by bit: the largest value that has at most half of
// the square below it. Beyond the border, the border goes on.
extern "C" __global__ void median(const unsigned char* in, unsigned char* out, int width,
                                  int height, int radius) {
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y, found = 0;
  if (column >= width || row >= height) return;
  for (int bit = 128; bit > 0; bit /= 2) {
    int below = 0;
    for (int y = row - radius; y <= row + radius; ++y)
      for (int x = column - radius; x <= column + radius; ++x)
        below += in[min(max(y, 0), height - 1) * width + min(max(x, 0), width - 1)] < found + bit;
    if (below <= 2 * radius * (radius + 1)) found += bit;
  }
  out[row * width + column] = found;
}
"""


def balls(width=240, height=160):
    """A picture in sixteen shades: two balls before a wall of tiles."""
    y, x = np.mgrid[:height, :width] / height
    picture = 180 - 60 * y + 30 * ((6 * x // 1 + 6 * y // 1) % 2)
    for cx, cy, radius in (0.5, 0.45, 0.32), (1.05, 0.6, 0.28):
        dx, dy = (x - cx) / radius, (y - cy) / radius
        z = np.sqrt(np.maximum(1 - dx**2 - dy**2, 0))
        picture = np.where(z > 0, 20 + 220 * np.maximum(0.7 * z - 0.5 * dx - 0.5 * dy, 0), picture)
    return (picture // 16 * 16).astype(np.uint8)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--radius", type=int, default=2, help="of the square: 2 is 5 x 5 pixels")
parser.add_argument("--noise", type=float, default=0.1, help="part of the pixels")
parser.add_argument("--picture", help="a file of yours; by default two balls")
parser.add_argument("--out", help="a file for both pictures, side by side")
args = parser.parse_args()
if args.picture or args.out:
    try:
        from PIL import Image
    except ImportError:
        parser.error("--picture and --out need Pillow: apt-get install python3-pil")
clean = np.asarray(Image.open(args.picture).convert("L")) if args.picture else balls()
rng = np.random.default_rng(1)
noise = rng.choice(np.array([0, 255], np.uint8), clean.shape)
noisy = np.where(rng.random(clean.shape) < args.noise, noise, clean)
(height, width), side = clean.shape, 2 * args.radius + 1

device = Device()
device.set_current()
stream = device.create_stream()
kernel = Program(SOURCE, "c++").compile("cubin").get_kernel("median")
config = LaunchConfig(grid=((width + 31) // 32, (height + 7) // 8), block=(32, 8))
source, result = ha.asarray(noisy), ha.empty(noisy.shape, np.uint8)
for _ in range(2):  # the first launch also loads the kernel
    start = time.perf_counter()
    launch(stream, config, kernel, source, result, width, height, args.radius)
    filtered = ha.asnumpy(result, stream=stream)
    seconds = time.perf_counter() - start

squares = np.lib.stride_tricks.sliding_window_view(np.pad(noisy, args.radius, "edge"), (side, side))
wrong = np.count_nonzero(filtered != np.median(squares, axis=(2, 3)))
print(f"{width} x {height} pixels, each the median of {side} x {side}, on {device.name}")
print(f"{width * height / seconds / 1e6:.1f} million pixels a second; {wrong} are wrong")
errors = [np.abs(clean.astype(int) - picture).mean() for picture in (noisy, filtered)]
print(f"mean error: {errors[0]:.2f} of 255 with the noise, {errors[1]:.2f} filtered")
if args.out:
    Image.fromarray(np.hstack([noisy, filtered])).save(args.out, optimize=True)
assert not wrong
