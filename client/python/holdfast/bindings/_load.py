# SPDX-License-Identifier: Apache-2.0
"""Finds and loads libcuda, libcudart and NVRTC."""

import ctypes
import os
import sys
import threading

_lock = threading.RLock()
_libraries = {}

_NAMES = {"driver": "libcuda.so.1", "runtime": "libcudart.so.13", "nvrtc": "libnvrtc.so.13"}


def library(module):
    """The library of a module. Loads it on the first call.

    Raises:
        RuntimeError: there is none.
    """
    found = _libraries.get(module)
    if found is None:
        with _lock:
            found = _libraries.get(module)
            if found is None:
                found = _libraries[module] = _FIND[module](_NAMES[module])
    return found


def find_function(module, symbol):
    """A new function object of ctypes.

    Raises:
        RuntimeError: the library does not have it.
    """
    try:
        return library(module)[symbol]
    except AttributeError:
        raise RuntimeError(f'Function "{symbol}" not found') from None


def _find_driver(name):
    """The libcuda of this process, that of LD_LIBRARY_PATH, or our own."""
    found = _loaded(name) or _first(name, _library_path())
    if found is not None:
        return found
    folder = _own_folder(name)
    if folder is None:
        raise RuntimeError(
            f"no {name} is found: the package has none, LD_LIBRARY_PATH names no folder of one, "
            "and there is no program `holdfast` that tells where it is; set HOLDFAST_CLI"
        )
    _use_daemon()
    return _first(name, [folder]) or _by_loader(name)


def _own_folder(name):
    """The folder of Holdfast's libcuda: in the package, as wheels have it, or where the command
    line finds it, as distributions have it; else None."""
    folder = os.path.join(_package(), "cuda")
    if os.path.exists(os.path.join(folder, name)):
        return folder
    import shutil
    import subprocess

    program = os.environ.get("HOLDFAST_CLI") or shutil.which("holdfast")
    if program is None:
        return None
    command = [program, "cuda-path"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _find_runtime(name):
    """The libcudart beside our libcuda; else that of LD_LIBRARY_PATH or of the toolkit."""
    beside = os.path.dirname(library("driver")._name)
    folders = [os.path.join(_package(), "cuda"), *_library_path(), *_toolkit()]
    if beside:
        folders.insert(0, beside)
    return _first(name, folders) or _by_loader(name)


def _find_nvrtc(name):
    """The NVRTC of the toolkit, of NVIDIA's wheels, or the one that the loader finds."""
    wheels = [os.path.join(path, "nvidia", "cu13", "lib") for path in sys.path if path]
    folders = [*_toolkit(), *wheels]
    return _loaded(name) or _first(name, folders) or _by_loader(name)


_FIND = {"driver": _find_driver, "runtime": _find_runtime, "nvrtc": _find_nvrtc}


def _package():
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _library_path():
    return [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]


def _toolkit():
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    return [os.path.join(home, folder) for folder in ("lib64", "lib")]


def _loaded(name):
    """The library of this name that the process has loaded, or None."""
    try:
        return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | ctypes.RTLD_GLOBAL)
    except OSError:
        return None


def _first(name, folders):
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    return None


def _by_loader(name):
    try:
        return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise RuntimeError(f"{name} is not found: {error}") from None


def _use_daemon():
    """Names the daemon for our libcuda, which opens a session with it, by $HOLDFAST_ADDRESS.

    It is the one that ``holdfast.connect()`` would use, or has started. A private daemon ends with
    this process.
    """
    from holdfast import _session

    address = os.environ.get("HOLDFAST_ADDRESS", "")
    if address and not address.startswith("embedded:"):
        return
    daemon, address = _session.reach_for_process()
    private = address.startswith("embedded:")
    os.environ["HOLDFAST_ADDRESS"] = daemon.address if private else address
