# SPDX-License-Identifier: Apache-2.0
"""Copies of many Buffers by one call."""

from holdfast.core._borrowed_stream import LEGACY_DEFAULT_STREAM
from holdfast.core._buffer import Buffer
from holdfast.core._options import Options
from holdfast.core._stream import check_stream
from holdfast.core.typing import _names

MemcpySrcAccessOrder = _names(
    "MemcpySrcAccessOrder",
    "When a copy reads its source: in the stream's order, before the call returns, or at any time.",
    STREAM="stream", DURING_API_CALL="during_api_call", ANY="any",
)  # fmt: skip
MemcpyOverlapMode = _names(
    "MemcpyOverlapMode",
    "Whether a copy is to run beside kernels.",
    DEFAULT="default", PREFER_OVERLAP_WITH_COMPUTE="prefer_overlap_with_compute",
)  # fmt: skip
for _type in (MemcpySrcAccessOrder, MemcpyOverlapMode):
    _type.__module__ = __name__


class CopyOptions(Options):
    """Hints of a copy. None changes its bytes. Cannot be changed.

    Fields:
        src_access_order: ``"during_api_call"``: the source may be changed when the call returns.
            Others read in the stream's order.
        src_location_hint, dst_location_hint, overlap_mode: make no difference.
    """

    _fields = {
        "src_access_order": "stream",
        "src_location_hint": None,
        "dst_location_hint": None,
        "overlap_mode": "default",
    }

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for field, values in (
            ("src_access_order", MemcpySrcAccessOrder), ("overlap_mode", MemcpyOverlapMode),
        ):  # fmt: skip
            try:
                self.__dict__[field] = values(self.__dict__[field])
            except ValueError:
                raise ValueError(f"invalid {field}: {self.__dict__[field]!r}") from None

    def __setattr__(self, name, value):
        raise AttributeError(f"CopyOptions cannot be changed: {name}")

    def __hash__(self):
        return hash(tuple(self.__dict__.values()))


def _of_each(options, count):
    if options is None or isinstance(options, CopyOptions):
        return (options or CopyOptions(),) * count
    options = tuple(options)
    if len(options) != count:
        raise ValueError(f"options length {len(options)} does not match the {count} copies")
    for option in options:
        if not isinstance(option, CopyOptions):
            raise TypeError(f"a CopyOptions expected, got {type(option).__name__}")
    return options


def copy_batch(stream, srcs, dsts, *, options=None):
    """Copies each of ``srcs`` to the one of ``dsts`` at its place, in the order of ``stream``.

    Args:
        stream: not one that is recorded as a graph, nor LEGACY_DEFAULT_STREAM.
        srcs, dsts: as many Buffers, of the same sizes in pairs. No source lies in a destination.
        options: CopyOptions for all, or one for each.

    Raises:
        TypeError, ValueError: nothing was copied.
    """
    if stream is LEGACY_DEFAULT_STREAM:
        raise TypeError("copy_batch does not accept LEGACY_DEFAULT_STREAM: make a stream")
    target = check_stream(stream)
    if target is not stream and hasattr(stream, "_captured_stream_"):
        raise TypeError("copy_batch does not accept a GraphBuilder: copy Buffer by Buffer")
    if target._builder is not None:
        raise TypeError("copy_batch does not accept a stream that is recorded as a graph")
    for name, buffers in (("srcs", srcs), ("dsts", dsts)):
        if isinstance(buffers, Buffer):
            raise TypeError(f"{name} is a sequence of Buffers: for one, use Buffer.copy_to")
    srcs, dsts = tuple(srcs), tuple(dsts)
    _check(srcs, dsts)
    orders = {option.src_access_order for option in _of_each(options, len(srcs))}
    for src, dst in zip(srcs, dsts):
        dst.copy_from(src, stream=target)
    if MemcpySrcAccessOrder.DURING_API_CALL in orders:
        target.sync()


def _check(srcs, dsts):
    if len(srcs) != len(dsts):
        raise ValueError(f"srcs has {len(srcs)} Buffers, dsts {len(dsts)}")
    for index, (src, dst) in enumerate(zip(srcs, dsts)):
        for buffer in (src, dst):
            if not isinstance(buffer, Buffer):
                raise TypeError(f"a Buffer expected at {index}, got {type(buffer).__name__}")
            buffer._check_open()
        if src.size != dst.size:
            raise ValueError(
                f"buffer sizes mismatch at {index} (sizes are: src={src.size}, dst={dst.size})"
            )
