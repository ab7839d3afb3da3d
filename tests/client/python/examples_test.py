# SPDX-License-Identifier: Apache-2.0
"""Every example runs as it stands, over both kinds of connection."""

import glob
import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "example", sorted(glob.glob(os.path.join(os.environ["HOLDFAST_EXAMPLES"], "*.py")))
)
def test_the_example_runs(address, example):
    done = subprocess.run(
        [sys.executable, example],
        env=dict(os.environ, HOLDFAST_ADDRESS=address),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
