# SPDX-License-Identifier: Apache-2.0
"""Addresses are numbers: in structs, in tables of pointers, as plain integers."""

import numpy as np

from checks import build, down, equal, finish, run, stream, up, works, zeros

SOURCE = r"""
struct View { float* data; int count; float factor; };
extern "C" {
__global__ void batched(float* const* arrays, int count, float v) { if (threadIdx.x < count) arrays[blockIdx.x][threadIdx.x] += v; }
__global__ void viewed(View view) { if (threadIdx.x < view.count) view.data[threadIdx.x] *= view.factor; }
__global__ void plain(unsigned long long address) { ((float*)address)[threadIdx.x] = threadIdx.x; }
}
"""
module = build(SOURCE)


def address(buffer):
    return int(buffer.handle)


def batched():
    parts = [up(np.full(32, i, np.float32)) for i in range(5)]
    table = up(np.array([address(part) for part in parts], np.uint64))
    run(module.get_kernel("batched"), 5, 32, table, np.int32(32), np.float32(0.5))
    return [float(down(part, np.float32)[31]) for part in parts]


def viewed():
    data = up(np.arange(32, dtype=np.float32))
    dtype = np.dtype([("data", "u8"), ("count", "i4"), ("factor", "f4")])
    run(module.get_kernel("viewed"), 1, 32, np.array((address(data), 30, 2), dtype)[()])
    return down(data, np.float32)


def plain(offset):
    data = zeros(64, np.float32)
    run(module.get_kernel("plain"), 1, 16, np.uint64(address(data) + offset))
    return down(data, np.float32)[offset // 4 : offset // 4 + 16]


equal("a table of pointers", works("table", batched), [0.5, 1.5, 2.5, 3.5, 4.5])
i = np.arange(32)
equal("a pointer within a struct", works("struct", viewed), np.where(i < 30, i * 2, i))
equal("a number as an argument", works("number", lambda: plain(0)), np.arange(16))
equal("a number behind the beginning", works("number and offset", lambda: plain(128)), np.arange(16))
finish()
