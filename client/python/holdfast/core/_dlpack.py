# SPDX-License-Identifier: Apache-2.0
"""DLPack, as the array API has it: what ``__dlpack__`` answers to what it is asked for."""

from holdfast import _native

# DLPack's types of devices.
CPU = 1
CUDA = 2
CUDA_HOST = 3  # memory of the host that is page-locked


def _is_versioned(max_version):
    if max_version is None:
        return False
    is_pair = isinstance(max_version, tuple) and len(max_version) == 2
    if not is_pair or not all(isinstance(part, int) for part in max_version):
        raise BufferError(f"Expected max_version tuple[int, int], got {max_version!r}")
    return max_version >= (1, 0)


def _device_for(device, wanted):
    if wanted is None or tuple(wanted) == device:
        return device
    if device[0] == CUDA_HOST and tuple(wanted) == (CPU, 0):
        return (CPU, 0)
    raise BufferError(
        f"the memory is of DLPack's device {device}: dl_device other than None and that is not "
        f"supported, got {wanted!r}"
    )


def make_capsule(owner, ptr, device, shape, *, max_version, dl_device, copy, code=1, bits=8,
                 strides=None, read_only=False):  # fmt: skip
    """A capsule with memory at ``ptr`` of this process, which ``owner`` keeps.

    Args:
        device: DLPack's type and number of the device.
        max_version, dl_device, copy: as ``__dlpack__`` was given them.
        code, bits: DLPack's type of the elements; default: uint8.

    Raises:
        BufferError: the memory cannot be given so.
    """
    is_versioned = _is_versioned(max_version)
    device = _device_for(device, dl_device)
    if copy:
        raise BufferError(
            "copy=True is not supported: the memory itself is given; copy it before, or after"
        )
    if read_only and not is_versioned:
        raise BufferError(
            "the memory is read-only, which DLPack can say since version 1.0: ask with "
            f"max_version=(1, 0), not {max_version!r}"
        )
    return _native.make_dlpack(
        owner, ptr, *device, code, bits, shape, strides, is_versioned, read_only
    )
