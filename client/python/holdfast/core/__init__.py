# SPDX-License-Identifier: Apache-2.0
"""The interface of ``cuda.core``, served by a Holdfast daemon: the names of 1.3, and those that
programs for 0.3 and later have for the same things.

``cuda_core_names.txt`` lists every public name: the same, different, or not served.
"""

from holdfast._errors import CUDAError, CUDAWarning, NVRTCError
from holdfast._sharing import IPCBufferDescriptor, IPCEventDescriptor
from holdfast.core._borrowed_stream import (
    LEGACY_DEFAULT_STREAM,
    PER_THREAD_DEFAULT_STREAM,
    default_stream,
)
from holdfast.core._buffer import Buffer
from holdfast.core._context import Context
from holdfast.core._device import ComputeCapability, Device, DeviceProperties
from holdfast.core._event import Event, EventOptions
from holdfast.core._launch import LaunchConfig, launch
from holdfast.core._linker import Linker, LinkerOptions
from holdfast.core._memory import (
    DeviceMemoryResource,
    DeviceMemoryResourceOptions,
    GraphMemoryResource,
    MemoryResource,
)
from holdfast.core._module import Kernel, ObjectCode
from holdfast.core._pinned import (
    LegacyPinnedMemoryResource,
    PinnedMemoryResource,
    PinnedMemoryResourceOptions,
)
from holdfast.core._pool import IPCAllocationHandle, MemoryPoolAttributes
from holdfast.core._program import Program, ProgramOptions
from holdfast.core._stream import Stream, StreamOptions

__all__ = [
    "Buffer",
    "CUDAError",
    "CUDAWarning",
    "ComputeCapability",
    "Context",
    "Device",
    "DeviceMemoryResource",
    "DeviceMemoryResourceOptions",
    "DeviceProperties",
    "Event",
    "EventOptions",
    "Graph",
    "GraphBuilder",
    "GraphCompleteOptions",
    "GraphDebugPrintOptions",
    "GraphDefinition",
    "GraphMemoryResource",
    "IPCAllocationHandle",
    "IPCBufferDescriptor",
    "IPCEventDescriptor",
    "Kernel",
    "LEGACY_DEFAULT_STREAM",
    "LaunchConfig",
    "LegacyPinnedMemoryResource",
    "Linker",
    "LinkerOptions",
    "MemoryPoolAttributes",
    "MemoryResource",
    "NVRTCError",
    "ObjectCode",
    "PER_THREAD_DEFAULT_STREAM",
    "PinnedMemoryResource",
    "PinnedMemoryResourceOptions",
    "Program",
    "ProgramOptions",
    "Stream",
    "StreamOptions",
    "default_stream",
    "launch",
]

# Of cuda.core, whose names these are: what programs ask before they use one.
__version__ = "1.3.0"

_OF_GRAPH = (
    "Graph", "GraphBuilder", "GraphCompleteOptions", "GraphDebugPrintOptions", "GraphDefinition",
)  # fmt: skip


def _make_graph_builder(stream):
    from holdfast.core.graph import GraphBuilder

    return GraphBuilder._make(stream)


# Graphs use streams, whose module therefore does not import theirs.
Stream._make_graph_builder = _make_graph_builder

_MODULES = ("experimental", "graph", "system", "texture", "typing", "utils")


def __getattr__(name):
    # Imported when they are first used, since most scripts need none of them.
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"holdfast.core.{name}")
    if name in _OF_GRAPH:
        return getattr(import_module("holdfast.core.graph"), name)
    if not name.startswith("_"):
        not_served = import_module("holdfast.core._not_served")
        if name in not_served.REASONS:
            return getattr(not_served, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
