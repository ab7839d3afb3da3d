# SPDX-License-Identifier: Apache-2.0
from holdfast import _native
from holdfast._progress import compile_line
from holdfast.core._module import FORMATS, ObjectCode, working_device
from holdfast.core._options import Options, as_options, not_served

_LANGUAGES = {"c++": 1, "ptx": 2, "nvvm": 3}
_TARGETS = {
    "c++": ("ptx", "cubin", "ltoir"),
    "ptx": ("cubin", "ptx"),
    "nvvm": ("ptx", "ltoir"),
}


def _flag(name):
    return lambda value: (name,) if value else ()


def _boolean(name):
    return lambda value: (f"{name}={'true' if value else 'false'}",)


def _value(name):
    return lambda value: (f"{name}={value}",)


def _values(name):
    def render(value):
        values = value if isinstance(value, (list, tuple)) else (value,)
        return tuple(f"{name}={v}" for v in values)

    return render


def _macros(value):
    """A name, a (name, value), or a list of either."""
    if isinstance(value, list):
        return tuple(word for item in value for word in _macros(item))
    if isinstance(value, str):
        return (f"--define-macro={value}",)
    if isinstance(value, tuple):
        if len(value) != 2 or not all(isinstance(part, str) for part in value):
            raise RuntimeError(f"define_macro: a name or a pair of strings, got {value!r}")
        return (f"--define-macro={value[0]}={value[1]}",)
    raise RuntimeError(f"define_macro: a string, a pair or a list of these, got {value!r}")


# The compiler option of each field that is not None.
_RENDERERS = {
    "relocatable_device_code": _boolean("--relocatable-device-code"),
    "extensible_whole_program": _flag("--extensible-whole-program"),
    "debug": _flag("--device-debug"),
    "lineinfo": _flag("--generate-line-info"),
    "device_code_optimize": lambda on: ("--dopt=on",) if on else ("--dopt=off",),
    "ptxas_options": _values("--ptxas-options"),
    "max_register_count": _value("--maxrregcount"),
    "ftz": _boolean("--ftz"),
    "prec_sqrt": _boolean("--prec-sqrt"),
    "prec_div": _boolean("--prec-div"),
    "fma": _boolean("--fmad"),
    "use_fast_math": _flag("--use_fast_math"),
    "extra_device_vectorization": _flag("--extra-device-vectorization"),
    "link_time_optimization": _flag("--dlink-time-opt"),
    "gen_opt_lto": _flag("--gen-opt-lto"),
    "define_macro": _macros,
    "undefine_macro": _values("--undefine-macro"),
    "std": _value("--std"),
    "builtin_move_forward": _boolean("--builtin-move-forward"),
    "builtin_initializer_list": _boolean("--builtin-initializer-list"),
    "disable_warnings": _flag("--disable-warnings"),
    "restrict": _flag("--restrict"),
    "device_as_default_execution_space": _flag("--device-as-default-execution-space"),
    "device_int128": _flag("--device-int128"),
    "device_float128": _flag("--device-float128"),
    "optimization_info": _value("--optimization-info"),
    "no_display_error_number": _flag("--no-display-error-number"),
    "diag_error": _values("--diag-error"),
    "diag_suppress": _values("--diag-suppress"),
    "diag_warn": _values("--diag-warn"),
    "brief_diagnostics": _boolean("--brief-diagnostics"),
    "split_compile": _value("--split-compile"),
    "ofast_compile": _value("--Ofast-compile"),
    "fdevice_syntax_only": _flag("--fdevice-syntax-only"),
    "minimal": _flag("--minimal"),
    "no_cache": _flag("--no-cache"),
    "frandom_seed": _value("--frandom-seed"),
    "numba_debug": _flag("--numba-debug"),
    "use_libdevice": lambda on: (),
}

# Files of the machine that compiles, and what they would be for.
_NOT_SERVED = {
    "include_path": "give the headers' texts: ProgramOptions(headers={name: text})",
    "pre_include": "give the headers' texts: ProgramOptions(headers={name: text})",
    "no_source_include": "no folder is searched",
    "time": "it writes a file of the daemon's machine",
    "fdevice_time_trace": "it writes a file of the daemon's machine",
    "pch": "the daemon keeps what it has compiled",
    "create_pch": "the daemon keeps what it has compiled",
    "use_pch": "the daemon keeps what it has compiled",
    "pch_dir": "the daemon keeps what it has compiled",
    "pch_verbose": "the daemon keeps what it has compiled",
    "pch_messages": "the daemon keeps what it has compiled",
    "instantiate_templates_in_pch": "the daemon keeps what it has compiled",
    "use_bundled_headers": "the daemon finds CUDA's headers by itself",
}


class ProgramOptions(Options):
    """Options of a compilation, by cuda.core's names; None: the compiler's default.

    ``arch`` ("sm_90") is by default that of the current device. ``headers``, which cuda.core does
    not have, are the texts that the source may include: ``{"tile.h": "..."}``. Options that name
    files of the machine that compiles are refused: FILES below.
    """

    _fields = {
        "name": "default_program",
        "arch": None,
        **dict.fromkeys(_RENDERERS),
        "extra_sources": None,
        "headers": None,
        **dict.fromkeys(_NOT_SERVED),
    }

    def _words(self):
        """The options as the daemon takes them."""
        for field, instead in _NOT_SERVED.items():
            if getattr(self, field):
                raise not_served(f"ProgramOptions.{field}", instead)
        words = []
        for field, render in _RENDERERS.items():
            value = getattr(self, field)
            if value is not None:
                words.extend(render(value))
        return tuple(words)

    def as_bytes(self, backend="nvrtc", target_type=None):
        """The options as the compiler's words."""
        arch = (f"--gpu-architecture={self.arch}",) if self.arch else ()
        return [word.encode() for word in arch + self._words()]


def _named(entries):
    return [
        (name, text.encode() if isinstance(text, str) else bytes(text)) for name, text in entries
    ]


class Program:
    """A source, to be compiled by the daemon, which keeps what it has compiled.

    Args:
        code: the source; of NVVM IR, text or bitcode.
        code_type: "c++", "ptx" or "nvvm".
        options: ProgramOptions, or a dict.
    """

    def __init__(self, code, code_type, options=None):
        self._code_type = str(code_type).lower()
        if self._code_type not in _LANGUAGES:
            raise RuntimeError(
                f"Unsupported code_type={code_type!r} (supported: {', '.join(_LANGUAGES)})"
            )
        if isinstance(code, str):
            code = code.encode()
        elif self._code_type != "nvvm" or not isinstance(code, (bytes, bytearray)):
            raise TypeError(f"the code is a str, got {type(code).__name__}")
        self._source = bytes(code)
        self._options = as_options(ProgramOptions, options)
        if self._options.extra_sources is not None and self._code_type != "nvvm":
            raise ValueError("extra_sources is not supported by the NVRTC backend")
        self._options._words()
        self._closed = False

    @property
    def backend(self):
        """What compiles it: "NVRTC", "NVVM" or "nvJitLink"."""
        from holdfast.core.typing import CompilerBackendType

        backends = {"c++": "NVRTC", "ptx": "nvJitLink", "nvvm": "NVVM"}
        return CompilerBackendType(backends[self._code_type])

    pch_status = property(lambda self: None)

    @property
    def handle(self):
        raise not_served("a handle of the compiler", "compile gives an ObjectCode")

    def compile(self, target_type, name_expressions=(), logs=None, *, cache=None):
        """Compiles to "ptx", "cubin" or "ltoir".

        Args:
            name_expressions: instantiations that are wanted, ``("vector_add<float>",)``.
            logs: an object with ``write``, which gets the compiler's messages.
            cache: not served; the daemon's own cache serves all sessions.

        Raises:
            NVRTCError: the source does not compile; the message has the log.
        """
        target_type = str(target_type).lower()
        if target_type not in _TARGETS[self._code_type]:
            raise ValueError(
                f"Unsupported target_type={target_type!r} for code_type={self._code_type!r} "
                f"(supported: {', '.join(_TARGETS[self._code_type])})"
            )
        if cache is not None:
            raise not_served("a cache of the client", "the daemon has one for all")
        if isinstance(name_expressions, str):
            name_expressions = (name_expressions,)
        names = tuple(
            n.decode() if isinstance(n, bytes) else n for n in name_expressions
        )
        device = working_device()
        daemon = device._session._daemon
        # The software device runs PTX; the cubin is made if its bytes are asked for.
        keeps_ptx = target_type == "cubin" and device.is_software
        stored, result = self._compile(device, "ptx" if keeps_ptx else target_type, names, logs)
        code = _native.fetch(daemon, stored)
        return ObjectCode._make(
            target_type,
            code=None if keeps_ptx else code,
            ptx=code if keeps_ptx else None,
            build=lambda: _native.fetch(daemon, self._compile(device, "cubin", names, None)[0]),
            name=self._options.name,
            symbols=result["symbols"],
            stored=stored,
            daemon=daemon,
        )

    def link(self, target_type, name_expressions=(), logs=None, *, cache=None):
        """``compile``, by the name that suits PTX."""
        return self.compile(target_type, name_expressions, logs, cache=cache)

    def _compile(self, device, target_type, names, logs):
        options = self._options
        line = compile_line(f"compiling {options.name}")
        try:
            stored, result = self._ask_daemon(device, target_type, names, line)
        finally:
            if line is not None:
                line.close()
        if logs is not None:
            logs.write(result["log"])
        if result["warnings"]:
            import warnings

            warnings.warn(result["warnings"], stacklevel=3)
        return stored, result

    def _ask_daemon(self, device, target_type, names, line):
        options = self._options
        return _native.compile(
            device._session._daemon,
            self._source,
            _LANGUAGES[self._code_type],
            FORMATS[target_type],
            options.name,
            options.arch or f"sm_{device.arch}",
            options._words(),
            names,
            _named((options.headers or {}).items()),
            _named(options.extra_sources or ()),
            line,
        )

    def close(self):
        """Nothing: a program holds nothing in the daemon."""

    def __repr__(self):
        return f"<Program {self._options.name!r}, {self._code_type}>"
