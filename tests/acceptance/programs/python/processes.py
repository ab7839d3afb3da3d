# SPDX-License-Identifier: Apache-2.0
"""One process's memory in another: descriptors through a queue, and events."""

import multiprocessing

import numpy as np

from checks import build, core, device, down, equal, finish, holds, refused, run, stream, with_holdfast, zeros

SOURCE = 'extern "C" __global__ void add(int* x, int v) { x[threadIdx.x] += v; }'
SIZE = 4096


def child(resource, buffer, queue):
    try:
        run(build(SOURCE).get_kernel("add"), 1, 64, buffer, np.int32(5))
        stream.sync()
        queue.put(("right", [int(v) for v in down(buffer)[:3]]))
    except Exception as error:
        queue.put((type(error).__name__, str(error)))


def main():
    resource = core.DeviceMemoryResource(device, core.DeviceMemoryResourceOptions(max_size=2 << 20, ipc_enabled=True))
    buffer = resource.allocate(SIZE, stream=stream)
    buffer.fill(0, stream=stream)
    run(build(SOURCE).get_kernel("add"), 1, 64, buffer, np.int32(1))
    stream.sync()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(resource, buffer, queue))
    process.start()
    said = queue.get(timeout=100)
    process.join()
    equal("the child finds the parent's values and adds to them", said[1] if said[0] == "right" else [said], [6, 6, 6])
    equal("the parent sees the sum", down(buffer)[:3], [6, 6, 6])
    holds("the child has ended by itself", process.exitcode == 0, f"exit status {process.exitcode}")
    plain = device.allocate(64, stream=stream)
    refused("memory that is not for others says how it would be", "ipc|IPC", lambda: plain.ipc_descriptor)


if __name__ == "__main__":
    main()
    finish()
