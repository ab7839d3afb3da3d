# SPDX-License-Identifier: Apache-2.0
"""Objects from source to code: PTX, LTO IR, linking, templates with long names."""

import numpy as np

from checks import build, core, device, down, equal, finish, run, works, zeros

SOURCE = r"""
template <typename T, int Count> struct VectorOfALengthThatIsKnownBeforehand { T values[Count]; };
template <typename V> __global__ void size_of_an_instance_of_a_template_with_a_long_name(int* out) { *out = sizeof(V); }
"""
name = "size_of_an_instance_of_a_template_with_a_long_name<VectorOfALengthThatIsKnownBeforehand<VectorOfALengthThatIsKnownBeforehand<double, 3>, 5>>"
out = zeros(1)
for kind in ("ptx", "cubin"):
    kernel = works(f"{kind} of an instantiation", lambda: build(SOURCE, names=[name], code_type=kind).get_kernel(name))
    if kernel:
        run(kernel, 1, 1, out)
        equal(f"{kind} runs", down(out), [120])

ptx = build('extern "C" __global__ void four(int* out) { *out = 4; }', code_type="ptx").code
kernel = works("PTX as bytes", lambda: core.ObjectCode.from_ptx(ptx).get_kernel("four"))
if kernel:
    run(kernel, 1, 1, out)
    equal("it runs", down(out), [4])


def linked():
    options = {"relocatable_device_code": True, "link_time_optimization": True}
    one = build('extern __device__ int three(); extern "C" __global__ void k(int* out) { *out = three() * 2; }', code_type="ltoir", **options)
    two = build("__device__ int three() { return 3; }", code_type="ltoir", **options)
    linker = core.Linker(one, two, options=core.LinkerOptions(arch=f"sm_{device.arch}", link_time_optimization=True))
    return linker.link("cubin").get_kernel("k")


kernel = works("two parts are linked", linked)
if kernel:
    run(kernel, 1, 1, out)
    equal("the whole runs", down(out), [6])
finish()
