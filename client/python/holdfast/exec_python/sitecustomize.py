# SPDX-License-Identifier: Apache-2.0
"""Gives cuda.bindings.runtime the functions of holdfast.bindings.runtime.

``holdfast exec`` puts this folder into PYTHONPATH, so that every Python that it starts imports this
module first. The module of the package cuda-bindings contains NVIDIA's runtime, which works with
NVIDIA's driver alone. holdfast.bindings.runtime has the same names and calls the libcudart.so.13 of
Holdfast. cuda.core needs it: ``Device.sync()`` is a call of the runtime. A name that only the
package's own module has, such as a type of a later CUDA, comes from there. So does the documentation
of enumerators, which cuda.core puts into the messages of its errors.
"""

import enum
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

_NAME = "cuda.bindings.runtime"


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        # Another Python than Holdfast's own may not have the package.
        if name != _NAME or importlib.util.find_spec("holdfast") is None:
            return None
        return importlib.util.spec_from_loader(name, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        served = importlib.import_module("holdfast.bindings.runtime")
        try:
            served._api.peer_driver = importlib.import_module("cuda.bindings.driver")
        except ImportError:
            pass  # The package is there without its driver module.

        def find(name):
            try:
                value = getattr(served, name)
            except AttributeError:
                return getattr(_original(), name)
            if isinstance(value, enum.EnumMeta):
                _document(value)
            return value

        module.__getattr__ = find
        module.__dir__ = lambda: dir(served)


def _document(enumeration):
    text = vars(enumeration).get("__doc__")
    if not isinstance(text, _Docs):
        enumeration.__doc__ = _Docs(enumeration.__name__, text)


class _Docs:
    """``__doc__`` of an enumeration and of its members.

    The text of a member is read from the package's own module when it is first asked for, since to
    load that module takes time.
    """

    def __init__(self, name, text):
        self._name = name
        self._text = text

    def __get__(self, member, owner=None):
        if member is None:
            return self._text
        try:
            return getattr(_original(), self._name)(int(member)).__doc__
        except (ImportError, AttributeError, ValueError):
            return None  # another version of the package


@functools.lru_cache(maxsize=None)
def _original():
    """The module of the package cuda-bindings."""
    path = importlib.import_module("cuda.bindings").__path__
    spec = importlib.machinery.PathFinder.find_spec(_NAME, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _import_next_sitecustomize():
    """This module took the place of the system's or the user's sitecustomize, if there is one."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


sys.meta_path.insert(0, _Finder())
_import_next_sitecustomize()
