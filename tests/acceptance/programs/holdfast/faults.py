# SPDX-License-Identifier: Apache-2.0
"""A kernel that stores where no memory is: told once, and the session goes on with its bytes."""

import os
import subprocess
import sys

import holdfast
import numpy as np

from checks import build, core, device, down, equal, finish, holds, run, stream, up

put = build('extern "C" __global__ void put(int* x, size_t i, int v) { x[i] = v; }').get_kernel("put")
x = up(np.arange(1000, dtype=np.int32))
one = core.LaunchConfig(grid=1, block=1)
stream.sync()
builder = device.create_graph_builder().begin_building()
core.launch(builder, one, put, x, np.uint64(3), np.int32(33))
graph = builder.end_building().complete()
for number in range(3):
    run(put, 1, 1, x, np.uint64(1 << 40), np.int32(1))
    try:
        stream.sync()
        holds(f"fault {number} is told", False, "sync() returned")
    except holdfast.Fault as fault:
        holds(f"fault {number} is told", fault.result_name == "CUDA_ERROR_ILLEGAL_ADDRESS", fault)
        holds("nothing is lost", fault.lost_count == 0, fault.lost)
    equal("the same Buffer has its bytes", down(x)[4:], np.arange(4, 1000))
    graph.launch(stream)
    run(put, 1, 1, x, np.uint64(0), np.int32(number))
    equal("the same graph and kernel run", down(x)[[0, 3]], [number, 33])
# Another process: what a user has on the terminal, whatever writes it.
CHILD = """
from checks import *
put = build('template <typename T> __global__ void put(T* x, size_t i) { x[i] = 1; }', ["put<int>"]).get_kernel("put<int>")
x = up(np.arange(10, dtype=np.int32))
run(put, 1, 1, x, np.uint64(1 << 40))
stream.sync()
"""
child = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, env=os.environ)
said = child.stdout + child.stderr
holds("a fault that nobody catches is on the terminal once", said.count("CUDA_ERROR_ILLEGAL_ADDRESS") == 1, said)
# A GPU tells no block.
holds("with the kernel's name in its source", "kernel put<int>" in said and "_Z" not in said, said)
finish()
