# SPDX-License-Identifier: Apache-2.0
"""Two processes work on the same device memory, in turns that semaphores order on the device.

Buffers and semaphores are pickled like anything else; the bytes stay where they are.
"""

import multiprocessing

import holdfast
import numpy as np
from holdfast.core import Device, DeviceMemoryResource, LaunchConfig, Program, launch

SOURCE = """
extern "C" __global__ void fill(int* x, int round) { x[threadIdx.x] = round; }
extern "C" __global__ void add(const int* x, int* sum) { atomicAdd(sum, x[threadIdx.x]); }
"""
COUNT = 256
ROUNDS = 20


def kernel(name):
    return Program(SOURCE, "c++").compile("cubin").get_kernel(name)


def consume(x, total, full, empty):
    """The other process: adds up what the first one fills in, round by round."""
    full.device.set_current()
    stream = full.device.create_stream()
    add = kernel("add")
    for number in range(1, ROUNDS + 1):
        full.wait(number, stream=stream)
        launch(stream, LaunchConfig(grid=1, block=COUNT), add, x, total)
        empty.signal(number, stream=stream)
    stream.sync()


def main():
    device = Device()
    device.set_current()
    stream = device.create_stream()
    memory = DeviceMemoryResource(device, {"ipc_enabled": True})
    x = memory.allocate(4 * COUNT, stream=stream)
    total = memory.allocate(4, stream=stream)
    total.fill(0, stream=stream)
    stream.sync()
    full, empty = holdfast.Semaphore(), holdfast.Semaphore()

    other = multiprocessing.get_context("spawn").Process(
        target=consume, args=(x, total, full, empty)
    )
    other.start()
    fill = kernel("fill")
    for number in range(1, ROUNDS + 1):
        if number > 1:
            empty.wait(number - 1, stream=stream)
        launch(stream, LaunchConfig(grid=1, block=COUNT), fill, x, number)
        full.signal(number, stream=stream)
    empty.wait(ROUNDS, stream=stream)
    found = total.copy_to(np.empty(1, np.int32), stream=stream)[0]
    other.join()
    assert other.exitcode == 0 and found == COUNT * ROUNDS * (ROUNDS + 1) // 2
    print(f"{ROUNDS} rounds between two processes: the sum is {found}")


if __name__ == "__main__":
    main()
