# SPDX-License-Identifier: Apache-2.0
"""CUDA's runtime API, cuda_runtime_api.h, as ``cuda.bindings.runtime`` has it.

Each function returns a tuple: a cudaError_t, then what C's function writes through pointers.
"""

from holdfast.bindings._api import Api

_api = Api("runtime", globals())


def __getattr__(name):
    return _api.make(name)


def __dir__():
    return _api.names()
