# SPDX-License-Identifier: Apache-2.0
"""Runs the command line program ``holdfast``, for ``python -m holdfast``."""

import os
import shutil
import sys


def _on_path():
    """Returns the first executable ``holdfast`` in $PATH that is not a script, or None.

    The package installs a script ``holdfast`` that calls this module. The function skips scripts,
    because the script would otherwise execute itself.
    """
    for folder in os.get_exec_path():
        program = shutil.which("holdfast", path=folder)
        if program is not None and not _is_script(program):
            return program
    return None


def _is_script(program):
    """Whether a program starts with "#!". One that cannot be read is no script: scripts are read."""
    try:
        with open(program, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def main():
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "holdfast")
    program = os.environ.get("HOLDFAST_CLI") or (
        beside if os.access(beside, os.X_OK) else _on_path()
    )
    if program is None:
        sys.exit("the program holdfast is neither in the package nor in $PATH; set HOLDFAST_CLI")
    os.execv(program, ["holdfast", *sys.argv[1:]])


if __name__ == "__main__":
    main()
