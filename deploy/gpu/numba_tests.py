#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the installed package numba-cuda natively and in daemons, and compares the results.

    numba_tests.py ADDRESS [ADDRESS...]      such as unix:/run/holdfast/holdfast.sock

Each module of tests runs in a process of its own, $JOBS at a time. HOLDFAST is the command line. Prints
how many tests pass natively, how many of these pass in each daemon, and the reason of each that does not.
Exit status: 1 if less than 99 % pass in a daemon. PATTERN chooses modules, by default all.

Tests that compare compiler output need the package filecheck. Without it, these tests count for neither
side: they fail natively.
"""

import collections
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import types
import unittest

_NATIVE = "native"
_SECONDS = 300  # for one module


class _Recorder(unittest.TestResult):
    """Prints a line for each test when it starts and when it ends, so that a crash loses only one."""

    def _say(self, test, outcome, error=None):
        words = str(error[1]).strip().splitlines() if error else []
        print(json.dumps([test.id(), outcome, words[-1][:160] if words else ""]), flush=True)

    def startTest(self, test):
        super().startTest(test)
        self._say(test, "the process ended")

    def addSuccess(self, test):
        self._say(test, "passed")

    def addExpectedFailure(self, test, err):
        self._say(test, "passed")

    def addSkip(self, test, reason):
        self._say(test, "skipped")

    def addFailure(self, test, err):
        self._say(test, "failed", err)

    def addError(self, test, err):
        self._say(test, "failed", err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._say(test, "failed", err)


def _run_module(name):
    """In the child process."""
    import numpy

    # NumPy 2.5 has no longer what numba-cuda looks up when it is imported.
    if not hasattr(numpy, "row_stack"):
        numpy.row_stack = numpy.vstack
    try:
        import filecheck  # noqa: F401
    except ImportError:
        for part in ("", ".matcher", ".options", ".parser", ".finput"):
            module = types.ModuleType("filecheck" + part)
            module.__getattr__ = lambda attribute: type(attribute, (), {})
            module.__path__ = []
            sys.modules[module.__name__] = module
    unittest.defaultTestLoader.loadTestsFromName(name).run(_Recorder())


def _outcomes(where, name):
    """{test: (outcome, reason)} of one module, on NVIDIA's driver or in the daemon at an address."""
    command = [sys.executable, __file__, "--module", name]
    if where != _NATIVE:
        holdfast = os.environ.get("HOLDFAST", "holdfast")
        command = [holdfast, "exec", f"--address={where}", "--", *command]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False).stdout
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b"").decode()
    found = {}
    for line in output.splitlines():
        if line.startswith('["'):
            test, outcome, reason = json.loads(line)
            if found.get(test, ("",))[0] != "failed":  # of a part of it
                found[test] = outcome, reason
    return found


def _modules():
    import numba_cuda

    root = pathlib.Path(numba_cuda.__file__).parent / "numba" / "cuda"
    pattern = os.environ.get("PATTERN", "*")
    files = sorted((root / "tests").rglob("test_*.py"))
    names = [".".join(("numba", "cuda", *file.relative_to(root).with_suffix("").parts)) for file in files]
    return [name for name in names if fnmatch.fnmatch(name, pattern)]


def _compare(native, daemon, where):
    """Returns whether 99 % of what passes natively passes."""
    passed = [test for test, (outcome, _) in native.items() if outcome == "passed"]
    wrong = collections.defaultdict(list)
    for test in passed:
        outcome = daemon.get(test, ("did not run", ""))
        if outcome[0] != "passed":
            wrong[outcome].append(test)
    right = len(passed) - sum(map(len, wrong.values()))
    print(f"{where}: {right} of the {len(passed)} tests that pass natively ({right / max(len(passed), 1):.1%})")
    for (outcome, reason), tests in sorted(wrong.items(), key=lambda item: -len(item[1])):
        print(f"  {len(tests)} {outcome}: {reason} ({tests[0]})")
    return right >= 0.99 * len(passed) and passed


def main(addresses):
    if not addresses or addresses[0].startswith("-"):
        print(__doc__)
        return 2
    places = [_NATIVE, *addresses]
    outcomes = {where: {} for where in places}
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "8"))) as pool:
        running = {pool.submit(_outcomes, where, name): where for name in _modules() for where in places}
        for done in concurrent.futures.as_completed(running):
            outcomes[running[done]].update(done.result())
    good = [_compare(outcomes[_NATIVE], outcomes[where], where) for where in addresses]
    return 0 if all(good) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--module"]:
        _run_module(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1:]))
