# SPDX-License-Identifier: Apache-2.0
"""Calls that wait, for asyncio."""

import threading

from holdfast import _session


async def run_async(function, *args, **kwargs):
    """Runs a call that waits in a thread of its own, with the current device of this one::

        code = await holdfast.run_async(program.compile, "cubin")
        await holdfast.run_async(buffer.copy_to, array, stream=stream)

    If the task is cancelled, the call goes on, and its result is dropped.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    future = loop.create_future()
    device = _session.current_device()

    def tell(setter, value):
        if not future.done():
            setter(value)

    def work():
        _session.set_current_device(device)
        try:
            setter, value = future.set_result, function(*args, **kwargs)
        except BaseException as error:
            setter, value = future.set_exception, error
        try:
            loop.call_soon_threadsafe(tell, setter, value)
        except RuntimeError:  # the loop is closed: nobody waits
            pass

    # Not of a pool, whose threads the interpreter would wait for at its end.
    threading.Thread(target=work, daemon=True).start()
    return await future
