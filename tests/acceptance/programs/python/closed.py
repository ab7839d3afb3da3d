# SPDX-License-Identifier: Apache-2.0
"""A closed object says that it is closed; each use of it is a RuntimeError, and it may be closed again."""

from checks import build, core, device, equal, finish, refused, run, stream, works, zeros

kernel = build('extern "C" __global__ void seven(int* x) { *x = 7; }').get_kernel("seven")
out = zeros(1)
builder = device.create_graph_builder().begin_building()
builder.end_building()
linked = core.Program("__device__ void f() {}", "c++", core.ProgramOptions(relocatable_device_code=True))
linker_options = core.LinkerOptions(arch=f"sm_{device.arch}")
open_ones = {
    "Stream": device.create_stream(),
    "Event": device.create_event(),
    "Buffer": zeros(1),
    "Graph": builder.complete(),
    "GraphBuilder": builder,
    "Program": core.Program("", "c++"),
    "Linker": core.Linker(linked.compile("ptx"), options=linker_options),
    "DeviceMemoryResource": core.DeviceMemoryResource(device, core.DeviceMemoryResourceOptions(max_size=1 << 20)),
}
for name, one in open_ones.items():
    equal(f"{name} is open", one.is_closed, False)
    one.close()
    works(f"{name} closes again", one.close)
    equal(f"{name} is closed", one.is_closed, True)
closed = type("Closed", (), open_ones)

uses = {
    "a launch on a closed stream": lambda: core.launch(closed.Stream, core.LaunchConfig(grid=1, block=1), kernel, out),
    "an event on a closed stream": lambda: closed.Stream.record(),
    "a wait for a closed stream": lambda: stream.wait(closed.Stream),
    "a closed stream's device": lambda: closed.Stream.device,
    "a closed stream's priority": lambda: closed.Stream.priority,
    "a graph of a closed stream": lambda: closed.Stream.create_graph_builder(),
    "memory on a closed stream": lambda: device.allocate(4, stream=closed.Stream),
    "a fill on a closed stream": lambda: out.fill(0, stream=closed.Stream),
    "a copy on a closed stream": lambda: out.copy_to(zeros(1), stream=closed.Stream),
    "a free on a closed stream": lambda: out.close(stream=closed.Stream),
    "a later free on a closed stream": lambda: out.set_deallocation_stream(closed.Stream),
    "a closed event that is recorded": lambda: stream.record(closed.Event),
    "a wait for a closed event": lambda: stream.wait(closed.Event),
    "a closed event's time": lambda: closed.Event - closed.Event,
    "a closed event's device": lambda: closed.Event.device,
    "whether a closed event is done": lambda: closed.Event.is_done,
    "a closed buffer as an argument": lambda: run(kernel, 1, 1, closed.Buffer),
    "a copy from a closed buffer": lambda: closed.Buffer.copy_to(out, stream=stream),
    "a copy to a closed buffer": lambda: out.copy_to(closed.Buffer, stream=stream),
    "a fill of a closed buffer": lambda: closed.Buffer.fill(0, stream=stream),
    "a closed buffer's device": lambda: closed.Buffer.device_id,
    "who reaches a closed buffer": lambda: closed.Buffer.is_device_accessible,
    "a closed buffer's stream": lambda: closed.Buffer.set_deallocation_stream(stream),
    "a closed graph": lambda: closed.Graph.launch(stream),
    "a closed program": lambda: closed.Program.compile("ptx"),
    "a closed linker": lambda: closed.Linker.link("ptx"),
    "a closed linker's log": lambda: closed.Linker.get_error_log(),
    "a closed memory resource": lambda: closed.DeviceMemoryResource.allocate(4, stream=stream),
    "a closed graph builder": lambda: closed.GraphBuilder.begin_building(),
}
for what, use in uses.items():
    refused(what, "^RuntimeError: .*has been closed", use)

equal("a closed stream's handle", int(closed.Stream.handle), 0)
equal("a closed event's handle", int(closed.Event.handle), 0)
equal("a closed graph's handle", int(closed.Graph.handle), 0)
equal("a closed buffer's handle and size", (int(closed.Buffer.handle), closed.Buffer.size), (0, 0))
equal("a closed buffer's owners", (closed.Buffer.owner, closed.Buffer.memory_resource), (None, None))
equal("truth of closed objects", [bool(one) for one in open_ones.values()], [True] * len(open_ones))
equal("the buffer whose free was refused", (out.is_closed, out.size), (False, 4))
works("its launch", lambda: run(kernel, 1, 1, out))
finish()
