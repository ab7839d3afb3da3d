# SPDX-License-Identifier: Apache-2.0
"""Nodes that launch kernels."""

from holdfast import _native
from holdfast.core._buffer import Buffer
from holdfast.core._held import held, live
from holdfast.core._launch import LaunchConfig
from holdfast.core._options import as_options, not_served
from holdfast.core.graph._node import ChangeableNode, given, is_update


def _is_whole(old, config, kernel):
    """Whether no arguments mean a kernel that has none, and not those of before."""
    if config is None or kernel is None:
        return False
    return old is None or kernel.num_arguments != len(old[2])


def _check_open(arguments):
    for argument in arguments or ():
        if isinstance(argument, Buffer) and argument.is_closed:
            raise ValueError(f"{argument!r}: the Buffer has no active allocation: it is closed")


class KernelNode(ChangeableNode):
    """A launch.

    ``update(config=None, kernel=None, *arguments, args=None)`` changes it: what is left out stays;
    the arguments are given one by one, or as a tuple.
    """

    _kind = "KERNEL"
    _config = None

    @is_update("KernelNode.update")
    def _merged(old, config=None, kernel=None, *arguments, args=None):
        if arguments and args is not None:
            raise TypeError("KernelNode.update() got the kernel's arguments twice")
        if not (args is None or isinstance(args, (tuple, list))):
            raise TypeError(f"args must be a tuple, got {type(args).__name__}")
        if args is None and (arguments or _is_whole(old, config, kernel)):
            args = arguments
        _check_open(args)
        new = (_own(config), kernel, None if args is None else tuple(args))
        if old is None and None in new:
            raise not_served(
                "changing a part of a launch that was recorded", "give config, kernel and args"
            )
        return new if old is None else given(old, new)

    @staticmethod
    def _build(session, values):
        config, kernel, args = values
        params = _native.node_launch(config, kernel, *map(live, args))
        params.set_device(kernel._device_id)
        return params, (kernel, *map(held, args))

    def _begin(self, session, values):
        config, kernel, args = values
        _check_open(args)
        super()._begin(session, (_own(config), kernel, args))

    def _take(self, session, values):
        super()._take(session, values)
        self._config = values[0]

    @property
    def _kernel(self):
        return None if self._values is None else self._values[1]

    @property
    def config(self):
        if self._config is None:
            launch = self._description()["launch"]
            grid, block, cluster = (
                _dim3(launch.get(name)) for name in ("grid", "block", "cluster")
            )
            if cluster is not None:
                grid = tuple(g // c for g, c in zip(grid, cluster))
            self._config = LaunchConfig(
                grid=grid,
                block=block,
                cluster=cluster,
                shmem_size=int(launch.get("dynamic_shared_bytes", 0)),
                is_cooperative=bool(launch.get("cooperative", False)),
            )
        return self._config._copy()

    grid = property(lambda self: self.config.grid)
    block = property(lambda self: self.config.block)
    shmem_size = property(lambda self: self.config.shmem_size)
    kernel = property(
        lambda self: self._kernel, doc="The Kernel; None for a launch that was recorded."
    )

    def _details(self):
        return " kernel=0x0" if self._kernel is None else f" kernel={self._kernel.handle:#x}"


def _own(config):
    """A configuration that the program does not change any more; None: it is left out."""
    return None if config is None else as_options(LaunchConfig, config)._copy()


def _dim3(message):
    if not message:
        return None
    return tuple(int(message.get(axis) or 1) for axis in "xyz")
