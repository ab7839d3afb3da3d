# SPDX-License-Identifier: Apache-2.0
"""Kernels that Triton compiles, by their PTX and by their cubin."""

import sys

try:
    import torch
    import triton
    import triton.language as tl

    torch.zeros(1, device="cuda")
except Exception as error:
    print(f"not run: no Triton with a GPU: {type(error).__name__}")
    sys.exit(77)

import numpy as np

from checks import core, device, down, equal, finish, run, up, works, zeros


@triton.jit
def axpy(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * 2 + tl.load(y + i, i < n), i < n)


N = 1000
t = torch.arange(N, dtype=torch.float32, device="cuda")
compiled = axpy[(4,)](t, t, torch.empty_like(t), N, BLOCK=256)
x = np.arange(N, dtype=np.float32)
for kind, make in (("ptx", core.ObjectCode.from_ptx), ("cubin", core.ObjectCode.from_cubin)):

    def launched():
        code = compiled.asm[kind]
        kernel = make(code.encode() if isinstance(code, str) else code).get_kernel(compiled.metadata.name)
        out = zeros(N, np.float32)
        # Newer versions of Triton have parameters of their own behind the kernel's.
        more = [np.uint64(0)] * (len(kernel.arguments_info) - 4)
        threads = compiled.metadata.num_warps * 32
        run(kernel, 4, threads, up(x), up(x * 5), out, np.int32(N), *more, shmem_size=compiled.metadata.shared)
        return down(out, np.float32)

    equal(f"{kind} of Triton's", works(kind, launched), x * 7)
finish()
