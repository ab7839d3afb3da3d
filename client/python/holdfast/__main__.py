# SPDX-License-Identifier: Apache-2.0
"""Runs the programs that the package carries.

``python -m holdfast`` is the command line ``holdfast``. pip makes the scripts ``holdfast`` and
``holdfastd``.
"""

import os
import shutil
import sys


def _on_path(name):
    """Returns the first executable ``name`` in $PATH that is not a script, or None.

    The package installs scripts that call this module; a script that is not skipped would execute
    itself.
    """
    for folder in os.get_exec_path():
        program = shutil.which(name, path=folder)
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


def _execute(name, variable):
    """Replaces this process by the program that the environment variable names, else by the
    package's, else by that of $PATH."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    program = os.environ.get(variable) or (
        beside if os.access(beside, os.X_OK) else _on_path(name)
    )
    if program is None:
        sys.exit(f"the program {name} is neither in the package nor in $PATH; set {variable}")
    os.execv(program, [name, *sys.argv[1:]])


def main():
    _execute("holdfast", "HOLDFAST_CLI")


def daemon():
    _execute("holdfastd", "HOLDFAST_DAEMON")


if __name__ == "__main__":
    main()
