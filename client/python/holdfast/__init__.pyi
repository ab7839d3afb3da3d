# SPDX-License-Identifier: Apache-2.0
from typing import Any, Callable, Literal, NamedTuple, Sequence, TypeVar

from holdfast import array as array
from holdfast import bindings as bindings
from holdfast import collections as collections
from holdfast.core import CUDAError as CUDAError
from holdfast.core import CUDAWarning as CUDAWarning
from holdfast.core import Device, IPCBufferDescriptor, IPCEventDescriptor, LocalView, Stream
from holdfast.core import NVRTCError as NVRTCError

__version__: str
_Result = TypeVar("_Result")

class LostResource(NamedTuple):
    handle: int
    reason: str

class Fault(CUDAError):
    epoch: int
    cause: str
    device_id: int
    kernel: str
    block: tuple[int, int, int] | None
    thread: tuple[int, int, int] | None
    source_line: str
    completed_through: int
    submitted_through: int
    received_through: int
    last_commands: tuple[str, ...]
    lost: tuple[LostResource, ...]
    lost_count: int

class SessionLostError(CUDAError, ConnectionError): ...
class DaemonUnavailableError(CUDAError, ConnectionError): ...
class InvalidArgumentError(CUDAError, ValueError): ...

class Session:
    @property
    def id(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    @property
    def devices(self) -> tuple[Device, ...]: ...
    def device(self, device_id: int = 0) -> Device: ...
    def sync(self) -> None: ...
    async def sync_async(self) -> None: ...
    def recover(self) -> None: ...
    def detach(self) -> None: ...
    def revoke(
        self, descriptor: IPCBufferDescriptor | IPCEventDescriptor | SemaphoreDescriptor
    ) -> None: ...
    def server_info(self) -> dict[str, Any]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Session: ...
    def __exit__(self, *exc_info: object) -> None: ...

class SemaphoreDescriptor:
    address: str
    token: bytes
    def __init__(self, address: str, token: bytes, size: int = 0) -> None: ...

class Semaphore:
    def __init__(self, initial_value: int = 0, *, device: Device | None = None) -> None: ...
    @classmethod
    def from_descriptor(
        cls, descriptor: SemaphoreDescriptor, *, device: Device | None = None
    ) -> Semaphore: ...
    def export(
        self,
        *,
        writable: bool = False,
        lifetime: float = 60.0,
        imports: int = 1,
        session_id: str = "",
        tenant: str = "",
    ) -> SemaphoreDescriptor: ...
    def map_locally(
        self, *, writable: bool = False, device_id: int | None = None
    ) -> LocalView: ...
    def signal(self, value: int, *, stream: Stream | None = None) -> None: ...
    def wait(self, value: int, *, stream: Stream) -> None: ...
    @property
    def value(self) -> int: ...
    @property
    def device(self) -> Device: ...
    @property
    def handle(self) -> int: ...
    def close(self) -> None: ...

def connect(
    address: str | None = None,
    *,
    name: str = "",
    devices: Sequence[int | str] = (),
    memory_limit: int = 0,
    reconnect_grace: float = 0.0,
    recover: Literal["always", "never", "ask"] = "always",
    kernel_time_limit: float = 0.0,
    detached_lifetime: float = 0.0,
    blocking: bool = False,
    debug: bool = False,
) -> Session: ...
def default_session() -> Session: ...
async def run_async(
    function: Callable[..., _Result], *args: Any, **kwargs: Any
) -> _Result: ...
def current_device() -> Device | None: ...
def empty_pinned(
    shape: int | Sequence[int], dtype: Any = ..., *, session: Session | None = None
) -> Any: ...
