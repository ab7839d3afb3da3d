# SPDX-License-Identifier: Apache-2.0
"""Bodies that all attract each other, by tiles in shared memory; energy and momentum must last."""

import argparse
import time

import holdfast.array as ha
import numpy as np
from holdfast.core import Device, LaunchConfig, Program, launch

SOURCE = """
// v += a * dt, where a is the sum over all bodies of mass * d / (d^2 + softening^2)^1.5.
extern "C" __global__ void kick(const float4* x, float4* v, int n, float dt) {
  __shared__ float4 tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 me = i < n ? x[i] : float4{}, a = {};
  for (int first = 0; first < n; first += 256) {
    int other = first + threadIdx.x;
    tile[threadIdx.x] = other < n ? x[other] : float4{};  // w, the mass, is 0
    __syncthreads();
    for (int j = 0; j < 256; ++j) {
      float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = tile[j].w * r * r * r;
      a.x += s * dx, a.y += s * dy, a.z += s * dz;
    }
    __syncthreads();
  }
  if (i < n) v[i].x += a.x * dt, v[i].y += a.y * dt, v[i].z += a.z * dt;
}
extern "C" __global__ void drift(float4* x, const float4* v, int n, float dt) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) x[i].x += v[i].x * dt, x[i].y += v[i].y * dt, x[i].z += v[i].z * dt;
}
"""


def two_clusters(n):
    """Positions with masses, and velocities: two balls of bodies that fall past each other."""
    rng, side = np.random.default_rng(1), np.arange(n)[:, None] % 2 * 2 - 1
    x = np.hstack([rng.normal(0, 0.3, (n, 3)) + side * (1, 0, 0), np.full((n, 1), 1 / n)])
    v = np.hstack([rng.normal(0, 0.4, (n, 3)) + side * (0, 0.3, 0), np.zeros((n, 1))])
    return x.astype(np.float32), v.astype(np.float32)


def energy(x, v):
    x, v, mass = x[:, :3].astype(float), v.astype(float), x[:, 3].astype(float)
    squares = sum(np.subtract.outer(axis, axis) ** 2 for axis in x.T) + 0.01
    return (mass @ v**2).sum() / 2 - np.triu(np.outer(mass, mass) / np.sqrt(squares), 1).sum()


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--bodies", type=int, default=2048)
parser.add_argument("--steps", type=int, default=50, help="of a hundredth each")
args = parser.parse_args()
n, dt, half = args.bodies, np.float32(0.01), np.float32(0.005)

device = Device()
device.set_current()
stream = device.create_stream()
module = Program(SOURCE, "c++").compile("cubin")
kick, drift = module.get_kernel("kick"), module.get_kernel("drift")
config = LaunchConfig(grid=(n + 255) // 256, block=256)
x, v = two_clusters(n)
on_device = ha.asarray(x), ha.asarray(v)
start = time.perf_counter()
launch(stream, config, kick, *on_device, n, half)
for left in reversed(range(args.steps)):
    launch(stream, config, drift, *on_device, n, dt)
    launch(stream, config, kick, *on_device, n, dt if left else half)
new_x, new_v = (ha.asnumpy(array, stream=stream) for array in on_device)
seconds = time.perf_counter() - start

before, after = energy(x, v), energy(new_x, new_v)
momentum = np.abs((new_v - v).mean(axis=0, dtype=float)).max()
speed = n * n * (args.steps + 1) / seconds / 1e6
print(f"{n} bodies, {args.steps} steps in {seconds:.2f} s on {device.name}")
print(f"{speed:.0f} million interactions a second")
print(f"energy {before:.6f}, then {after:.6f}; momentum off by {momentum:.0e}")
assert abs(after / before - 1) < 1e-3 and momentum < 1e-5
