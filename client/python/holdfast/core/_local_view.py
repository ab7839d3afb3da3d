# SPDX-License-Identifier: Apache-2.0
"""The daemon's memory in a process that has CUDA, too."""

from holdfast.core._dlpack import CUDA, make_capsule


class LocalView:
    """Memory of the daemon in this process, which has a CUDA context of its own: a device pointer
    for its kernels, for PyTorch, CuPy or cuda.core, without a copy. Made by ``Buffer.map_locally``.

    The memory lives as long as the view and what was made of it, whatever becomes of the Buffer.
    The streams of this process know nothing of the session's: ``sync`` between the two.
    """

    def __init__(self, mapping, size, device, read_only):
        self._mapping = mapping
        self._size = size
        self._device = device
        self._read_only = read_only

    size = property(lambda self: self._size, doc="Bytes.")
    device_id = property(lambda self: self._device, doc="The device as this process counts.")
    readonly = property(lambda self: self._read_only)

    @property
    def ptr(self):
        """The address, for this process's own driver."""
        return self._mapping.pointer

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": (self._size,),
            "typestr": "|u1",
            "data": (self.ptr, self._read_only),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return make_capsule(
            self._mapping, self.ptr, self.__dlpack_device__(), (self._size,),
            max_version=max_version, dl_device=dl_device, copy=copy, read_only=self._read_only,
        )  # fmt: skip

    def __dlpack_device__(self):
        return (CUDA, self._device)

    def close(self):
        """Unmaps the memory. No kernel may use it any more."""
        self._mapping.close()

    def __repr__(self):
        state = "closed" if self._mapping.closed else f"{self._size} bytes at {self.ptr:#x}"
        return f"<LocalView, {state}>"
