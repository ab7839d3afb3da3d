# SPDX-License-Identifier: Apache-2.0
from collections.abc import MutableSet

from holdfast.core._device import Device


class PeerAccess(MutableSet):
    """The devices whose kernels may use the memory of a device; ``peer_accessible_by`` of its
    resources. It is of the device in its session, not of one resource.

    Devices are given as such or by their ordinals; the device itself is never one.
    """

    def __init__(self, device):
        self._device = device

    @classmethod
    def _from_iterable(cls, devices):
        return set(devices)

    def _ordinals(self):
        peers = self._device._session.__dict__.setdefault("_peers", {})
        return peers.setdefault(self._device._ordinal, set())

    def _ordinal_of(self, device):
        return self._device._session.device(int(device))._ordinal

    def __contains__(self, device):
        try:
            return int(device) in self._ordinals()
        except (TypeError, ValueError):
            return False

    def __iter__(self):
        return (self._device._session.device(ordinal) for ordinal in sorted(self._ordinals()))

    def __len__(self):
        return len(self._ordinals())

    def add(self, device):
        """Lets kernels of the device use the memory, that is there and that will be.

        Raises:
            ValueError: the two devices cannot.
        """
        ordinal, own = self._ordinal_of(device), self._device._ordinal
        if ordinal == own or ordinal in self._ordinals():
            return
        if not Device(ordinal).can_access_peer(self._device):
            raise ValueError(f"device {ordinal} cannot use memory of device {own}")
        self._device._session._enable_peer_access(ordinal, own)
        self._ordinals().add(ordinal)

    def discard(self, device):
        if device not in self:
            return
        self._device._session._disable_peer_access(int(device), self._device._ordinal)
        self._ordinals().discard(int(device))

    def update(self, *others):
        for device in [device for other in others for device in other]:
            self.add(device)

    def difference_update(self, *others):
        for device in [device for other in others for device in other]:
            self.discard(device)

    def intersection_update(self, *others):
        for other in others:
            kept = {int(device) for device in other}
            self.difference_update([peer for peer in self if int(peer) not in kept])

    def symmetric_difference_update(self, other):
        for device in list(other):
            (self.discard if device in self else self.add)(device)

    def replace(self, devices):
        """Takes these devices, and no others."""
        wanted = {self._ordinal_of(device) for device in devices}
        self.intersection_update(wanted)
        self.update(wanted)

    def __repr__(self):
        return f"PeerAccess({{{', '.join(map(repr, self))}}})"
