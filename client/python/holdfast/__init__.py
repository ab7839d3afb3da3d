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

from holdfast import _native
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
from holdfast._sharing import SemaphoreDescriptor

__version__ = _native.version

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

    if session is None:
        device = current_device()
        session = default_session() if device is None else device._session
    dtype = numpy.dtype(dtype)
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    shape = tuple(_native.whole_number("shape", extent, 2**63 - 1) for extent in shape)
    size = math.prod(shape) * dtype.itemsize
    if size == 0:
        return numpy.empty(shape, dtype)
    memory = session._take_pinned(size)
    return numpy.frombuffer(memory, dtype, math.prod(shape)).reshape(shape)


def _make_device(session, device_id):
    from holdfast.core._device import Device

    return Device._of(session, device_id)


def _note_submissions(session):
    from holdfast import _debug  # which wraps what the others call as it is

    _debug.note(session)


Session._make_device = _make_device
Session._note_submissions = _note_submissions

_OF_ARRAYS = ("arange", "asarray", "asnumpy", "empty", "full", "zeros")


def __getattr__(name):
    if name in ("array", "bindings", "collections", "core"):  # imported when they are first used
        import importlib

        return importlib.import_module(f"holdfast.{name}")
    if name == "Semaphore":
        from holdfast.core._semaphore import Semaphore

        return Semaphore
    hint = f": holdfast.array.{name}" if name in _OF_ARRAYS else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
