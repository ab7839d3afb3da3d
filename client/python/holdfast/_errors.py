# SPDX-License-Identifier: Apache-2.0
"""Exceptions: what the daemon says went wrong."""

import os
import sys
from collections import namedtuple

from holdfast import _native

_CODES = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
    "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
    "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
)  # fmt: skip


# INVALID_ARGUMENT and OUT_OF_RANGE.
_INVALID = (3, 11)


class CUDAError(Exception):
    """A call of the driver failed, or the daemon refused a request.

    Attributes:
        code: the canonical code by name, ``"INVALID_ARGUMENT"``.
        call: the driver's call that failed, ``"cuMemCreate"``; empty if Holdfast refused itself.
        result: its CUresult, 0 if there is none; result_name: ``"CUDA_ERROR_OUT_OF_MEMORY"``.
        explanation: one sentence about the result.
        log: the whole log of the compiler or linker.
        submitted_at: of a session with ``debug=True``: pairs of a file and a line number, the lines
            of the program that submitted what failed.
    """

    code = "UNKNOWN"
    call = ""
    result = 0
    result_name = ""
    explanation = ""
    log = ""
    submitted_at = ()


class CUDAWarning(RuntimeWarning):
    """A failure that no call can raise, or a scalar of another kind than the kernel's parameter, for
    ``warnings.filterwarnings``; cuda.core warns of what its destructors meet, Holdfast raises it by
    the next call that waits."""


class NVRTCError(CUDAError):
    """A source does not compile, or objects do not link; ``log`` says why."""


class InvalidArgumentError(CUDAError, ValueError):
    """A value that is wrong, or beyond the end or the limit of what it is for."""


LostResource = namedtuple("LostResource", ("handle", "reason"))
LostResource.__doc__ = """A resource that did not survive a fault: its ``handle``, and why."""


class Fault(CUDAError):
    """A kernel's fault (an illegal address, a time limit) ended the executor of the session, which
    goes on in another one.

    Raised once, by the first call that would depend on what was lost. Then every object of the
    session is valid, and the memory of devices has the bytes that it had; streams are empty, and
    events as if they were never recorded. Go on, or submit again what was dropped::

        try:
            stream.sync()
        except holdfast.Fault as fault:
            print(fault.kernel, fault.result_name)

    The attributes of CUDAError tell the cause. Besides, there are:

    Attributes:
        epoch: that the fault ended; a session begins in epoch 1.
        cause: one or more sentences.
        device_id, kernel, block, thread, source_line: where. The name is empty if no single kernel
            can be blamed, block and thread are None, the line is empty if the driver does not tell.
        completed_through: every command of the session up to this number took effect, as far as is
            known: up to the last ``session.sync()``, say. Commands are numbered from 1, in the
            order of the calls.
        submitted_through: those up to this number may have run, in part or in whole.
        received_through: those up to this number had arrived, and were dropped.
        last_commands: descriptions of the last that were submitted, the oldest first.
        lost: the resources that did not survive, 64 at most, with ``handle`` and ``reason``;
            lost_count: how many there are.
    """

    epoch = 0
    cause = ""
    device_id = 0
    kernel = ""
    block = None
    thread = None
    source_line = ""
    completed_through = 0
    submitted_through = 0
    received_through = 0
    last_commands = ()
    lost = ()
    lost_count = 0

    def _repr_html_(self):
        from holdfast import _html

        rows = [("kernel", self.kernel or "unknown"), ("cause", self.cause)]
        if self.thread is not None:
            rows.insert(1, ("where", f"block {self.block}, thread {self.thread}"))
        if self.lost_count:
            rows.append(("lost", f"{self.lost_count} resources"))
        return _html.card(f"Fault of epoch {self.epoch}", rows)


class SessionLostError(CUDAError, ConnectionError):
    """The session or its daemon is gone, with every resource of the session.

    A session is lost with its daemon, when it has faulted too often, and by its first fault if it
    was opened with ``recover="never"``. No other session is. Close it, and open a new one.
    """


class DaemonUnavailableError(CUDAError, ConnectionError):
    """There is no daemon at the address, or it cannot serve now."""


def _make_fault(message, values):
    # The message has the first line of the description, in other words.
    first = f"fault of epoch {values['epoch']}: {values['cause']}"
    lines = values.pop("description").removeprefix(first)
    for command in values["last_commands"][:-4]:
        lines = lines.replace(f"\n    {command}", "", 1)
    fault = Fault(message + lines)
    values["lost"] = tuple(LostResource(*lost) for lost in values["lost"])
    vars(fault).update(values)
    return fault


def _make(code, message, call, result_name, result, explanation, log, lost, fault):
    if lost:
        kind = SessionLostError
    elif log and code == 3 and not call.startswith("cu"):
        kind = NVRTCError
    elif code in _INVALID and not result:
        kind = InvalidArgumentError
    elif code == 14:
        kind = DaemonUnavailableError
    else:
        kind = CUDAError
    if result_name and result_name not in message:
        message = f"{result_name}: {message}"
    if log and log not in message:
        title = "\n\ncompilation log:" if kind is NVRTCError else ""
        message = f"{message}{title}\n{log}"
    error = kind(message) if fault is None else _make_fault(message, fault)
    error.code = _CODES[code] if 0 <= code < len(_CODES) else "UNKNOWN"
    error.call = call
    error.result = result
    error.result_name = result_name
    error.explanation = explanation
    error.log = log
    return error


def invalid_argument(message):
    """The exception for a wrong value that this process has seen itself."""
    error = InvalidArgumentError(message)
    error.code = "INVALID_ARGUMENT"
    return error


def warn_program(text):
    """A CUDAWarning at the line of the program that called the package."""
    import warnings

    package = os.path.dirname(os.path.abspath(__file__)) + os.sep
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, CUDAWarning, stacklevel=level)


def out_of_memory(size, device):
    """The exception for more memory than a device has, as the driver tells it."""
    message = (
        f"CUDA_ERROR_OUT_OF_MEMORY: {size} bytes of memory of device {int(device)}, which has "
        f"{device.total_memory}"
    )
    return _make(8, message, "", "CUDA_ERROR_OUT_OF_MEMORY", 2, "", "", False, None)


# The names under which the package has them, for tracebacks and pickles.
for _class in (
    CUDAError, CUDAWarning, DaemonUnavailableError, Fault, InvalidArgumentError, LostResource,
    NVRTCError, SessionLostError,
):  # fmt: skip
    _class.__module__ = "holdfast"

_native.set_exception_factory(_make)
