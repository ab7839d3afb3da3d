# SPDX-License-Identifier: Apache-2.0
"""What the Python programs share: a device, a stream, and checks, each of which prints a line.

The programs in programs/python use cuda.core's names alone, and run with cuda.core, too
(ACCEPTANCE_CORE=cuda.core). Those in programs/holdfast use what Holdfast has besides.
"""

import ctypes
import importlib
import os
import re
import sys

import numpy as np

CORE = os.environ.get("ACCEPTANCE_CORE", "holdfast.core")
core = importlib.import_module(CORE)
with_holdfast = CORE.startswith("holdfast")

device = core.Device()
device.set_current()
stream = device.create_stream()
_wrong = 0


def _say(ok, title, text=""):
    global _wrong
    _wrong += not ok
    line = title if ok or not text else f"{title}: {text}"
    print(("right: " if ok else "wrong: ") + " ".join(line.split()), flush=True)


def on_host(buffer, dtype):
    """The bytes of a Buffer of pinned memory, which NumPy before 2.1 takes by DLPack for reading only."""
    memory = (ctypes.c_ubyte * buffer.size).from_address(int(buffer.handle))
    return np.frombuffer(memory, dtype)


def holds(title, condition, text=""):
    _say(bool(condition), title, text)


def equal(title, got, wanted):
    got, wanted = np.asarray(got), np.asarray(wanted)
    same = got.shape == wanted.shape and np.array_equal(got, wanted)
    _say(same, title, f"{got.ravel()[:6].tolist()} instead of {wanted.ravel()[:6].tolist()}")


def works(title, function):
    """Its value; an exception is wrong, and None."""
    try:
        value = function()
    except Exception as error:
        _say(False, title, f"{type(error).__name__}: {str(error)[:200]}")
        return None
    _say(True, title)
    return value


def refused(title, pattern, function):
    """It raises, at once, and the message has the pattern."""
    try:
        function()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        _say(re.search(pattern, text, re.S) is not None, title, f"lacks /{pattern}/: {text[:200]}")
        return
    _say(False, title, "accepted")


def finish():
    sys.exit(1 if _wrong else 0)


def build(source, names=(), code_type="cubin", **options):
    options = core.ProgramOptions(**{"std": "c++17", "arch": f"sm_{device.arch}"} | options)
    return core.Program(source, "c++", options).compile(code_type, name_expressions=tuple(names))


def _staged(array, copy):
    """Through pinned memory, which both libraries copy from and to."""
    host = core.LegacyPinnedMemoryResource().allocate(max(array.nbytes, 1))
    address = host.handle if isinstance(host.handle, int) else int(host.handle)
    copy(host, address)
    host.close()


def up(array):
    """A Buffer with the array's bytes."""
    array = np.ascontiguousarray(array)
    buffer = device.allocate(array.nbytes, stream=stream)
    if with_holdfast:
        buffer.copy_from(array, stream=stream)
        return buffer

    def copy(host, address):
        ctypes.memmove(address, array.ctypes.data, array.nbytes)
        buffer.copy_from(host, stream=stream)
        stream.sync()

    _staged(array, copy)
    return buffer


def zeros(count, dtype=np.int32):
    return up(np.zeros(count, dtype))


def down(buffer, dtype=np.int32):
    """The Buffer's bytes as an array; waits."""
    array = np.zeros(buffer.size // np.dtype(dtype).itemsize, dtype)
    if with_holdfast:
        buffer.copy_to(array, stream=stream)
        return array

    def copy(host, address):
        buffer.copy_to(host, stream=stream)
        stream.sync()
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    _staged(array, copy)
    return array


def run(kernel, grid, block, *args, **config):
    core.launch(stream, core.LaunchConfig(grid=grid, block=block, **config), kernel, *args)
