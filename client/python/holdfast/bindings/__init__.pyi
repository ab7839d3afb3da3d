"""CUDA's C interfaces with the names and call shapes of ``cuda.bindings`` 13."""

from holdfast.bindings import driver as driver
from holdfast.bindings import nvrtc as nvrtc
from holdfast.bindings import runtime as runtime

__version__: str
