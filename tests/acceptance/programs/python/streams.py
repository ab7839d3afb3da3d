# SPDX-License-Identifier: Apache-2.0
"""Streams and events: order, time, the default ones."""

import numpy as np

from checks import build, core, device, down, equal, finish, holds, run, stream, works, zeros

add = build('extern "C" __global__ void add(int* x, int v) { *x = *x * 2 + v; }').get_kernel("add")
one = core.LaunchConfig(grid=1, block=1)


def ordered():
    x = zeros(1)
    stream.sync()
    first, second = device.create_stream(), device.create_stream()
    for step in range(20):
        here, there = (first, second) if step % 2 else (second, first)
        here.wait(there.record())
        core.launch(here, one, add, x, np.int32(step))
        there.wait(here.record())
    first.sync()
    second.sync()
    return int(down(x)[0])


wanted = 0
for step in range(20):
    wanted = (wanted * 2 + step) & 0xFFFFFFFF
equal("twenty kernels in turns on two streams", works("events", ordered), np.uint32(wanted).astype(np.int32))


def timed():
    begin, end = (device.create_event(core.EventOptions(timing_enabled=True)) for _ in range(2))
    x = zeros(1)
    stream.record(begin)
    run(add, 1, 1, x, np.int32(1))
    stream.record(end)
    end.sync()
    return end - begin


elapsed = works("time between events", timed)
holds("is positive", elapsed is not None and elapsed > 0, elapsed)


def by_default():
    x = zeros(1)
    stream.sync()
    core.launch(device.default_stream, one, add, x, np.int32(3))
    device.default_stream.sync()
    device.sync()
    return int(down(x)[0])


equal("the default stream", works("default_stream", by_default), 3)
finish()
