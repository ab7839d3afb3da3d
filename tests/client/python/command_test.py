# SPDX-License-Identifier: Apache-2.0
"""The command `holdfast` of the package."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def path(tmp_path, monkeypatch):
    """$PATH with a script `holdfast`, as an environment has one that starts this module."""
    folder = tmp_path / "environment"
    folder.mkdir()
    (folder / "holdfast").write_text(f"#!/bin/sh\nexec {sys.executable} -m holdfast\n")
    (folder / "holdfast").chmod(0o755)
    monkeypatch.delenv("HOLDFAST_CLI")
    monkeypatch.setenv("PATH", str(folder))
    return tmp_path


def test_a_package_without_the_program_does_not_start_itself(path):
    ended = subprocess.run(
        [sys.executable, "-m", "holdfast"], stderr=subprocess.PIPE, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert "neither in the package nor in $PATH" in ended.stderr


def test_it_starts_the_program_of_the_path(path, monkeypatch):
    (path / "holdfast").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", os.environ["PATH"] + os.pathsep + str(path))
    assert subprocess.run([sys.executable, "-m", "holdfast"], timeout=60).returncode == 0
