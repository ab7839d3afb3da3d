# SPDX-License-Identifier: Apache-2.0
"""`python -m holdfast` is the command line."""

import subprocess
import sys

from checks import finish, holds

with open("k.cu", "w", encoding="utf-8") as file:
    file.write('#include <cuda_fp16.h>\nextern "C" __global__ void k(float* x) { x[threadIdx.x] = threadIdx.x; }\n')


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "holdfast", *arguments], capture_output=True, text=True)


said = command("devices")
holds("devices", said.returncode == 0, said.stderr)
said = command("run", "k.cu", "--kernel", "k", "--grid", "1", "--block", "8", "out:o.npy:f32[8]")
holds("run", said.returncode == 0, said.stderr)
said = command("run", "k.cu", "--kernel", "none", "--grid", "1", "--block", "8", "out:o.npy:f32[8]")
holds("a missing kernel", said.returncode == 1 and "none" in said.stderr, said.stderr)
finish()
