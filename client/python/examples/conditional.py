# SPDX-License-Identifier: Apache-2.0
"""A loop that ends on the device: Newton's method for square roots, as the body of a while node.

The last kernel of the body says by a condition whether any number still moves. No byte comes to
this process before the end.
"""

import numpy as np
from holdfast.core import Device, LaunchConfig, Program, launch

SOURCE = """
extern "C" __device__ __cudart_builtin__ void CUDARTAPI
cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value);

extern "C" __global__ void step(const double* numbers, double* roots, unsigned* moved) {
  unsigned i = threadIdx.x + blockIdx.x * blockDim.x;
  double before = roots[i];
  double after = 0.5 * (before + numbers[i] / before);
  roots[i] = after;
  double change = after > before ? after - before : before - after;
  if (change > 1e-14 * after) atomicAdd(moved, 1u);
}
extern "C" __global__ void decide(cudaGraphConditionalHandle more, unsigned* moved,
                                  unsigned* steps) {
  *steps += 1;
  cudaGraphSetConditional(more, *moved != 0 && *steps < 1000 ? 1 : 0);
}
"""
COUNT = 1024

device = Device()
device.set_current()
stream = device.create_stream()
module = Program(SOURCE, "c++").compile("cubin")
step, decide = module.get_kernel("step"), module.get_kernel("decide")

values = 1.0 + np.arange(COUNT, dtype=np.float64) ** 2
numbers = device.allocate(values.nbytes, stream=stream)
roots = device.allocate(values.nbytes, stream=stream)
moved = device.allocate(4, stream=stream)
steps = device.allocate(4, stream=stream)
numbers.copy_from(values, stream=stream)

builder = device.create_graph_builder().begin_building()
steps.fill(0, stream=builder)
roots.copy_from(numbers, stream=builder)
more = builder.create_condition(default_value=1)
body = builder.while_loop(more).begin_building()
moved.fill(0, stream=body)
launch(body, LaunchConfig(grid=COUNT // 256, block=256), step, numbers, roots, moved)
launch(body, LaunchConfig(grid=1, block=1), decide, more, moved, steps)
body.end_building()
graph = builder.end_building().complete()

graph.launch(stream)
found = roots.copy_to(np.empty(COUNT), stream=stream)
count = steps.copy_to(np.empty(1, np.uint32), stream=stream)[0]
assert 2 < count < 1000 and np.allclose(found, np.sqrt(values), rtol=1e-12)
print(f"{COUNT} square roots after {count} steps")
