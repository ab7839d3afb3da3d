# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays to and from Buffers: what has no bytes of its own is refused, what is laid out otherwise too."""

import inspect
import os
import subprocess
import sys

import numpy as np

from checks import core, device, down, equal, finish, holds, refused, stream, works, zeros

buffer = zeros(6, np.float32)
x = np.arange(6, dtype=np.float32)
works("an array goes up", lambda: buffer.copy_from(x, stream=stream))
equal("and comes down", down(buffer, np.float32), x)
refused("an array of Python objects", "object|dtype|type", lambda: buffer.copy_from(np.array([1, 2, 3], object), stream=stream))
refused(
    "a structure with objects in it",
    "object|dtype|type",
    lambda: zeros(4).copy_from(np.zeros(1, [("x", "i8"), ("o", object)]), stream=stream),
)
# Bytes of a device in place of objects would end this process.
CRASH = """
from checks import *
b = zeros(24, np.uint8)
b.fill(0x41, stream=stream)
o = np.zeros(3, object)
try:
    b.copy_to(o, stream=stream)
except (TypeError, ValueError):
    print("refused")
"""
child = subprocess.run([sys.executable, "-c", CRASH], capture_output=True, text=True, env=os.environ)
holds("copy_to an array of Python objects", child.returncode == 0 and "refused" in child.stdout, f"status {child.returncode}")
for order in (">f4", ">i4"):
    name = f"an array of {order}"
    try:
        buffer.copy_from(np.arange(6).astype(order), stream=stream)
        equal(f"{name}: its values", down(buffer, order[1:]), np.arange(6))
    except (TypeError, ValueError):
        holds(f"{name} is refused", True)
    buffer.copy_from(np.arange(6).astype(order[1:]), stream=stream)
    try:
        equal(f"into {name}: its values", buffer.copy_to(np.zeros(6, order), stream=stream), np.arange(6))
    except (TypeError, ValueError):
        holds(f"into {name} is refused", True)
for name, wrong in (
    ("buffer + 1", lambda: buffer + 1),
    ("1 - buffer", lambda: 1 - buffer),
    ("-buffer", lambda: -buffer),
    ("array * buffer", lambda: x * buffer),
    ("buffer / array", lambda: buffer / x),
    ("buffer[2:4]", lambda: buffer[2:4]),
    ("buffer[0] = 1", lambda: buffer.__setitem__(0, 1)),
    ("list(buffer)", lambda: list(buffer)),
    ("buffer.shape", lambda: buffer.shape),
    ("buffer.nbytes", lambda: buffer.nbytes),
    ("numpy.asarray(buffer)", lambda: np.asarray(buffer)),
    ("numpy.add(buffer, 1)", lambda: np.add(buffer, 1)),
):
    refused(f"{name} says what has elements", r"holdfast\.array", wrong)
refused("export of memory that is not shared says how it is", "ipc_enabled=True", lambda: buffer.export())
holds("options show their names", "lineinfo" in str(inspect.signature(core.ProgramOptions)))
holds("a Buffer has no shape for who asks", not hasattr(buffer, "shape"))
refused("every second element", "ascontiguousarray", lambda: buffer.copy_from(np.arange(12, dtype=np.float32)[::2], stream=stream))
refused("an array that may only be read", "read|writ", lambda: buffer.copy_to(np.frombuffer(bytes(24), np.float32), stream=stream))
refused("a part beyond its Buffer", "Buffer|offset", lambda: buffer.sub(20, 8))
equal("nothing is told later", works("the next copy", lambda: down(buffer, np.int32)), np.arange(6))
finish()
