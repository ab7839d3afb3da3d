# SPDX-License-Identifier: Apache-2.0


class Closing:
    """``with`` closes at the end of its block."""

    __slots__ = ()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()
