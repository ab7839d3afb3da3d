# SPDX-License-Identifier: Apache-2.0
"""Arrays of any library, seen alike, and copies of many Buffers; as ``cuda.core.utils`` has them."""

from holdfast.core.utils._copies import (
    CopyOptions,
    MemcpyOverlapMode,
    MemcpySrcAccessOrder,
    copy_batch,
)
from holdfast.core.utils._strided import StridedMemoryView, args_viewable_as_strided_memory

__all__ = [
    "CopyOptions",
    "MemcpyOverlapMode",
    "MemcpySrcAccessOrder",
    "StridedMemoryView",
    "args_viewable_as_strided_memory",
    "copy_batch",
]
