# SPDX-License-Identifier: Apache-2.0
"""The exceptions, where programs for cuda.core before 1.3 have them from."""

from holdfast._errors import CUDAError, NVRTCError
from holdfast.core._device import ComputeCapability

__all__ = ["CUDAError", "ComputeCapability", "NVRTCError"]
