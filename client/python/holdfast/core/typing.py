# SPDX-License-Identifier: Apache-2.0
"""The values that options and properties have by name, and types for annotations, as
``cuda.core.typing`` has them. A value is a str, and a str does in its place."""

import enum
import typing

__all__ = [
    "AddressModeType",
    "ArrayFormatType",
    "CompilerBackendType",
    "DevicePointerType",
    "DeviceResourcesType",
    "FilterModeType",
    "GraphConditionalType",
    "GraphMemoryType",
    "IsStreamType",
    "ManagedMemoryLocationType",
    "ObjectCodeFormatType",
    "PCHStatusType",
    "ProcessStateType",
    "ReadModeType",
    "SourceCodeType",
    "VirtualMemoryAccessType",
    "VirtualMemoryAllocationType",
    "VirtualMemoryGranularityType",
    "VirtualMemoryHandleType",
    "VirtualMemoryLocationType",
    "WorkqueueSharingScopeType",
]


class _Names(str, enum.Enum):
    """Values that are their names; ``enum.StrEnum``, which Python 3.10 does not have."""

    __str__ = str.__str__
    __format__ = str.__format__


def _names(name, text, **values):
    made = _Names(name, values, module=__name__, qualname=name)
    made.__doc__ = text
    return made


@typing.runtime_checkable
class IsStreamType(typing.Protocol):
    """An object of another library that stands for a stream."""

    def __cuda_stream__(self):
        """(version, handle)."""


# Buffer.handle: an Address, or the number of one.
DevicePointerType = typing.Union[int, typing.SupportsIndex, None]
DeviceResourcesType = typing.Sequence[object]
ProcessStateType = typing.Literal["running", "locked", "checkpointed", "failed"]

# As cuda.core had them before 1.0.
DevicePointerT = DevicePointerType
IsStreamT = IsStreamType

SourceCodeType = _names(
    "SourceCodeType", "The language of a Program.", CXX="c++", PTX="ptx", NVVM="nvvm"
)
ObjectCodeFormatType = _names(
    "ObjectCodeFormatType",
    "What Program.compile and Linker.link make.",
    PTX="ptx", CUBIN="cubin", LTOIR="ltoir", FATBIN="fatbin", OBJECT="object", LIBRARY="library",
)  # fmt: skip
CompilerBackendType = _names(
    "CompilerBackendType",
    "What compiles or links.",
    NVRTC="NVRTC", NVVM="NVVM", NVJITLINK="nvJitLink", DRIVER="driver",
)  # fmt: skip
PCHStatusType = _names(
    "PCHStatusType",
    "What became of a precompiled header.",
    CREATED="created", NOT_ATTEMPTED="not_attempted", FAILED="failed",
)  # fmt: skip
GraphConditionalType = _names(
    "GraphConditionalType", "The kind of a ConditionalNode.", IF="if", WHILE="while", SWITCH="switch"
)
GraphMemoryType = _names(
    "GraphMemoryType",
    "Whose memory an AllocNode allocates.",
    DEVICE="device", HOST="host", MANAGED="managed",
)  # fmt: skip
ManagedMemoryLocationType = _names(
    "ManagedMemoryLocationType",
    "Where managed memory lies.",
    DEVICE="device", HOST="host", HOST_NUMA="host_numa",
)  # fmt: skip
VirtualMemoryHandleType = _names(
    "VirtualMemoryHandleType",
    "How a VirtualMemoryResource's memory is exported.",
    POSIX_FD="posix_fd", WIN32_KMT="win32_kmt", FABRIC="fabric",
)  # fmt: skip
VirtualMemoryLocationType = _names(
    "VirtualMemoryLocationType",
    "Where a VirtualMemoryResource's memory lies.",
    DEVICE="device", HOST="host", HOST_NUMA="host_numa", HOST_NUMA_CURRENT="host_numa_current",
)  # fmt: skip
VirtualMemoryGranularityType = _names(
    "VirtualMemoryGranularityType",
    "Of what sizes a VirtualMemoryResource's memory is made.",
    MINIMUM="minimum", RECOMMENDED="recommended",
)  # fmt: skip
VirtualMemoryAccessType = _names(
    "VirtualMemoryAccessType",
    "What kernels may do with a VirtualMemoryResource's memory.",
    READ_WRITE="rw", READ="r",
)  # fmt: skip
VirtualMemoryAllocationType = _names(
    "VirtualMemoryAllocationType",
    "The kind of a VirtualMemoryResource's memory.",
    PINNED="pinned", MANAGED="managed",
)  # fmt: skip
ArrayFormatType = _names(
    "ArrayFormatType",
    "The elements of an array for textures.",
    UINT8="uint8", UINT16="uint16", UINT32="uint32", INT8="int8", INT16="int16", INT32="int32",
    FLOAT16="float16", FLOAT32="float32",
)  # fmt: skip
AddressModeType = _names(
    "AddressModeType",
    "What a texture has outside of its array.",
    WRAP="wrap", CLAMP="clamp", MIRROR="mirror", BORDER="border",
)  # fmt: skip
FilterModeType = _names(
    "FilterModeType", "What a texture has between elements.", POINT="point", LINEAR="linear"
)
ReadModeType = _names(
    "ReadModeType",
    "The type that a texture's elements are read as.",
    ELEMENT_TYPE="element_type", NORMALIZED_FLOAT="normalized_float",
)  # fmt: skip
WorkqueueSharingScopeType = _names(
    "WorkqueueSharingScopeType",
    "Who shares work queues.",
    DEVICE_CTX="device_ctx", GREEN_CTX_BALANCED="green_ctx_balanced",
)  # fmt: skip
