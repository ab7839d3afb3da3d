# SPDX-License-Identifier: Apache-2.0
from holdfast._closing import Closing


class Closable(Closing):
    """An object of cuda.core that ends with ``close``: it tells whether it has, and refuses work
    then. ``_closed`` is a class's or a native property."""

    __slots__ = ()

    @property
    def is_closed(self):
        """Whether ``close`` was called. Nothing opens it again."""
        return bool(self._closed)

    def _check_open(self):
        """Raises a RuntimeError, as cuda.core does, if the object is closed."""
        if self.is_closed:
            raise RuntimeError(f"{self._public_name()} has been closed")

    @classmethod
    def _public_name(cls):
        """The name of the class that users know."""
        return next(c.__name__ for c in cls.__mro__ if Closable in c.__bases__)
