# SPDX-License-Identifier: Apache-2.0
"""The interface of ``cuda.core`` 1.2, served by a Holdfast daemon.

The README of client/python lists every public name: the same, different, or not served.
"""

from holdfast._errors import CUDAError, NVRTCError
from holdfast._sharing import IPCBufferDescriptor, IPCEventDescriptor
from holdfast.core._device import ComputeCapability, Device, DeviceProperties
from holdfast.core._event import Event, EventOptions
from holdfast.core._launch import LaunchConfig, launch
from holdfast.core._linker import Linker, LinkerOptions
from holdfast.core._memory import (
    Buffer,
    DeviceMemoryResource,
    DeviceMemoryResourceOptions,
    GraphMemoryResource,
    LegacyPinnedMemoryResource,
    MemoryResource,
    PinnedMemoryResource,
    PinnedMemoryResourceOptions,
)
from holdfast.core._module import Kernel, ObjectCode
from holdfast.core._program import Program, ProgramOptions
from holdfast.core._stream import Stream, StreamOptions

__all__ = [
    "Buffer",
    "CUDAError",
    "ComputeCapability",
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
    "IPCBufferDescriptor",
    "IPCEventDescriptor",
    "Kernel",
    "LaunchConfig",
    "LegacyPinnedMemoryResource",
    "Linker",
    "LinkerOptions",
    "MemoryResource",
    "NVRTCError",
    "ObjectCode",
    "PinnedMemoryResource",
    "PinnedMemoryResourceOptions",
    "Program",
    "ProgramOptions",
    "Stream",
    "StreamOptions",
    "launch",
]

_OF_GRAPH = (
    "Graph", "GraphBuilder", "GraphCompleteOptions", "GraphDebugPrintOptions", "GraphDefinition",
)  # fmt: skip


def __getattr__(name):
    # Imported when it is first used, since most scripts have no graph.
    if name in _OF_GRAPH or name == "graph":
        import importlib

        graph = importlib.import_module("holdfast.core.graph")
        return graph if name == "graph" else getattr(graph, name)
    if name == "utils":
        import importlib

        return importlib.import_module("holdfast.core.utils")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
