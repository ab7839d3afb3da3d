# SPDX-License-Identifier: Apache-2.0
import enum
from typing import Any, Literal, Protocol, Sequence, SupportsIndex, Union

class IsStreamType(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...

DevicePointerType = Union[int, SupportsIndex, None]
DeviceResourcesType = Sequence[Any]
ProcessStateType = Literal["running", "locked", "checkpointed", "failed"]
DevicePointerT = DevicePointerType
IsStreamT = IsStreamType

class AddressModeType(str, enum.Enum):
    WRAP = "wrap"
    CLAMP = "clamp"
    MIRROR = "mirror"
    BORDER = "border"

class ArrayFormatType(str, enum.Enum):
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    FLOAT16 = "float16"
    FLOAT32 = "float32"

class CompilerBackendType(str, enum.Enum):
    NVRTC = "NVRTC"
    NVVM = "NVVM"
    NVJITLINK = "nvJitLink"
    DRIVER = "driver"

class FilterModeType(str, enum.Enum):
    POINT = "point"
    LINEAR = "linear"

class GraphConditionalType(str, enum.Enum):
    IF = "if"
    WHILE = "while"
    SWITCH = "switch"

class GraphMemoryType(str, enum.Enum):
    DEVICE = "device"
    HOST = "host"
    MANAGED = "managed"

class ManagedMemoryLocationType(str, enum.Enum):
    DEVICE = "device"
    HOST = "host"
    HOST_NUMA = "host_numa"

class ObjectCodeFormatType(str, enum.Enum):
    PTX = "ptx"
    CUBIN = "cubin"
    LTOIR = "ltoir"
    FATBIN = "fatbin"
    OBJECT = "object"
    LIBRARY = "library"

class PCHStatusType(str, enum.Enum):
    CREATED = "created"
    NOT_ATTEMPTED = "not_attempted"
    FAILED = "failed"

class ReadModeType(str, enum.Enum):
    ELEMENT_TYPE = "element_type"
    NORMALIZED_FLOAT = "normalized_float"

class SourceCodeType(str, enum.Enum):
    CXX = "c++"
    PTX = "ptx"
    NVVM = "nvvm"

class VirtualMemoryAccessType(str, enum.Enum):
    READ_WRITE = "rw"
    READ = "r"

class VirtualMemoryAllocationType(str, enum.Enum):
    PINNED = "pinned"
    MANAGED = "managed"

class VirtualMemoryGranularityType(str, enum.Enum):
    MINIMUM = "minimum"
    RECOMMENDED = "recommended"

class VirtualMemoryHandleType(str, enum.Enum):
    POSIX_FD = "posix_fd"
    WIN32_KMT = "win32_kmt"
    FABRIC = "fabric"

class VirtualMemoryLocationType(str, enum.Enum):
    DEVICE = "device"
    HOST = "host"
    HOST_NUMA = "host_numa"
    HOST_NUMA_CURRENT = "host_numa_current"

class WorkqueueSharingScopeType(str, enum.Enum):
    DEVICE_CTX = "device_ctx"
    GREEN_CTX_BALANCED = "green_ctx_balanced"
