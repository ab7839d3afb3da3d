# SPDX-License-Identifier: Apache-2.0
"""The compiler NVRTC, nvrtc.h, as ``cuda.bindings.nvrtc`` has it.

Each function returns a tuple: a nvrtcResult, then what C's function writes through pointers.
"""

from holdfast.bindings._api import Api

_api = Api("nvrtc", globals())


def __getattr__(name):
    return _api.make(name)


def __dir__():
    return _api.names()
