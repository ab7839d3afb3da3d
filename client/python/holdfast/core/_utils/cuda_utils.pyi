# SPDX-License-Identifier: Apache-2.0
from holdfast.core import ComputeCapability as ComputeCapability
from holdfast.core import CUDAError as CUDAError
from holdfast.core import NVRTCError as NVRTCError
