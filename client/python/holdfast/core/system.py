# SPDX-License-Identifier: Apache-2.0
"""The machine of the current session's daemon, as ``cuda.core.system`` has that of this process.

What NVML alone knows (clocks, fans, processes of others) is not served: run NVML on that machine.
"""

from holdfast.core import _device
from holdfast.core._options import not_served

__all__ = [
    "CUDA_BINDINGS_NVML_IS_COMPATIBLE",
    "Device",
    "get_driver_branch",
    "get_kernel_mode_driver_version",
    "get_num_devices",
    "get_nvml_version",
    "get_process_name",
    "get_user_mode_driver_version",
]

# Whether cuda.core has classes of NVML here.
CUDA_BINDINGS_NVML_IS_COMPATIBLE = False

_NVML = (
    "it requires NVML support; run NVML, or `holdfast devices`, on the daemon's machine"
)


def get_num_devices():
    """The number of devices that the session may use."""
    return len(_device.Device.get_all_devices())


def get_user_mode_driver_version():
    """(major, minor) of CUDA, as the daemon's driver has it."""
    version = _device.Device()._info()["driver_version"]
    return version // 1000, version % 1000 // 10


def get_kernel_mode_driver_version():
    raise not_served("the version of the kernel's driver", _NVML)


def get_driver_branch():
    raise not_served("the branch of the driver", _NVML)


def get_nvml_version():
    raise not_served("NVML", _NVML)


def get_process_name(pid):
    raise not_served("a process of the daemon's machine", _NVML)


# As cuda.core had them before 1.0.
get_driver_version = get_user_mode_driver_version


def get_driver_version_full():
    """(major, minor, patch) of CUDA, as the daemon's driver has it."""
    version = _device.Device()._info()["driver_version"]
    return version // 1000, version % 1000 // 10, version % 10


class Device:
    """A device by what the daemon knows of it.

    Args:
        index: the ordinal; uuid, pci_bus_id: the device that has it. Exactly one is given.
    """

    def __init__(self, *, index=None, uuid=None, pci_bus_id=None):
        if sum(value is not None for value in (index, uuid, pci_bus_id)) != 1:
            raise ValueError("exactly one of index, uuid and pci_bus_id is needed")
        for device in _device.Device.get_all_devices():
            same = self._of(device)
            if index == same.index or pci_bus_id == device.pci_bus_id or uuid in (
                same.uuid, same.uuid_without_prefix
            ):  # fmt: skip
                self._device = device
                return
        raise ValueError(
            f"no device of the session has index={index}, uuid={uuid}, pci_bus_id={pci_bus_id}"
        )

    @classmethod
    def _of(cls, device):
        self = object.__new__(cls)
        self._device = device
        return self

    @classmethod
    def get_device_count(cls):
        return get_num_devices()

    @classmethod
    def get_all_devices(cls):
        """The devices of the session, one after the other."""
        return (cls._of(device) for device in _device.Device.get_all_devices())

    def to_cuda_device(self):
        """The ``holdfast.core.Device``."""
        return self._device

    index = property(lambda self: self._device.device_id)
    name = property(lambda self: self._device.name)
    uuid = property(lambda self: f"GPU-{self._device.uuid}")
    uuid_without_prefix = property(lambda self: self._device.uuid)
    cuda_compute_capability = property(lambda self: tuple(self._device.compute_capability))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise not_served(f"system.Device.{name}", _NVML)

    def __eq__(self, other):
        return isinstance(other, Device) and self._device == other._device

    def __hash__(self):
        return hash(self._device)

    def __repr__(self):
        return f"<holdfast.core.system.Device {self.index} ({self.name})>"


def __getattr__(name):
    # Properties of the module, as cuda.core had them before 0.6.
    if name == "driver_version":
        return get_user_mode_driver_version()
    if name == "num_devices":
        return get_num_devices()
    if name == "devices":
        return _device.Device.get_all_devices()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
