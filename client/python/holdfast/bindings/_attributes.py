# SPDX-License-Identifier: Apache-2.0
"""Types of what attributes have: C's functions take them through ``void*``."""

import ctypes

from holdfast.bindings import _convert
from holdfast.bindings._codec import Codec
from holdfast.bindings._types import Struct, is_handle

# By enumeration, then by the end of the member's name; types as in the tables, and:
#   b4, b1  a truth value of so many bytes
#   c1024   a text in a buffer of so many bytes
#   []i4    as many numbers as the caller asks for
# All others are "i4", or the type of "".
_TYPES = {
    "CUpointer_attribute": {
        "_ATTRIBUTE_CONTEXT": "h:CUcontext", "_MEMORY_TYPE": "e:CUmemorytype",
        "_DEVICE_POINTER": "h:CUdeviceptr", "_HOST_POINTER": "u8",
        "_P2P_TOKENS": "t:CUDA_POINTER_ATTRIBUTE_P2P_TOKENS", "_SYNC_MEMOPS": "b4",
        "_BUFFER_ID": "u8", "_IS_MANAGED": "b4", "_IS_LEGACY_CUDA_IPC_CAPABLE": "b4",
        "_RANGE_START_ADDR": "h:CUdeviceptr", "_RANGE_SIZE": "u8", "_MAPPED": "b4",
        "_ALLOWED_HANDLE_TYPES": "e:CUmemAllocationHandleType",
        "_IS_GPU_DIRECT_RDMA_CAPABLE": "b4",
        "_ACCESS_FLAGS": "e:CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS",
        "_MEMPOOL_HANDLE": "h:CUmemoryPool", "_MAPPING_SIZE": "u8", "_MAPPING_BASE_ADDR": "u8",
        "_MEMORY_BLOCK_ID": "u8", "_IS_HW_DECOMPRESS_CAPABLE": "b4",
    },
    "CUmemPool_attribute": {
        "_RELEASE_THRESHOLD": "h:cuuint64_t", "_CURRENT": "h:cuuint64_t", "_HIGH": "h:cuuint64_t",
    },
    "cudaMemPoolAttr": {
        "ReleaseThreshold": "h:cuuint64_t", "Current": "h:cuuint64_t", "High": "h:cuuint64_t",
    },
    "CUgraphMem_attribute": {"": "h:cuuint64_t"},
    "cudaGraphMemAttributeType": {"": "h:cuuint64_t"},
    "CUmem_range_attribute": {"_ACCESSED_BY": "[]i4"},
    "cudaMemRangeAttribute": {"AccessedBy": "[]i4"},
    "CUmemAllocationHandleType": {"_FABRIC": "t:CUmemFabricHandle", "_WIN32": "u8"},
    "cudaMemAllocationHandleType": {"Fabric": "t:CUmemFabricHandle", "Win32": "u8"},
    "CUcoredumpSettings": {
        "_FILE": "c1024", "_PIPE": "c1024", "_GENERATION_FLAGS": "u4", "": "b1",
    },
}  # fmt: skip


class Value:
    """Memory for the value of one attribute.

    Args:
        api: the module.
        enumeration: the name of the attribute's enumeration.
        attribute: its member, or a number.
        size: bytes, for values whose size the caller chooses.
    """

    def __init__(self, api, enumeration, attribute, size=4):
        name = getattr(attribute, "name", "") or ""
        if not name and attribute is not None:
            members = api.table["enums"].get(enumeration, ())
            name = next((m for m, value in members if value == int(attribute)), "")
        types = _TYPES.get(enumeration, {})
        kind = next((k for end, k in types.items() if end and name.endswith(end)), None)
        self._kind = kind or types.get("", "i4")
        self._is_truth = self._kind[0] == "b"
        self._count = 0
        if self._kind == "[]i4":
            self._count = max(int(size) // 4, 1)
            self._codec = Codec(api, "i4")
            self.size = 4 * self._count
        elif self._kind[0] == "c":
            self.size = int(self._kind[1:])
        else:
            kind = self._kind.replace("b", "u") if self._is_truth else self._kind
            self._codec = Codec(api, kind)
            self.size = self._codec.size
        self._memory = (ctypes.c_uint64 * (max(self.size, 8) // 8 + 1))()

    def getPtr(self):
        return ctypes.addressof(self._memory)

    def get(self):
        """The value, for Python."""
        if self._kind[0] == "c":
            return ctypes.string_at(self.getPtr())
        if self._kind == "[]i4":
            return self._codec.list(self.getPtr(), self._count, None)
        found = self._codec.read(self._memory, self.getPtr())
        return bool(found) if self._is_truth else found

    def set(self, value):
        """Stores a value of Python; a handle or struct of another type as its bytes."""
        if self._kind[0] == "c":
            value = _convert.text(value)
            if len(value) >= self.size:
                raise ValueError(f"{len(value)} bytes do not fit into {self.size - 1}")
            ctypes.memmove(self._memory, value + b"\0", len(value) + 1)
            self.size = len(value) + 1
        elif isinstance(value, Struct):
            self._memory = value
            self.getPtr = value.getPtr
        elif is_handle(value) and self._kind[0] != "h":
            size = ctypes.sizeof(getattr(value, "_ctype", ctypes.c_uint64))
            ctypes.memmove(self._memory, value.getPtr(), size)
        else:
            self._codec.write(None, self.getPtr(), bool(value) if self._is_truth else value)
        return self


class Values:
    """Memory for the values of several attributes, each of its own type."""

    def __init__(self, api, enumeration, attributes, sizes=None):
        sizes = sizes or [4] * len(attributes)
        self._values = [
            Value(api, enumeration, attribute, size) for attribute, size in zip(attributes, sizes)
        ]
        self._pointers = _convert.make_array(
            ctypes.c_void_p, [value.getPtr() for value in self._values]
        )

    def getPtr(self):
        return ctypes.addressof(self._pointers)

    def get(self):
        return tuple(value.get() for value in self._values)
