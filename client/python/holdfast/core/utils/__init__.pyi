# SPDX-License-Identifier: Apache-2.0
import enum
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from holdfast.core import Address, Buffer, Device, Stream

_Function = TypeVar("_Function", bound=Callable[..., Any])

class MemcpySrcAccessOrder(str, enum.Enum):
    STREAM = "stream"
    DURING_API_CALL = "during_api_call"
    ANY = "any"

class MemcpyOverlapMode(str, enum.Enum):
    DEFAULT = "default"
    PREFER_OVERLAP_WITH_COMPUTE = "prefer_overlap_with_compute"

class CopyOptions:
    src_access_order: MemcpySrcAccessOrder
    src_location_hint: Device | None
    dst_location_hint: Device | None
    overlap_mode: MemcpyOverlapMode
    def __init__(
        self,
        src_access_order: MemcpySrcAccessOrder | str = "stream",
        src_location_hint: Device | None = None,
        dst_location_hint: Device | None = None,
        overlap_mode: MemcpyOverlapMode | str = "default",
    ) -> None: ...

def copy_batch(
    stream: Stream,
    srcs: Sequence[Buffer],
    dsts: Sequence[Buffer],
    *,
    options: CopyOptions | Sequence[CopyOptions] | None = None,
) -> None: ...

class StridedMemoryView:
    __dlpack_c_exchange_api__: ClassVar[Any]
    __c_dlpack_exchange_api__: ClassVar[Any]
    def __init__(self, obj: Any = None, stream_ptr: int | None = None) -> None: ...
    def copy_from(self, other: Any, stream: Any, allocator: Any = None, blocking: Any = None
    ) -> None: ...
    def copy_to(self, other: Any, stream: Any, allocator: Any = None, blocking: Any = None
    ) -> None: ...
    @classmethod
    def from_buffer(
        cls,
        buffer: Buffer,
        shape: int | Sequence[int],
        strides: Sequence[int] | None = None,
        *,
        itemsize: int | None = None,
        dtype: Any = None,
        is_readonly: bool = False,
    ) -> StridedMemoryView: ...
    @classmethod
    def from_dlpack(cls, obj: Any, stream_ptr: int | None = None) -> StridedMemoryView: ...
    @classmethod
    def from_cuda_array_interface(
        cls, obj: Any, stream_ptr: int | None = None
    ) -> StridedMemoryView: ...
    @classmethod
    def from_array_interface(cls, obj: Any) -> StridedMemoryView: ...
    @classmethod
    def from_any_interface(
        cls, obj: Any, stream_ptr: int | None = None
    ) -> StridedMemoryView: ...
    @property
    def ptr(self) -> int | Address: ...
    @property
    def device_id(self) -> int: ...
    @property
    def is_device_accessible(self) -> bool: ...
    @property
    def readonly(self) -> bool: ...
    @property
    def exporting_obj(self) -> Any: ...
    @property
    def size(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...] | None: ...
    @property
    def dtype(self) -> Any: ...
    def view(self, layout: None = None, dtype: Any = None) -> StridedMemoryView: ...
    def __dlpack__(self, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

def args_viewable_as_strided_memory(
    arg_indices: Sequence[int],
) -> Callable[[_Function], _Function]: ...
