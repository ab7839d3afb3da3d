#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long cuda.core's cache on disk takes for programs that an earlier process has compiled.

To be set beside "compiled before a restart, on disk" of `holdfast bench --only=compile`: the same sources and
architecture. A second process asks for each program once. Needs cuda.core with FileStreamProgramCache; says so and
exits with 0 where there is none. Prints one JSON value.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time

COUNT = 24
SOURCE = """
extern "C" __global__ void saxpy(float a, float* x, float* y, float* out,
                                 size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}
"""


def compile_all(directory):
    """Microseconds of each compilation, with the cache in the directory."""
    from cuda.core import Program, ProgramOptions
    from cuda.core.utils import FileStreamProgramCache

    options = ProgramOptions(arch="sm_80")
    samples = []
    with FileStreamProgramCache(directory) as cache:
        for number in range(COUNT):
            source = f"{SOURCE}__device__ int number_{number};\n"
            start = time.perf_counter()
            Program(source, "c++", options).compile("ptx", cache=cache)
            samples.append(1e6 * (time.perf_counter() - start))
    return samples


def main():
    if len(sys.argv) == 2:
        print(json.dumps(compile_all(sys.argv[1])))
        return
    try:
        from cuda.core.utils import FileStreamProgramCache  # noqa: F401
    except ImportError as error:
        print(f"no FileStreamProgramCache here: {error}", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as directory:
        runs = []
        for _ in range(2):
            command = [sys.executable, __file__, directory]
            runs.append(json.loads(subprocess.check_output(command)))
    new, found = runs
    print(
        json.dumps(
            {
                "new_us": statistics.median(new),
                "first_found_us": found[0],
                "found_us": statistics.median(found[1:]),
                "found_worst_us": max(found[1:]),
            }
        )
    )


if __name__ == "__main__":
    main()
