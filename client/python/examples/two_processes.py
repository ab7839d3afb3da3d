# SPDX-License-Identifier: Apache-2.0
"""A pipeline of two processes on the same device memory, in turns that semaphores order there.

One fills a Buffer while the other adds up a second one. Buffers and semaphores are pickled like
anything else; the bytes stay where they are.
"""

import argparse
import multiprocessing
import time

import holdfast
import numpy as np
from holdfast.core import Device, DeviceMemoryResource, LaunchConfig, Program, launch

SOURCE = """
extern "C" __global__ void fill(unsigned* x, unsigned round) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = i ^ round;
}
extern "C" __global__ void add(const unsigned* x, unsigned* sum) {
  atomicAdd(sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
"""


def consume(buffers, sums, full, free, blocks, rounds):
    """The other process: adds up what the first one fills in, round by round."""
    full.device.set_current()
    stream = full.device.create_stream()
    add = Program(SOURCE, "c++").compile("cubin").get_kernel("add")
    free.signal(1, stream=stream)  # it is ready: the time begins
    for i in range(rounds):
        full.wait(i + 1, stream=stream)
        total = sums.sub(4 * i, 4)
        launch(stream, LaunchConfig(grid=blocks, block=256), add, buffers[i % 2], total)
        free.signal(i + 2, stream=stream)
    stream.sync()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=512, help="of 256 numbers each")
    parser.add_argument("--rounds", type=int, default=100)
    args = parser.parse_args()
    blocks, rounds = args.blocks, args.rounds

    device = Device()
    device.set_current()
    stream = device.create_stream()
    memory = DeviceMemoryResource(device, {"ipc_enabled": True})
    buffers = [memory.allocate(1024 * blocks, stream=stream) for _ in range(2)]
    sums = memory.allocate(4 * rounds, stream=stream)
    sums.fill(0, stream=stream)
    full, free = holdfast.Semaphore(), holdfast.Semaphore()
    arguments = buffers, sums, full, free, blocks, rounds
    other = multiprocessing.get_context("spawn").Process(target=consume, args=arguments)
    other.start()
    fill = Program(SOURCE, "c++").compile("cubin").get_kernel("fill")
    free.wait(1, stream=stream)
    stream.sync()
    start = time.perf_counter()
    for i in range(rounds):
        free.wait(max(i, 1), stream=stream)  # round i - 2, of the same Buffer, is added up
        launch(stream, LaunchConfig(grid=blocks, block=256), fill, buffers[i % 2], np.uint32(i))
        full.signal(i + 1, stream=stream)
    free.wait(rounds + 1, stream=stream)
    found = sums.copy_to(np.empty(rounds, np.uint32), stream=stream)
    seconds = time.perf_counter() - start
    other.join()

    numbers = np.arange(256 * blocks, dtype=np.uint32)
    right = sum(found[i] == (numbers ^ np.uint32(i)).sum(dtype=np.uint32) for i in range(rounds))
    print(f"{rounds} rounds of {numbers.size} numbers between two processes on {device.name}")
    print(f"{1e6 * seconds / rounds:.0f} us a round; {right} of {rounds} sums are right")
    assert right == rounds and other.exitcode == 0
