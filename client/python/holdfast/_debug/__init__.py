# SPDX-License-Identifier: Apache-2.0
"""Which lines of a program submitted the commands of a session with ``debug=True``.

Imported when the first such session is opened. From then on the native calls of this process are
wrapped, so that each notes its commands' numbers and its caller; before, nothing is.
"""

import functools
import linecache
import os
import re
import sys
from collections import deque
from typing import NamedTuple

from holdfast import _native, _session
from holdfast._errors import CUDAError
from holdfast.core import _buffer, _event, _launch, _module, _semaphore, _stream
from holdfast.core.graph import _graph

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Of a session; those of older commands are forgotten.
_MAX_LINES = 1 << 16
# That one error names.
_MAX_NAMED = 4

_CLASSES = (
    _session.Session, _stream.Stream, _buffer.Buffer, _event.Event, _module.Kernel, _graph.Graph,
    _semaphore.Semaphore,
)  # fmt: skip
# They begin or end what they are called for, or are how the commands are counted.
_NOT_WATCHED = ("_begin", "_close", "_flush")


class _Line(NamedTuple):
    """A line that submitted the commands `first` to `last`."""

    first: int
    last: int
    file: str
    number: int

    def describe(self):
        source = linecache.getline(self.file, self.number).strip()
        return f"{self.file}:{self.number}" + (f": {source}" if source else "")


class Submissions:
    """The lines that submitted the commands of one session, the newest last."""

    def __init__(self):
        self._lines = deque(maxlen=_MAX_LINES)

    def add(self, first, last, frame):
        """Notes that the frame's line submitted the commands ``first`` to ``last``."""
        if first <= last:
            self._lines.append(_Line(first, last, frame.f_code.co_filename, frame.f_lineno))

    def explain(self, error):
        """Has the error name the lines that submitted what failed, once."""
        if error.submitted_at:
            return
        lines = []
        for number in _failed(error):
            line = next((x for x in self._lines if x.first <= number <= x.last), None)
            if line is not None and line[2:] not in (known[2:] for known in lines):
                lines.append(line)
        error.submitted_at = tuple((line.file, line.number) for line in lines)
        named = [f"\n  submitted at {line.describe()}" for line in lines[:_MAX_NAMED]]
        if len(lines) > _MAX_NAMED:
            named.append(f"\n  or at one of {len(lines) - _MAX_NAMED} other lines")
        error.args = (str(error) + "".join(named), *error.args[1:])


def _failed(error):
    """The numbers of the commands that may have failed, the likeliest alone if it is known."""
    one = re.search(r"\bcommand (\d+) failed", str(error))
    if one:
        return [int(one[1])]
    commands = [command.split(": ", 1) for command in getattr(error, "last_commands", ())]
    # What was completed did not fault.
    may_have_run = [
        (int(number), what)
        for number, what in commands
        if error.completed_through < int(number) <= error.submitted_through
    ]
    launch = re.compile(rf"launch {re.escape(error.kernel)}( |$)") if may_have_run else None
    blamed = [number for number, what in may_have_run if error.kernel and launch.match(what)]
    return blamed or [number for number, _ in may_have_run]


def _callers_frame():
    """The innermost frame outside of this package."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


def _session_of(arguments):
    """The open session that a native call is for, if it can be told and notes its lines."""
    for one in arguments[:2]:
        if not isinstance(one, _session.Session):
            device = getattr(one, "_device", None)
            one = getattr(one, "_session", None) or getattr(device, "_session", None)
        if one is not None:
            noted = one._submissions is not None and not one._closed
            return one if noted else None
    return None


def _watch(function):
    @functools.wraps(function)
    def watched(*arguments):
        session = _session_of(arguments)
        if session is None:
            return function(*arguments)
        first = session._flush() + 1
        failure = None
        try:
            return function(*arguments)
        except CUDAError as error:
            failure = error
            raise
        finally:
            if not session._closed:
                session._submissions.add(first, session._flush(), _callers_frame())
            if failure is not None:
                session._submissions.explain(failure)

    return watched


@functools.cache
def _watch_all():
    _launch._launch = _watch(_launch._launch)
    for watched_class in _CLASSES:
        native = next(base for base in watched_class.__mro__ if base.__module__ == _native.__name__)
        for name, function in vars(native).items():
            if callable(function) and not name.startswith("__") and name not in _NOT_WATCHED:
                setattr(watched_class, name, _watch(function))


def note(session):
    """From now on the session's errors name the lines that submitted what failed."""
    _watch_all()
    session._submissions = Submissions()
