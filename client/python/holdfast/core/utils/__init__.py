# SPDX-License-Identifier: Apache-2.0
"""Arrays of any library, seen alike, copies of many Buffers, and caches of programs; as ``cuda.core.utils`` has them."""

from holdfast.core.utils._copies import (
    CopyOptions,
    MemcpyOverlapMode,
    MemcpySrcAccessOrder,
    copy_batch,
)
from holdfast.core.utils._strided import StridedMemoryView, args_viewable_as_strided_memory

__all__ = [
    "CopyOptions",
    "FileStreamProgramCache",
    "InMemoryProgramCache",
    "MemcpyOverlapMode",
    "MemcpySrcAccessOrder",
    "ProgramCacheResource",
    "StridedMemoryView",
    "args_viewable_as_strided_memory",
    "copy_batch",
    "make_program_cache_key",
]

# The modules of names that are imported when they are first used.
_LATER = {
    "FileStreamProgramCache": "_program_cache",
    "InMemoryProgramCache": "_program_cache",
    "ProgramCacheResource": "_program_cache",
    "make_program_cache_key": "_program_key",
}


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"holdfast.core.{_LATER[name]}"), name)
