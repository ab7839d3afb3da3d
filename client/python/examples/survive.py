# SPDX-License-Identifier: Apache-2.0
"""A script that outlives the faults of its own kernels.

A kernel stores where no memory is. Its process is ruined, as any CUDA process would be; the session
goes on in another one: the Buffers have their bytes, the graph can be launched, and what was dropped
is submitted again. Prints how long each recovery took.
"""

import time

import holdfast
import numpy as np
from holdfast.core import Device, LaunchConfig, Program, launch

SOURCE = """
extern "C" __global__ void scatter(const unsigned long long* where, float* data, float value) {
  data[where[threadIdx.x]] += value;
}
"""
COUNT = 1024
FAULTS = 3

device = Device()
device.set_current()
stream = device.create_stream()
scatter = Program(SOURCE, "c++").compile("cubin").get_kernel("scatter")

places = np.arange(COUNT, dtype=np.uint64)
where = device.allocate(places.nbytes, stream=stream)
where.copy_from(places, stream=stream)
data = device.allocate(4 * COUNT, stream=stream)
data.fill(0, stream=stream)

config = LaunchConfig(grid=1, block=COUNT)
builder = device.create_graph_builder().begin_building()
launch(builder, config, scatter, where, data, np.float32(1))
graph = builder.end_building().complete()
stream.sync()

for number in range(1, FAULTS + 1):
    wrong = places.copy()
    wrong[number] = 1 << 40
    begin = time.perf_counter()
    try:
        where.copy_from(wrong, stream=stream)
        graph.launch(stream)
        stream.sync()
        raise SystemExit("the wrong place was not noticed")
    except holdfast.Fault as fault:
        if number == 1:
            print(fault)
        assert fault.result_name == "CUDA_ERROR_ILLEGAL_ADDRESS" and fault.lost_count == 0
        stream.sync()
        print(f"fault {number}: ready again in {(time.perf_counter() - begin) * 1e3:.1f} ms")
    # The block that faulted may have stored some: begin again, with the same objects.
    where.copy_from(places, stream=stream)
    data.fill(0, stream=stream)
    graph.launch(stream)
    assert (data.copy_to(np.empty(COUNT, np.float32), stream=stream) == 1).all()

print(f"{FAULTS} faults, one session, {COUNT} right numbers")
