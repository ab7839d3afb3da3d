# SPDX-License-Identifier: Apache-2.0
"""A line that says how far long work is. Silent where nobody looks."""

import sys
import time

_DELAY = 0.5  # seconds before anything is shown
_INTERVAL = 0.1


def is_terminal(file):
    return file is not None and file.isatty()


class Progress:
    """Shows bytes that are done, of all: ``with Progress("loading", total) as shown``.

    Args:
        shown: None: if standard error is a terminal.
    """

    def __init__(self, what, total, *, shown=None, file=None):
        self._what = what
        self._total = total
        self._done = 0
        self._file = sys.stderr if file is None else file
        self._shown = is_terminal(self._file) if shown is None else bool(shown)
        self._start = self._last = time.monotonic()
        self._width = 0

    @property
    def is_shown(self):
        return self._shown

    def advance(self, size):
        self._done += size
        now = time.monotonic()
        if self._shown and now - self._start > _DELAY and now - self._last > _INTERVAL:
            self._last = now
            self._print(now)

    def _print(self, now):
        seconds = max(now - self._start, 1e-9)
        share = 100 * self._done // max(self._total, 1)
        line = (
            f"{self._what}: {share:3d} %, {self._done / 1e6:.0f} of {self._total / 1e6:.0f} MB, "
            f"{self._done / 1e6 / seconds:.0f} MB/s"
        )
        self._width = max(self._width, len(line))
        self._file.write("\r" + line.ljust(self._width))
        self._file.flush()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        if self._width > 0:
            self._print(time.monotonic())
            self._file.write("\n")


class Line:
    """A line about a compilation: how long it waits or runs. Called some ten times a second."""

    def __init__(self, what, file):
        self._what = what
        self._file = file
        self._start = time.monotonic()
        self._width = 0

    def __call__(self, position, length):
        seconds = time.monotonic() - self._start
        if seconds < _DELAY:
            return
        place = f", {position} of {length} in the queue" if position > 0 else ""
        line = f"{self._what}: {seconds:.1f} s{place}"
        self._width = max(self._width, len(line))
        self._file.write("\r" + line.ljust(self._width))
        self._file.flush()

    def close(self):
        if self._width > 0:
            self._file.write("\r" + " " * self._width + "\r")
            self._file.flush()


def compile_line(what):
    """A Line, or None where nobody looks."""
    return Line(what, sys.stderr) if is_terminal(sys.stderr) else None
