# SPDX-License-Identifier: Apache-2.0
from typing import Any

from holdfast.bindings import driver as driver
from holdfast.bindings import nvrtc as nvrtc
from holdfast.bindings import runtime as runtime
from holdfast.core import ComputeCapability as ComputeCapability
from holdfast.core import CUDAError as CUDAError
from holdfast.core import NVRTCError as NVRTCError

def handle_return(result: tuple[Any, ...], handle: Any = None) -> Any: ...
