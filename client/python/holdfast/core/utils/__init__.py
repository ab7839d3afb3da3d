# SPDX-License-Identifier: Apache-2.0
"""Arrays of any library, seen alike; as ``cuda.core.utils`` has them."""

from holdfast.core.utils._strided import StridedMemoryView, args_viewable_as_strided_memory

__all__ = ["StridedMemoryView", "args_viewable_as_strided_memory"]
