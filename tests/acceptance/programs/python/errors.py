# SPDX-License-Identifier: Apache-2.0
"""Errors come once, at the call that is wrong, and a program that catches them goes on."""

import numpy as np

from checks import build, core, device, down, equal, finish, holds, refused, run, stream, works, zeros

module = build('extern "C" __global__ void seven(int* x) { *x = 7; } __device__ int number = 5;')
out = zeros(1)


def goes_on(after):
    def use():
        run(module.get_kernel("seven"), 1, 1, out)
        return int(down(out)[0])

    equal(f"the next launch after {after}", works(f"no second report of {after}", use), 7)


refused("a kernel that is not there", "eight|NOT_FOUND", lambda: module.get_kernel("eight"))
goes_on("a missing kernel")
refused("an object that is none", ".", lambda: core.ObjectCode.from_ptx(b"nothing of the kind").get_kernel("k"))
goes_on("a bad object")
refused("too many threads", "1024|block|INVALID", lambda: (run(module.get_kernel("seven"), 1, 5000, out), stream.sync()))
goes_on("a block that is too large")
refused("an unknown code type", "code|fortran", lambda: core.Program("k", "fortran"))
refused("a source that does not compile", "missing_name", lambda: build("__global__ void k() { missing_name; }"))
try:
    build("__global__ void k() { missing_name; }")
except Exception as error:
    holds("its log stands in the message once", str(error).count("missing_name") <= 2, str(error))
goes_on("a source that does not compile")
first, second = device.create_stream(), device.create_stream()
first.close()
goes_on("a closed stream")
finish()
