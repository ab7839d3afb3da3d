# SPDX-License-Identifier: Apache-2.0
"""A process that connects with the daemon that the package would use, prints its address, and keeps
a private one alive until standard input ends.

It is a process of its own because a process can have one copy of Holdfast's client: that of
libcuda.so.1, or that of the package.
"""

import sys


def main():
    try:
        from holdfast import _session

        daemon, address = _session._reach(None)
    except Exception as error:
        print(f"error: {error}", flush=True)
        return
    is_private = address.startswith("embedded:")
    print(daemon.address if is_private else address, flush=True)
    if is_private:
        sys.stdin.read()
