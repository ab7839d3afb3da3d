# SPDX-License-Identifier: Apache-2.0
from holdfast._closing import Closing


class Closable(Closing):
    """An object of cuda.core that tells whether it is closed, and refuses work when it is.

    REQUIRES: the class has ``_closed``, as an attribute or a native property, or its own
    ``is_closed``.
    """

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
