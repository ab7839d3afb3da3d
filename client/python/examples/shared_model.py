# SPDX-License-Identifier: Apache-2.0
"""Two engines use one copy of a model's weights; the one that loaded them is killed.

The first engine loads the weights into a collection. It is killed with SIGKILL; the second goes on
with the same memory, a third maps it without loading anything, and a new version is committed that
the next engine finds.
"""

import json
import multiprocessing
import os
import signal
import tempfile

import holdfast
import numpy as np
from holdfast.core import Device, LaunchConfig, Program, launch

NAME = f"example-model-{os.getpid()}"
SOURCE = """
extern "C" __global__ void apply(const float* w, const float* x, float* y, int n) {
  int row = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += w[row * n + i] * x[i];
  y[row] = sum;
}
"""
ROWS = 64


def save(path, weights):
    """A .safetensors file."""
    entry = {"dtype": "F32", "shape": weights.shape, "data_offsets": [0, weights.nbytes]}
    header = json.dumps({"layer.weight": entry}).encode()
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + weights.tobytes())


class Engine:
    """Maps the weights, or loads them first if nobody has, and applies them."""

    def __init__(self, name, path):
        device = Device()
        device.set_current()
        with holdfast.collections.claim(name) as claim:
            if claim.writes:
                holdfast.collections.load_safetensors(path, name)
            self.loaded = claim.writes
        self.weights = holdfast.collections.open(name)
        self.stream = device.create_stream()
        self.kernel = Program(SOURCE, "c++").compile("cubin").get_kernel("apply")
        self.x, self.y = (device.allocate(4 * ROWS, stream=self.stream) for _ in range(2))

    def __call__(self, x):
        self.x.copy_from(x, stream=self.stream)
        weight = self.weights["layer.weight"]
        config = LaunchConfig(grid=1, block=ROWS)
        launch(self.stream, config, self.kernel, weight.buffer, self.x, self.y, ROWS)
        return self.y.copy_to(np.empty(ROWS, np.float32), stream=self.stream)


def serve(address, name, path, pipe):
    """An engine's process: answers what comes through the pipe."""
    os.environ["HOLDFAST_ADDRESS"] = address
    engine = Engine(name, path)
    pipe.send((engine.loaded, engine.weights.version))
    while True:
        pipe.send(engine(pipe.recv()))


class Process:
    def __init__(self, path):
        address = holdfast.default_session().address
        context = multiprocessing.get_context("spawn")
        self.pipe, there = context.Pipe()
        arguments = (address, NAME, path, there)
        self.process = context.Process(target=serve, args=arguments, daemon=True)
        self.process.start()
        self.loaded, self.version = self.pipe.recv()

    def ask(self, x):
        self.pipe.send(x)
        return self.pipe.recv()

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()


def main():
    weights = np.random.default_rng(1).random((ROWS, ROWS), np.float32)
    x = np.ones(ROWS, np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        save(path, weights)
        first = Process(path)
        second = Process(path)
        assert first.loaded and not second.loaded
        assert np.allclose(first.ask(x), weights @ x, rtol=1e-4)
        first.kill()
        assert np.allclose(second.ask(x), weights @ x, rtol=1e-4)
        print("the engine that loaded the weights is killed, the second goes on")
        third = Process("no such file")
        assert not third.loaded and third.version == 1
        assert np.allclose(third.ask(x), weights @ x, rtol=1e-4)
        print("a third one maps them and loads nothing")

        holdfast.collections.commit(NAME, {"layer.weight": 2 * weights})
        fourth = Process("no such file")
        assert fourth.version == 2
        assert np.allclose(fourth.ask(x), 2 * weights @ x, rtol=1e-4)
        assert np.allclose(second.ask(x), weights @ x, rtol=1e-4)
        print("a new version is there; who has the old one open keeps it")
        for engine in (second, third, fourth):
            engine.kill()
        holdfast.collections.delete(NAME)


if __name__ == "__main__":
    main()
