# SPDX-License-Identifier: Apache-2.0
from holdfast.core._options import not_served

_ONE_CONTEXT = "an executor has one context a device"


class Context:
    """The context that the executor has on a device; every device has one, always current."""

    is_green = False

    def __new__(cls, *args, **kwargs):
        raise RuntimeError(
            "Context objects cannot be instantiated directly. "
            "Please use Device or Stream APIs (context)."
        )

    @classmethod
    def _of(cls, device):
        self = object.__new__(cls)
        self._device = device
        return self

    @property
    def handle(self):
        """The context's name in its session, which is not 0; not a CUcontext."""
        return self._device._ordinal + 1

    @property
    def resources(self):
        raise not_served("a share of a device", _ONE_CONTEXT)

    def create_stream(self, options=None):
        return self._device.create_stream(options=options)

    def close(self):
        """Nothing: the context is the executor's."""

    is_closed = property(lambda self: False)

    def __eq__(self, other):
        return isinstance(other, Context) and self._device == other._device

    def __hash__(self):
        return hash(("context", self._device))

    def __repr__(self):
        return f"<Context handle={self.handle:#x} device={self._device._ordinal}>"
