# SPDX-License-Identifier: Apache-2.0
"""CUDA's C interfaces with the names and call shapes of ``cuda.bindings`` 13.

``from holdfast.bindings import driver, runtime, nvrtc`` in the place of ``from cuda.bindings
import ...``. The functions call the libcuda.so.1 that this process has loaded or that
LD_LIBRARY_PATH names; else Holdfast's own, which works in a daemon.
"""


# The version of CUDA whose headers are meant.
__version__ = "13.0.0"


def __getattr__(name):
    if name in ("driver", "nvrtc", "runtime"):
        import importlib

        return importlib.import_module(f"holdfast.bindings.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return ["__version__", "driver", "nvrtc", "runtime"]
