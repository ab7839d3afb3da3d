# SPDX-License-Identifier: Apache-2.0
from warnings import warn

from holdfast import _native
from holdfast.core import _foreign
from holdfast.core._module import Kernel
from holdfast.core._options import as_options
from holdfast.core._stream import Stream, check_stream

_launch = _native.launch

_FOREIGN_STREAM = (
    "Passing foreign stream objects to this function via the stream protocol is deprecated. "
    "Convert the object explicitly using Stream(obj) instead."
)

# Of a dimension, and of bytes of shared memory.
_MAX = 2**32 - 1


def _to_dim3(name, value):
    """An int or a tuple of up to three, as three."""
    values = value if isinstance(value, (tuple, list)) else (value,)
    has_elements = getattr(value, "ndim", 0) > 0  # an array has __index__, too
    if has_elements or not hasattr(values[0] if values else 1, "__index__"):
        raise ValueError(f"{name} must be an int or a tuple of ints, got {value!r}")
    if not 1 <= len(values) <= 3:
        raise ValueError(f"{name} must have 1 to 3 dimensions, got {value!r}")
    values = tuple(_native.whole_number(name, v, _MAX) for v in values)
    if 0 in values:
        raise ValueError(f"{name} must be at least 1 in every dimension, got {value!r}")
    return values + (1,) * (3 - len(values))


class LaunchConfig(_native.LaunchConfig):
    """The grid, block and options of a launch. A changed value applies to later launches.

    Args:
        grid: blocks; with ``cluster``, clusters. An int or a tuple of up to three.
        cluster: blocks of a cluster; None: no clusters.
        block: threads of a block.
        shmem_size: bytes of dynamic shared memory.
        is_cooperative: all blocks are resident at once; ``cooperative_launch`` before 1.0.
        programmatic_stream_serialization: may begin before the kernel ahead has ended.
    """

    def __init__(
        self,
        grid=None,
        cluster=None,
        block=None,
        shmem_size=None,
        is_cooperative=False,
        programmatic_stream_serialization=False,
        *,
        cooperative_launch=False,
    ):
        if block is None and cluster is not None:
            raise ValueError(
                "block is None: by position, the second value is cluster; name them: grid=, block="
            )
        self._grid = _to_dim3("grid", grid)
        self._block = _to_dim3("block", block)
        self._cluster = None if cluster is None else _to_dim3("cluster", cluster)
        shmem_size = 0 if shmem_size is None else shmem_size
        self._shmem_size = _native.whole_number("shmem_size", shmem_size, _MAX)
        self._is_cooperative = bool(is_cooperative or cooperative_launch)
        self._serialization = bool(programmatic_stream_serialization)
        self._tell()

    def _tell(self):
        """Copies the values to the native base class."""
        blocks = self._grid
        if self._cluster is not None:
            blocks = tuple(g * c for g, c in zip(self._grid, self._cluster))
        self._set(
            blocks,
            self._block,
            self._cluster,
            self._shmem_size,
            self._is_cooperative,
            self._serialization,
        )

    def _setter(field, convert):
        def set_to(self, value):
            setattr(self, field, convert(value))
            self._tell()

        return property(lambda self: getattr(self, field), set_to)

    grid = _setter("_grid", lambda value: _to_dim3("grid", value))
    cluster = _setter(
        "_cluster", lambda value: None if value is None else _to_dim3("cluster", value)
    )
    block = _setter("_block", lambda value: _to_dim3("block", value))
    shmem_size = _setter(
        "_shmem_size", lambda value: _native.whole_number("shmem_size", value, _MAX)
    )
    is_cooperative = _setter("_is_cooperative", bool)
    cooperative_launch = is_cooperative
    programmatic_stream_serialization = _setter("_serialization", bool)
    del _setter

    def _key(self):
        return (
            self._grid,
            self._cluster,
            self._block,
            self._shmem_size,
            self._is_cooperative,
            self._serialization,
        )

    def _copy(self):
        """Returns a copy, for objects that keep the values: the program may change the original."""
        return LaunchConfig(*self._key())

    def __eq__(self, other):
        return isinstance(other, LaunchConfig) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __repr__(self):
        return (
            f"LaunchConfig(grid={self._grid}, cluster={self._cluster}, block={self._block}, "
            f"shmem_size={self._shmem_size}, is_cooperative={self._is_cooperative})"
        )


def launch(stream, config, kernel, *kernel_args):
    """Launches ``kernel`` on ``stream``.

    Arguments are Buffers, NumPy scalars and structs, ctypes objects, complex, bool, and Python's
    int, which gets the size of the parameter, and float, which is a double; also arrays of CuPy,
    PyTorch, JAX and Numba on the device, and pointers to their memory, which the daemon's kernels
    use in place. The launch is submitted: what fails later is raised by the next call that waits.

    Raises:
        TypeError, ValueError, OverflowError: an argument does not fit its parameter.
        InvalidArgumentError, a ValueError: the device has no such grid, block or shared memory, or
            the blocks of a cooperative grid cannot all be resident.
    """
    if _foreign.may_be_foreign(kernel_args):
        kernel_args = _foreign.arguments(check_stream(stream)._device, kernel_args)
    try:
        _launch(stream, config, kernel, *kernel_args)
    except (TypeError, RuntimeError):
        try:
            is_launched = _launch_converted(stream, config, kernel, kernel_args)
        except Exception as error:
            raise error from None  # Its message has the reason; that of the first try has not.
        if not is_launched:
            raise


def _launch_converted(stream, config, kernel, kernel_args):
    """Converts the arguments and launches: a GraphBuilder or another library's stream becomes a
    Stream, a dict a LaunchConfig, and another library's array an argument. Returns False, and
    launches nothing, if there is nothing to convert."""
    if isinstance(stream, LaunchConfig) or isinstance(config, Kernel):
        raise TypeError(
            f"the arguments are launch(stream, config, kernel, *kernel_args), "
            f"got {', '.join(type(one).__name__ for one in (stream, config, kernel))}"
        )
    target = check_stream(stream)
    if not (isinstance(stream, Stream) or hasattr(stream, "_captured_stream_")):
        warn(_FOREIGN_STREAM, DeprecationWarning, stacklevel=3)
    is_dict = isinstance(config, dict) and isinstance(kernel, Kernel)
    known = kernel_args
    kernel_args = _foreign.arguments(target._device, kernel_args)
    unchanged = all(one is other for one, other in zip(known, kernel_args))
    if target is stream and not is_dict and unchanged:
        return False
    _launch(target, as_options(LaunchConfig, config), kernel, *kernel_args)
    if hasattr(stream, "_captured_stream_"):
        stream._keep(kernel, *kernel_args)
    return True
