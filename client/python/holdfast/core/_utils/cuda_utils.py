# SPDX-License-Identifier: Apache-2.0
"""What programs for cuda.core take from its private module of this name: the exceptions, from before
1.3 had them in ``core``, and what checks the tuples of the bindings."""

from holdfast._errors import CUDAError, NVRTCError
from holdfast.core._device import ComputeCapability

__all__ = ["CUDAError", "ComputeCapability", "NVRTCError", "handle_return"]

# By the prefix of the result's type: the module of holdfast.bindings, and what describes a result.
_DESCRIBED = {"CU": ("driver", "cuGetErrorString"), "cuda": ("runtime", "cudaGetErrorString")}


def handle_return(result, handle=None):
    """What a function of ``holdfast.bindings`` returns behind its result: None, the one value, or
    a tuple of several.

    Args:
        result: the tuple of the function.
        handle: the nvrtcProgram, whose log the exception has.

    Raises:
        CUDAError: the function has failed. NVRTCError: NVRTC has.
    """
    error, *values = result
    if error:
        raise _error_of(error, handle)
    return values[0] if len(values) == 1 else tuple(values) or None


def _error_of(error, handle):
    from importlib import import_module

    name = type(error).__name__
    if name == "nvrtcResult":
        return _nvrtc_error_of(import_module("holdfast.bindings.nvrtc"), error, handle)
    for prefix, (module, describe) in _DESCRIBED.items():
        if name.startswith(prefix):
            module = import_module(f"holdfast.bindings.{module}")
            failed, text = getattr(module, describe)(error)
            raised = CUDAError(error.name if failed else f"{error.name}: {text.decode()}")
            raised.result, raised.result_name = int(error), error.name
            return raised
    return RuntimeError(f"Unknown error type: {error}")


def _nvrtc_error_of(nvrtc, error, handle):
    raised = NVRTCError(f"{error.name}: {nvrtc.nvrtcGetErrorString(error)[1].decode()}")
    if handle is not None:
        log = b" " * nvrtc.nvrtcGetProgramLogSize(handle)[1]
        nvrtc.nvrtcGetProgramLog(handle, log)
        raised.log = log.decode("utf-8", errors="backslashreplace")
        raised.args = (f"{raised.args[0]}, compilation log:\n\n{raised.log}",)
    return raised


def __getattr__(name):
    if name in ("driver", "nvrtc", "runtime"):
        from importlib import import_module

        return import_module(f"holdfast.bindings.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
