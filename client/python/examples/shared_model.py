# SPDX-License-Identifier: Apache-2.0
"""Engines, each a process, use one copy of a model's weights; the one that loaded it is killed."""

import argparse
import multiprocessing
import time

import holdfast
import numpy as np
from holdfast.core import Device, LaunchConfig, Program, launch

SOURCE = """
extern "C" __global__ void apply(const float* w, float* y, int n) {  // to an input of ones
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += w[row * n + i];
  y[row] = sum;
}
"""


def serve(name, weights, pipe):
    """An engine: maps the model, or loads it if no engine has; answers what the pipe asks."""
    device = Device()
    device.set_current()
    kernel = Program(SOURCE, "c++").compile("cubin").get_kernel("apply")
    start = time.perf_counter()
    with holdfast.collections.claim(name) as claim:
        how = "loaded" if claim.writes else "mapped"
        if claim.writes:
            holdfast.collections.commit(name, {"layer.weight": weights})
    model = holdfast.collections.open(name)
    pipe.send(f"{how} version {model.version} in {1e3 * (time.perf_counter() - start):.1f} ms")
    rows = model["layer.weight"].shape[0]
    y, config = device.allocate(4 * rows), LaunchConfig(grid=rows // 64, block=64)
    while pipe.recv():
        launch(device.default_stream, config, kernel, model["layer.weight"].buffer, y, rows)
        pipe.send(y.copy_to(np.empty(rows, np.float32), stream=device.default_stream))


class Engine:
    def __init__(self, name, weights=None):
        spawn = multiprocessing.get_context("spawn")
        self.pipe, there = spawn.Pipe()
        self.process = spawn.Process(target=serve, args=(name, weights, there), daemon=True)
        self.process.start()
        there.close()
        self.state = self.pipe.recv()

    def check(self, expected):
        self.pipe.send(True)
        assert np.allclose(self.pipe.recv(), expected.sum(axis=1), rtol=1e-4)
        print(f"engine {self.process.pid} ({self.state}) answers right")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1024, help="of the weights: a multiple of 64")
    rows = parser.parse_args().rows
    device, name = Device(), f"example-model-{time.time_ns()}"
    weights = np.random.default_rng(1).random((rows, rows), np.float32)
    print(f"{weights.nbytes / 1e6:.1f} MB of weights on {device.name}")
    first, second = Engine(name, weights), Engine(name)
    first.check(weights)
    second.check(weights)
    first.process.kill()
    print(f"engine {first.process.pid} is killed")
    second.check(weights)
    third = Engine(name)
    third.check(weights)
    holdfast.collections.commit(name, {"layer.weight": 2 * weights})
    fourth = Engine(name)
    fourth.check(2 * weights)
    second.check(weights)  # it keeps the version that it has opened
    holdfast.collections.delete(name)  # its memory is free when the last engine is gone
