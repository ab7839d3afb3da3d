# SPDX-License-Identifier: Apache-2.0
"""``python -m holdfast.bindings._daemon``: connects with the daemon that the package would use,
prints its address, and keeps a private one alive until standard input ends.

It is a process of its own because a process can have one copy of Holdfast's client: that of
libcuda.so.1, or that of the package.
"""

import sys

from holdfast import _session


def _main():
    daemon, address = _session._reach(None)
    print(daemon.address if address.startswith("embedded:") else address, flush=True)
    if address.startswith("embedded:"):
        sys.stdin.read()


if __name__ == "__main__":
    _main()
