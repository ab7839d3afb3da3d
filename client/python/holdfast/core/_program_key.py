# SPDX-License-Identifier: Apache-2.0
"""Keys of compiled programs: one for each input that makes a difference."""

import hashlib
import os
import time

from holdfast._errors import CUDAError
from holdfast.core._module import working_device
from holdfast.core._program import _TARGETS
from holdfast.core.typing import SourceCodeType

# Raised when the same inputs get another key than before.
_VERSION = 1

# Options of C++ that read files, whose content is in no key, and that write some, which a hit does not.
_READING = ("include_path", "pre_include", "pch", "use_pch", "pch_dir")
_WRITING = ("create_pch", "time", "fdevice_time_trace")


_COMPILERS_SECONDS = 30


def make_program_cache_key(*, code, code_type, options, target_type, name_expressions=(),
                           extra_digest=None):  # fmt: skip
    """The key of what ``Program(code, code_type, options).compile(target_type)`` makes, by the
    compilers of the current session's daemon: 32 bytes.

    Args:
        name_expressions: of C++, in any order.
        extra_digest: bytes that stand for the content of files that the options have read, such
            as those of ``include_path``, which is needed for such options.

    Raises:
        ValueError: an option reads files, and there is no ``extra_digest``; or one writes files,
            as a hit would not.
    """
    code_type, target_type = str(code_type).lower(), str(target_type).lower()
    SourceCodeType(code_type)
    if not any(target_type in targets for targets in _TARGETS.values()):
        raise ValueError(f"target_type={target_type!r} is not supported by the program cache")
    if target_type not in _TARGETS[code_type]:
        raise ValueError(
            f"target_type={target_type!r} is not valid for code_type={code_type!r} "
            f"(supported: {', '.join(_TARGETS[code_type])})"
        )
    _check_files(options, code_type, extra_digest)
    parts = [
        str(_VERSION), code_type, target_type, _source(code, code_type), str(options.name),
        _compilers(), *_option_words(options, code_type, target_type), "names",
        *(_names(name_expressions) if code_type == "c++" else ()), "headers",
    ]  # fmt: skip
    for name, text in sorted((options.headers or {}).items()):
        parts += (name, text)
    parts.append("sources")
    for name, text in options.extra_sources or ():
        parts += (name, text)
    if code_type == "nvvm" and options.use_libdevice:
        parts.append("libdevice")
    if extra_digest is not None:
        parts += ("digest", extra_digest)
    return _digest(parts)


def _digest(parts):
    """Of SHA-2, which every OpenSSL has; each part by its length, so that no two lists are alike."""
    made = hashlib.sha256(usedforsecurity=False)
    for part in parts:
        part = part.encode() if isinstance(part, str) else bytes(part)
        made.update(len(part).to_bytes(8, "big") + part)
    return made.digest()


def _source(code, code_type):
    if isinstance(code, str):
        return code.encode()
    if code_type != "nvvm":
        raise TypeError(
            f"code must be str for code_type={code_type!r}, got {type(code).__name__}"
        )
    if not isinstance(code, (bytes, bytearray)):
        raise TypeError(f"code must be str or bytes, got {type(code).__name__}")
    return bytes(code)


def _compilers():
    """The daemon's compilers and their versions. A daemon that has just started does not know them
    yet, so that the call waits."""
    session = working_device()._session
    end = time.monotonic() + _COMPILERS_SECONDS
    while True:
        compilers = session.server_info().get("compiler", "")
        if compilers:
            return compilers
        if time.monotonic() > end:
            raise CUDAError(
                f"the daemon tells no compilers within {_COMPILERS_SECONDS} s: a key without them "
                "would find code of others"
            )
        time.sleep(0.02)


def _option_words(options, code_type, target_type):
    if code_type == "c++":
        return options.as_bytes("nvrtc", target_type)
    if code_type == "nvvm":
        return options.as_bytes("nvvm", target_type)
    return options.as_bytes("nvjitlink")


def _names(names):
    for name in names:
        if not isinstance(name, (str, bytes)):
            raise TypeError(
                f"name_expressions elements must be str or bytes, got {type(name).__name__}"
            )
    # Text and bytes are different names in ObjectCode.symbol_mapping.
    return sorted(f"{type(name).__name__}:{name}" for name in names)


def _is_set(options, field):
    """Whether the compiler is given the option. None is no value; of folders and files, an empty
    list is none either."""
    value = getattr(options, field)
    if field == "pch":
        return bool(value)
    if field in ("include_path", "pre_include") and not isinstance(value, (str, os.PathLike)):
        return bool(value)
    return value is not None


def _check_files(options, code_type, extra_digest):
    if options.extra_sources is not None and code_type != "nvvm":
        raise ValueError(f"extra_sources is only valid for code_type='nvvm', not {code_type!r}")
    if code_type == "nvvm" and options.use_libdevice and extra_digest is None:
        raise ValueError("use_libdevice reads a file of the toolkit: pass its extra_digest")
    if code_type != "c++":
        return
    writing = [field for field in _WRITING if _is_set(options, field)]
    if writing:
        raise ValueError(
            f"options with compile-time side effects have no key ({', '.join(writing)}): what a "
            "cache has is not compiled again"
        )
    if extra_digest is not None:
        return
    reading = [field for field in _READING if _is_set(options, field)]
    if reading:
        raise ValueError(
            f"options that read files ({', '.join(reading)}) need an extra_digest of their content"
        )
    if isinstance(options.name, str) and ("/" in options.name or "\\" in options.name):
        raise ValueError(
            f"options.name={options.name!r} has a directory component, where includes are looked "
            "for: pass an extra_digest of what is there"
        )
