# SPDX-License-Identifier: Apache-2.0
"""A program is compiled by its own options, whatever others compile at the same time or before."""

import itertools
import re
import time

from checks import build, finish, holds

SOURCE = 'extern "C" __global__ void step(int* to, const int* from) { to[0] = from[0] + 1; to[1] = from[0] + 1; }'
numbers = itertools.count()


def ptx(**options):
    """Of a source that nobody has compiled before."""
    code = build(f"{SOURCE} // {time.time_ns()} {next(numbers)}", code_type="ptx", **options).code
    lines = re.sub(r"//.*", "", code.decode(errors="replace").replace("\0", "")).splitlines()
    return "\n".join(line for line in lines if line.strip())


plain = ptx()
holds("pointers of a plain program may overlap", "ld.global.nc" not in plain, "ld.global.nc")
for options in ({"restrict": True}, {"debug": True}, {"lineinfo": True}, {"use_fast_math": True}, {"fma": False}):
    for _ in range(4):
        ptx(**options)
    after = [ptx() for _ in range(4)]
    name = ", ".join(options)
    holds(f"a plain program after others with {name}", all(text == plain for text in after), "its PTX has changed")
finish()
