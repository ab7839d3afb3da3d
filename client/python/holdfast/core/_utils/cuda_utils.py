# SPDX-License-Identifier: Apache-2.0
"""Names that programs import from cuda.core's private module ``cuda.core._utils.cuda_utils``.

The exceptions are here because ``cuda.core`` has them only since 1.3. ``handle_return`` checks the
tuples that functions of ``holdfast.bindings`` return.
"""

from holdfast._errors import CUDAError, NVRTCError
from holdfast.core._device import ComputeCapability

__all__ = ["CUDAError", "ComputeCapability", "NVRTCError", "handle_return"]

# Maps the prefix of a result's type to its module in holdfast.bindings, and to the function of that
# module that describes a result.
_DESCRIBED = {"CU": ("driver", "cuGetErrorString"), "cuda": ("runtime", "cudaGetErrorString")}


def handle_return(result, handle=None):
    """Checks the tuple that a function of ``holdfast.bindings`` returns.

    Args:
        result: the tuple. Its first element is the CUresult, cudaError_t or nvrtcResult.
        handle: an nvrtcProgram. An NVRTCError contains the compilation log of this program.

    Returns:
        The elements after the first: None if there are none, the value if there is one, otherwise
        a tuple.

    Raises:
        CUDAError: a function of the driver or of the runtime failed.
        NVRTCError: a function of NVRTC failed.
        RuntimeError: the first element is an error of an unknown type.
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
