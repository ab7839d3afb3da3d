# SPDX-License-Identifier: Apache-2.0
"""Holdfast: GPUs, or a CPU, behind a warm daemon.

``holdfast.core`` has the names and the behaviour of ``cuda.core``: change the import, and a script
runs in a daemon, here or on another machine::

    from holdfast.core import Device, LaunchConfig, Program, launch

    device = Device()          # of the daemon that runs here, else of a private one
    device.set_current()
    stream = device.create_stream()

``array`` has arrays with a shape and a type, for programs without CuPy. ``connect`` opens sessions
with other daemons, several at once. ``empty_pinned`` makes NumPy arrays that devices copy from and
to without a copy in between. ``Fault`` is raised when a kernel has faulted and the session goes on.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:  # for tools that read sources
    from holdfast._async import run_async
    from holdfast._errors import (
        CUDAError,
        CUDAWarning,
        DaemonUnavailableError,
        Fault,
        InvalidArgumentError,
        LostResource,
        NVRTCError,
        SessionLostError,
    )
    from holdfast._session import Session, connect, current_device, default_session
    from holdfast._sharing import Semaphore, SemaphoreDescriptor

# Where each name comes from. A module is imported when it is first used: a program that uses
# `holdfast.bindings` alone does not load the client library.
_MODULES = {
    "CUDAError": "_errors",
    "CUDAWarning": "_errors",
    "DaemonUnavailableError": "_errors",
    "Fault": "_errors",
    "InvalidArgumentError": "_errors",
    "LostResource": "_errors",
    "NVRTCError": "_errors",
    "Semaphore": "_sharing",
    "SemaphoreDescriptor": "_sharing",
    "Session": "_session",
    "SessionLostError": "_errors",
    "connect": "_session",
    "current_device": "_session",
    "default_session": "_session",
    "run_async": "_async",
}

__all__ = [
    "CUDAError",
    "CUDAWarning",
    "DaemonUnavailableError",
    "Fault",
    "InvalidArgumentError",
    "LostResource",
    "NVRTCError",
    "Semaphore",
    "SemaphoreDescriptor",
    "Session",
    "SessionLostError",
    "array",
    "bindings",
    "collections",
    "connect",
    "current_device",
    "default_session",
    "empty_pinned",
    "run_async",
]


def empty_pinned(shape, dtype=float, *, session=None):
    """A NumPy array in memory that the session's executor has mapped and page-locked.

    ``Buffer.copy_from`` and ``Buffer.copy_to`` move its bytes by the device, without a copy and
    without waiting: leave the array alone until the stream has done the copy. Over a network it is
    ordinary memory, and copies wait.

    Args:
        shape: an int or a tuple of ints.
        dtype: anything that ``numpy.dtype`` takes.
        session: default: that of the current device.
    """
    import math

    import numpy

    from holdfast._session import current_device, default_session

    if session is None:
        device = current_device()
        session = default_session() if device is None else device._session
    dtype = numpy.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = math.prod(shape) * dtype.itemsize
    if size == 0:
        return numpy.empty(shape, dtype)
    memory = session._take_pinned(size)
    return numpy.frombuffer(memory, dtype, math.prod(shape)).reshape(shape)


def __getattr__(name):
    import importlib

    if name in ("array", "bindings", "collections", "core"):
        return importlib.import_module(f"holdfast.{name}")
    if name == "__version__":
        found = importlib.import_module("holdfast._native").version
    elif name in _MODULES:
        found = getattr(importlib.import_module(f"holdfast.{_MODULES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *__all__, "__version__"})
