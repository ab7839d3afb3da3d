# SPDX-License-Identifier: Apache-2.0
"""``cuda.core.texture``: nothing of it is served; making an object says so."""

from holdfast.core import _not_served

__all__ = [
    "MipmappedArray",
    "MipmappedArrayOptions",
    "OpaqueArray",
    "OpaqueArrayOptions",
    "ResourceDescriptor",
    "SurfaceObject",
    "TextureObject",
    "TextureObjectOptions",
]

globals().update((name, getattr(_not_served, name)) for name in __all__)
