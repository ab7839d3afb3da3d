# SPDX-License-Identifier: Apache-2.0
"""The classes of cuda.core that Holdfast does not serve: they can be imported, since programs import
what they do not always use, and making one says why not."""

from holdfast.core._options import not_served

_MANAGED = "copies, or pinned memory, which kernels use in place, take its part"
_GROWING = "allocate what is needed at most, or a second Buffer"
_TEXTURE = "read the Buffer, and interpolate in the kernel"
_TENSOR_MAP = "address the Buffer's tiles in the kernel"
_CONTEXT = "an executor has one context a device"
_OPENGL = "OpenGL is in this process: copy the Buffer here"

# By name: what it is for, and what to do instead.
REASONS = {
    "ManagedMemoryResource": ("managed memory", _MANAGED),
    "ManagedMemoryResourceOptions": ("managed memory", _MANAGED),
    "ManagedBuffer": ("managed memory", _MANAGED),
    "Host": ("managed memory", _MANAGED),
    "VirtualMemoryResource": ("growing memory", _GROWING),
    "VirtualMemoryResourceOptions": ("growing memory", _GROWING),
    "TensorMapDescriptor": ("a tensor map", _TENSOR_MAP),
    "TensorMapDescriptorOptions": ("a tensor map", _TENSOR_MAP),
    "OpaqueArray": ("an array for textures", _TEXTURE),
    "OpaqueArrayOptions": ("an array for textures", _TEXTURE),
    "MipmappedArray": ("an array for textures", _TEXTURE),
    "MipmappedArrayOptions": ("an array for textures", _TEXTURE),
    "ResourceDescriptor": ("a texture", _TEXTURE),
    "SurfaceObject": ("a surface", _TEXTURE),
    "TextureObject": ("a texture", _TEXTURE),
    "TextureObjectOptions": ("a texture", _TEXTURE),
    "ContextOptions": ("a green context", _CONTEXT),
    "DeviceResources": ("a share of a device", _CONTEXT),
    "SMResource": ("a share of a device", _CONTEXT),
    "SMResourceOptions": ("a share of a device", _CONTEXT),
    "WorkqueueResource": ("a share of a device", _CONTEXT),
    "WorkqueueResourceOptions": ("a share of a device", _CONTEXT),
    "GraphicsResource": ("a resource of OpenGL", _OPENGL),
}


class _Refusing(type):
    """The type of a class that is not served, nor are its class methods."""

    def __call__(cls, *args, **kwargs):
        raise not_served(*REASONS[cls.__name__])

    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise not_served(*REASONS[cls.__name__])


def _refusing(name):
    return _Refusing(name, (), {"__module__": __name__})


globals().update((name, _refusing(name)) for name in REASONS)
