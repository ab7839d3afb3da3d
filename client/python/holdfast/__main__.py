# SPDX-License-Identifier: Apache-2.0
"""``python -m holdfast``: the command line ``holdfast``."""

import os
import shutil
import sys


def _on_path():
    """The first program holdfast of $PATH that is no script, as the one of this package is."""
    for folder in os.get_exec_path():
        program = shutil.which("holdfast", path=folder)
        if program is None:
            continue
        with open(program, "rb") as file:
            if file.read(2) != b"#!":
                return program
    return None


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
