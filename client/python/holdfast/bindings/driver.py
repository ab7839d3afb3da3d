# SPDX-License-Identifier: Apache-2.0
"""CUDA's driver API, cuda.h, as ``cuda.bindings.driver`` has it.

Each function returns a tuple: a CUresult, then what C's function writes through pointers.
"""

from holdfast.bindings._api import Api

_api = Api("driver", globals())


def __getattr__(name):
    return _api.make(name)


def __dir__():
    return _api.names()
