# SPDX-License-Identifier: Apache-2.0
"""Several sessions and processes: a spawned child finds its parent's daemon, a forked one is told why not."""

import multiprocessing
import pickle

import numpy as np

import holdfast
from checks import build, core, device, down, equal, finish, holds, refused, run, stream, works, zeros


def address_of(sent, queue):
    try:
        queue.put(sent.session.address)
    except Exception as error:
        queue.put(f"{type(error).__name__}: {error}")


def forked(buffer, queue):
    try:
        queue.put(("went on", down(buffer).tolist()))
    except Exception as error:
        queue.put((type(error).__name__, str(error)))


def main():
    here = device.session.address
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=address_of, args=(device, queue))
    child.start()
    equal("a pickled Device finds its daemon", queue.get(timeout=100), here)
    child.join()
    buffer = zeros(4)
    refused("a Buffer that is not for others says how it would be", "ipc_enabled", lambda: pickle.dumps(buffer))
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=forked, args=(buffer, queue))
    child.start()
    kind, text = queue.get(timeout=100)
    child.join()
    holds("a forked child is told to spawn", kind == "RuntimeError" and "spawn" in text, f"{kind}: {text}")
    equal("the parent goes on", down(buffer), [0] * 4)
    with holdfast.connect(here) as second:
        far = second.device(0)
        there = far.create_stream()
        mine = far.allocate(buffer.size, stream=there)
        refused("memory of two sessions", "session", lambda: mine.copy_from(buffer, stream=there))
        # Devices in a thread are of the session that made them current there.
        device.set_current()
    works("the first session is still there", lambda: down(buffer))


if __name__ == "__main__":
    main()
    finish()
