# SPDX-License-Identifier: Apache-2.0
"""Brings numba 0.56, which knows CUDA 11, to CUDA 13 in memory.

Python imports this module at its start, in the tests' own processes as well: its folder is in
PYTHONPATH. Two lines of numba change. NVVM IR has version 2.0 in CUDA 13. And numba calls
the newest form of a function, FUNCTION_v2, with the arguments of the first one; two functions
have got such a form since, with one argument more.
"""

import importlib.abc
import importlib.machinery
import sys

_CHANGES = {
    "numba.cuda.cudadrv.nvvm": (
        "ir_versions = [i32(1), i32(6), i32(3), i32(0)]",
        "ir_versions = [i32(2), i32(0), i32(3), i32(2)]",
    ),
    "numba.cuda.cudadrv.driver": (
        "for variant in variants:",
        "for variant in ('',) if fname in ('cuCtxGetDevice', 'cuCtxSynchronize') else variants:",
    ),
}


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        source = self.get_source(fullname)
        before, after = _CHANGES[fullname]
        if before not in source:
            raise ImportError(f"{fullname} is another version: it has no {before!r}")
        return compile(source.replace(before, after), self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname not in _CHANGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


sys.meta_path.insert(0, _Finder())
