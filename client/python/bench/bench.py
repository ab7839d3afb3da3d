# SPDX-License-Identifier: Apache-2.0
"""Holdfast's package beside cuda.core, in one run: a table for people.

    python bench.py [holdfast] [cuda]        both, where cuda.core can be imported

A warm daemon is wanted: HOLDFAST_ADDRESS names it, else a private one is started, whose start is not
measured. Every figure is the median of REPEATS.
"""

import importlib
import os
import statistics
import subprocess
import sys
import time

import numpy as np

REPEATS = 7
LAUNCHES = 2000
BYTES = 256 << 20
NODES = 32

CODE = """
extern "C" __global__ void saxpy(float a, const float* x, float* y, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""

SCRIPT = """
import numpy as np
from {core} import Device, LaunchConfig, Program, ProgramOptions, launch
device = Device(); device.set_current()
stream = device.create_stream()
kernel = Program({code!r}, "c++", ProgramOptions(arch="sm_" + device.arch)).compile("cubin").get_kernel("saxpy")
x = device.allocate(4096, stream=stream); y = device.allocate(4096, stream=stream)
launch(stream, LaunchConfig(grid=4, block=256), kernel, np.float32(2), x, y, np.uint64(1024))
stream.sync()
"""


def median_of(measure):
    return statistics.median(measure() for _ in range(REPEATS))


def run_process(script):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", script], check=True)
    return time.perf_counter() - start


def import_time(module):
    """Seconds that a new process spends in the import itself, NumPy's not counted."""
    script = (
        "import time, numpy; start = time.perf_counter(); "
        f"import {module}; print(time.perf_counter() - start)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    return float(done.stdout)


class Bench:
    """The figures of one package; `core` is its module."""

    def __init__(self, core):
        self.name = core
        module = importlib.import_module(core)
        self.module = module
        self.device = module.Device()
        self.device.set_current()
        self.stream = self.device.create_stream()
        options = module.ProgramOptions(arch=f"sm_{self.device.arch}")
        program = module.Program(CODE, "c++", options)
        self.kernel = program.compile("cubin").get_kernel("saxpy")
        self.config = module.LaunchConfig(grid=4, block=256)
        self.x = self.device.allocate(4096, stream=self.stream)
        self.y = self.device.allocate(4096, stream=self.stream)
        self.arguments = (np.float32(2), self.x, self.y, np.uint64(1024))

    def launch(self):
        self.module.launch(self.stream, self.config, self.kernel, *self.arguments)

    def launches(self, sync_each, sync_inside):
        """Seconds a launch."""
        self.stream.sync()
        start = time.perf_counter()
        for _ in range(LAUNCHES):
            self.launch()
            if sync_each:
                self.stream.sync()
        issued = time.perf_counter() - start
        self.stream.sync()
        done = time.perf_counter() - start
        return (done if sync_inside else issued) / LAUNCHES

    def graph_launches(self, sync_each):
        """Seconds a launch of a graph of NODES kernels."""
        builder = self.device.create_graph_builder().begin_building()
        for _ in range(NODES):
            self.module.launch(builder, self.config, self.kernel, *self.arguments)
        graph = builder.end_building().complete()
        graph.upload(self.stream)
        self.stream.sync()

        def measure():
            start = time.perf_counter()
            for _ in range(LAUNCHES // 10):
                graph.launch(self.stream)
                if sync_each:
                    self.stream.sync()
            issued = time.perf_counter() - start
            self.stream.sync()
            return issued / (LAUNCHES // 10)

        return median_of(measure)

    def torch_view(self):
        """Seconds for a tensor of PyTorch that is this memory; the first one maps it."""
        try:
            import torch
        except ImportError:
            return None
        if self.name == "holdfast.core":
            if self.device.is_software:
                return None
            resource = self.module.DeviceMemoryResource(self.device, {"ipc_enabled": True})
            buffer = resource.allocate(BYTES, stream=self.stream)
        else:
            buffer = self.device.allocate(BYTES, stream=self.stream)
        self.stream.sync()
        torch.from_dlpack(buffer)

        def measure():
            start = time.perf_counter()
            torch.from_dlpack(buffer)
            return time.perf_counter() - start

        return median_of(measure)

    def pinned(self):
        return self.module.PinnedMemoryResource().allocate(BYTES, stream=self.stream)

    def copies(self):
        """Seconds for BYTES into the device and out, of pinned memory."""
        host = self.pinned()
        buffer = self.device.allocate(BYTES, stream=self.stream)

        def into():
            start = time.perf_counter()
            buffer.copy_from(host, stream=self.stream)
            self.stream.sync()
            return time.perf_counter() - start

        def out():
            start = time.perf_counter()
            buffer.copy_to(host, stream=self.stream)
            self.stream.sync()
            return time.perf_counter() - start

        return median_of(into), median_of(out)

    def array_copies(self):
        """The same of an ordinary NumPy array; cuda.core has no such copy."""
        if self.name != "holdfast.core":
            return None, None
        array = np.ones(BYTES, np.uint8)
        buffer = self.device.allocate(BYTES, stream=self.stream)

        def into():
            start = time.perf_counter()
            buffer.copy_from(array, stream=self.stream)
            self.stream.sync()
            return time.perf_counter() - start

        def out():
            start = time.perf_counter()
            buffer.copy_to(array, stream=self.stream)
            return time.perf_counter() - start

        return median_of(into), median_of(out)

    def figures(self):
        self.launches(False, True)
        import_only = median_of(lambda: import_time(self.name))
        script = median_of(lambda: run_process(SCRIPT.format(core=self.name, code=CODE)))
        into, out = self.copies()
        array_into, array_out = self.array_copies()
        view = self.torch_view()

        def rate(seconds):
            return "" if seconds is None else f"{BYTES / seconds / 1e9:.1f} GB/s"

        return {
            "import": f"{import_only * 1e3:.1f} ms",
            "SAXPY script, start to end": f"{script * 1e3:.0f} ms",
            "launch issued": f"{median_of(lambda: self.launches(False, False)) * 1e6:.2f} us",
            "launches a second, pipelined":
                f"{1 / median_of(lambda: self.launches(False, True)):,.0f}",
            "launch + synchronise": f"{median_of(lambda: self.launches(True, True)) * 1e6:.2f} us",
            f"graph of {NODES} launches, issued": f"{self.graph_launches(False) * 1e6:.2f} us",
            f"graph of {NODES} launches + synchronise":
                f"{self.graph_launches(True) * 1e6:.2f} us",
            "a view into PyTorch": "" if view is None else f"{view * 1e6:.1f} us",
            "256 MiB, pinned to device": rate(into),
            "256 MiB, device to pinned": rate(out),
            "256 MiB, NumPy to device": rate(array_into),
            "256 MiB, device to NumPy": rate(array_out),
        }  # fmt: skip


def main():
    wanted = sys.argv[1:] or ["holdfast", "cuda"]
    results = {}
    for name in wanted:
        core = f"{name}.core"
        try:
            importlib.import_module(core)
        except ImportError as error:
            print(f"{core}: {error}", file=sys.stderr)
            continue
        if name == "holdfast" and "HOLDFAST_ADDRESS" not in os.environ:
            import holdfast

            os.environ["HOLDFAST_ADDRESS"] = holdfast.default_session().address
        bench = Bench(core)
        results[core] = bench.figures()
        print(f"{core} on {bench.device.name}", file=sys.stderr)
    columns = list(results)
    print("| |", " | ".join(columns), "|")
    print("| --- |" + " --- |" * len(columns))
    for figure in next(iter(results.values())):
        print(f"| {figure} |", " | ".join(results[c][figure] for c in columns), "|")


if __name__ == "__main__":
    main()
