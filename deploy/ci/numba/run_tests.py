# SPDX-License-Identifier: Apache-2.0
"""Runs numba's own CUDA tests in an order that is always the same and has no order of topics.

    run_tests.py SECONDS

Stops after SECONDS: the tests that ran by then are a sample of all. A test whose code NVIDIA's
compiler refuses says nothing about the driver. Fails if less than 99 % of the other tests are
right.
"""

import os
import random
import sys
import time
import unittest

import numba

# libNVVM 13 refuses architectures that are gone and IR of older versions.
_OWN_REASONS = ("numba.cuda.cudadrv.error.NvvmError", "numba.cuda.cudadrv.error.NvvmSupportError")


class _Result(unittest.TestResult):
    def __init__(self, deadline):
        super().__init__()
        self.deadline = deadline
        self.right = 0
        self.own_reasons = 0
        self.wrong = []

    def startTest(self, test):
        super().startTest(test)
        if time.monotonic() > self.deadline:
            self.stop()

    def addSuccess(self, test):
        self.right += 1

    def addExpectedFailure(self, test, error):
        self.right += 1

    def addUnexpectedSuccess(self, test):
        self._add_wrong(test, "is expected to fail")

    def addError(self, test, error):
        self._add_failure(test, error)

    def addFailure(self, test, error):
        self._add_failure(test, error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self._add_failure(subtest, error)

    def _add_failure(self, test, error):
        text = self._exc_info_to_string(error, test)
        if any(reason in text for reason in _OWN_REASONS):
            self.own_reasons += 1
        else:
            self._add_wrong(test, text)

    def _add_wrong(self, test, text):
        self.wrong.append(test.id())
        print(f"wrong: {test.id()}\n{text}", flush=True)


def _flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _flatten(test)
        else:
            yield test


def main():
    package = os.path.dirname(numba.__file__)
    found = unittest.TestLoader().discover(
        os.path.join(package, "cuda", "tests"), top_level_dir=os.path.dirname(package)
    )
    tests = list(_flatten(found))
    # Each compiles one function of libdevice for compute capability 5.3.
    tests = [test for test in tests if "TestLibdeviceCompilation" not in test.id()]
    random.Random(13).shuffle(tests)
    result = _Result(time.monotonic() + float(sys.argv[1]))
    unittest.TestSuite(tests).run(result)
    counted = result.right + len(result.wrong)
    share = 100 * result.right / max(counted, 1)
    print(
        f"numba: {result.right} of {counted} tests right ({share:.1f} %), "
        f"{result.own_reasons} fail in numba's compiler, {len(result.skipped)} skipped, "
        f"{len(tests) - result.testsRun} not run"
    )
    return 0 if counted > 0 and share >= 99 else 1


if __name__ == "__main__":
    sys.exit(main())
