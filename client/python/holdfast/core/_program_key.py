# SPDX-License-Identifier: Apache-2.0
"""Cache keys of compiled programs. A key covers every input that affects the compilation."""

import hashlib
import os
import time

from holdfast._errors import CUDAError
from holdfast.core._module import working_device
from holdfast.core._program import _TARGETS
from holdfast.core.typing import SourceCodeType

# To be incremented with each change that gives the same inputs another key.
_VERSION = 1

# C++ options that read files. The key does not cover the content of these files.
_READING = ("include_path", "pre_include", "pch", "use_pch", "pch_dir")
# C++ options that write files or output. A cache hit writes neither.
_WRITING = ("create_pch", "time", "fdevice_time_trace")

# Seconds to wait until the daemon reports its compilers.
_COMPILERS_SECONDS = 30


def make_program_cache_key(*, code, code_type, options, target_type, name_expressions=(),
                           extra_digest=None):  # fmt: skip
    """Returns the cache key of ``Program(code, code_type, options).compile(target_type)``.

    The key also covers the versions of the compilers of the current session's daemon.

    Args:
        code: the source, a str; for "nvvm" also bytes.
        code_type: "c++", "ptx" or "nvvm".
        options: the ``ProgramOptions``.
        target_type: "ptx", "cubin" or "ltoir", as far as ``code_type`` allows it.
        name_expressions: the name expressions of a C++ program. Their order makes no difference.
        extra_digest: a digest of the files that the options read, for example the headers in
            ``include_path``. Required if an option reads files.

    Returns:
        32 bytes.

    Raises:
        ValueError: the options read files and ``extra_digest`` is None, or an option has a side
            effect that a cache hit would not have, or the types are not supported.
        TypeError: ``code`` or a name expression has the wrong type.
        CUDAError: the daemon reports no compilers within 30 s.
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
    """Returns the SHA-256 of all parts. Every OpenSSL has SHA-256.

    The length precedes each part, so that different lists never give the same input of the hash.
    """
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
    """Returns the names and versions of the daemon's compilers.

    A daemon that has just started does not know its compilers yet. The function waits for them.
    """
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
    """Returns True if the program passes the option to the compiler.

    None means that the option is not set. So does an empty list of folders or files.
    """
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
