# SPDX-License-Identifier: Apache-2.0
import os

from holdfast import _native
from holdfast._errors import CUDAError
from holdfast._progress import compile_line
from holdfast.core._closable import Closable
from holdfast.core._module import FORMATS, ObjectCode, kinds_in, working_device
from holdfast.core._options import Options, as_options

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
        if any(isinstance(item, list) for item in value):
            raise RuntimeError(
                f"Expected define_macro as a list of strings and pairs, got {value!r}"
            )
        return tuple(word for item in value for word in _macros(item))
    if isinstance(value, str):
        return (f"--define-macro={value}",)
    if isinstance(value, tuple):
        if len(value) != 2 or not all(isinstance(part, str) for part in value):
            raise RuntimeError(f"Expected define_macro tuple of two strings, (name, value), got {value!r}")
        return (f"--define-macro={value[0]}={value[1]}",)
    raise RuntimeError(f"Expected define_macro as a string, a pair or a list of these, got {value!r}")


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
    "no_source_include": _flag("--no-source-include"),
    "frandom_seed": _value("--frandom-seed"),
    "numba_debug": _flag("--numba-debug"),
    "use_libdevice": lambda on: (),
}

# What the compiler would keep or write in files of its machine, and what it finds without being
# told: taken, without effect. The daemon keeps what it has compiled.
_NO_EFFECT = {
    "pch": _flag("--pch"),
    "create_pch": _value("--create-pch"),
    "use_pch": _value("--use-pch"),
    "pch_dir": _value("--pch-dir"),
    "pch_verbose": _boolean("--pch-verbose"),
    "pch_messages": _boolean("--pch-messages"),
    "instantiate_templates_in_pch": _boolean("--instantiate-templates-in-pch"),
    "use_bundled_headers": lambda on: (),
    "time": _value("--time"),
    "fdevice_time_trace": _value("--fdevice-time-trace"),
}

# Folders and files of this machine: the source's headers are read here and sent.
_FILES = {
    "include_path": lambda paths: _values("--include-path")(_paths(paths)),
    "pre_include": lambda paths: _values("--pre-include")(_paths(paths)),
}


def _paths(value):
    """None or False, a path, or a sequence of paths, as a tuple of str."""
    if value is None or value is False:
        return ()
    is_one = isinstance(value, (str, bytes, os.PathLike))
    return tuple(os.fsdecode(v) for v in ((value,) if is_one else value))


# libNVVM's words for the fields that cuda.core gives it.
_NVVM_RENDERERS = {
    "debug": _flag("-g"),
    "device_code_optimize": lambda on: (f"-opt={3 if on else 0}",),
    "ftz": lambda on: (f"-ftz={int(bool(on))}",),
    "prec_sqrt": lambda on: (f"-prec-sqrt={int(bool(on))}",),
    "prec_div": lambda on: (f"-prec-div={int(bool(on))}",),
    "fma": lambda on: (f"-fma={int(bool(on))}",),
    "link_time_optimization": _flag("-gen-lto"),
    "numba_debug": _flag("--numba-debug"),
    "use_libdevice": lambda on: (),
}

# What nvJitLink heeds when it compiles PTX; LinkerOptions has fields of the same names.
_LINKER_FIELDS = (
    "max_register_count",
    "link_time_optimization",
    "debug",
    "lineinfo",
    "ftz",
    "prec_div",
    "prec_sqrt",
    "fma",
    "ptxas_options",
    "split_compile",
    "no_cache",
    "numba_debug",
)


class ProgramOptions(Options):
    """Options of a compilation, by cuda.core's names; None: the compiler's default.

    ``arch`` ("sm_90") is by default that of the current device. ``headers``, which cuda.core does
    not have, are the texts that the source may include: ``{"tile.h": "..."}``. The folders of
    ``include_path`` and the files of ``pre_include`` are this machine's: what the source includes
    of them is sent with it. ``pch`` and its like, ``time`` and ``fdevice_time_trace`` are taken
    without effect, since the compiler writes no file.
    """

    _fields = {
        "name": "default_program",
        "arch": None,
        **dict.fromkeys(_RENDERERS),
        "extra_sources": None,
        "headers": None,
        **dict.fromkeys((*_FILES, *_NO_EFFECT)),
    }

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self.name is None:
            self.name = self._fields["name"]
        _check_extra_sources(self.extra_sources)

    def _words(self):
        """The options as the daemon takes them."""
        return self._render(_RENDERERS)

    def _render(self, renderers):
        words = []
        for field, render in renderers.items():
            value = getattr(self, field)
            if value is not None:
                words.extend(render(value))
        return tuple(words)

    def _nvvm_words(self, target_type):
        for field in _RENDERERS:
            if getattr(self, field) and field not in _NVVM_RENDERERS:
                raise CUDAError(f"ProgramOptions.{field} is not supported by NVVM backend")
        words = self._render(_NVVM_RENDERERS)
        if target_type == "ltoir" and "-gen-lto" not in words:
            words += ("-gen-lto",)
        return words

    def as_bytes(self, backend="nvrtc", target_type=None):
        """The options as the words of a compiler.

        Args:
            backend: "nvrtc", "nvvm" or "nvjitlink" (also "linker").
            target_type: "ltoir" adds what NVVM needs for it.

        Raises:
            CUDAError: NVVM has no such option.
        """
        backend = str(backend).lower()
        arch = self.arch or f"sm_{working_device().arch}"
        if backend == "nvrtc":
            words = (f"-arch={arch}",)
            words += self._render({**_RENDERERS, **_FILES, **_NO_EFFECT})
        elif backend == "nvvm":
            words = (f"-arch={arch.replace('sm_', 'compute_')}",)
            words += self._nvvm_words(target_type)
        elif backend in ("nvjitlink", "linker"):
            return self._linker_options().as_bytes()
        else:
            raise ValueError(f"Unknown backend {backend!r}. Must be one of: 'nvrtc', 'nvvm', 'nvjitlink'")
        return [word.encode() for word in words]

    def _linker_options(self):
        """The same for PTX, which nvJitLink compiles."""
        from holdfast.core._linker import LinkerOptions

        fields = {field: getattr(self, field) for field in _LINKER_FIELDS}
        return LinkerOptions(name=self.name, arch=self.arch, **fields)


_SPOKEN = {"c++": "C++", "ptx": "PTX", "nvvm": "NVVM IR"}


def _check_extra_sources(modules):
    """More modules of NVVM IR: pairs of a name, and text or bitcode."""
    if modules is None:
        return
    if not isinstance(modules, (list, tuple)):
        raise TypeError(
            f"extra_sources must be a sequence of 2-tuples, got {type(modules).__name__}"
        )
    for index, module in enumerate(modules):
        if not isinstance(module, tuple) or len(module) != 2:
            raise TypeError(f"Each extra module must be a 2-tuple, (name, source), got {module!r}")
        name, source = module
        if not isinstance(name, str):
            raise TypeError(
                f"Module name at index {index} must be a string, got {type(name).__name__}"
            )
        if not isinstance(source, (str, bytes, bytearray)):
            raise TypeError(
                f"Module source at index {index} must be str, bytes or bytearray, "
                f"got {type(source).__name__}"
            )
        if not source:
            raise ValueError(f"Module source for {name!r} (index {index}) cannot be empty")


def _named(entries):
    return [
        (name, text.encode() if isinstance(text, str) else bytes(text)) for name, text in entries
    ]


class Program(Closable):
    """A source, to be compiled by the daemon, which keeps what it has compiled.

    Args:
        code: the source; of NVVM IR, text or bitcode.
        code_type: "c++", "ptx" or "nvvm".
        options: ProgramOptions, or a dict.
    """

    _closed = False

    def __init__(self, code, code_type, options=None):
        self._code_type = str(code_type).lower()
        if self._code_type not in _LANGUAGES:
            raise RuntimeError(
                f"Unsupported code_type={self._code_type!r} "
                f"(supported_code_types={tuple(_LANGUAGES)})"
            )
        if isinstance(code, str):
            code = code.encode()
        elif self._code_type != "nvvm" or not isinstance(code, (bytes, bytearray)):
            accepted = "str, bytes, or bytearray" if self._code_type == "nvvm" else "str"
            raise TypeError(
                f"{_SPOKEN[self._code_type]} code must be provided as {accepted}, "
                f"got {type(code).__name__}"
            )
        self._source = bytes(code)
        self._options = as_options(ProgramOptions, options)
        if self._options.extra_sources is not None and self._code_type != "nvvm":
            backend = "PTX" if self._code_type == "ptx" else "NVRTC"
            raise ValueError(f"extra_sources is not supported by the {backend} backend")
        _paths(self._options.include_path)
        self._options._words()
        self._compiled = False
        self._is_run_as_ptx = False

    @property
    def backend(self):
        """What compiles it: "NVRTC", "NVVM" or "nvJitLink"."""
        from holdfast.core.typing import CompilerBackendType

        backends = {"c++": "NVRTC", "ptx": "nvJitLink", "nvvm": "NVVM"}
        return CompilerBackendType(backends[self._code_type])

    @property
    def pch_status(self):
        """None; after a compilation that was to use precompiled headers,
        PCHStatusType.NOT_ATTEMPTED."""
        from holdfast.core.typing import PCHStatusType

        options = self._options
        asked = options.pch or options.create_pch or options.use_pch
        return PCHStatusType.NOT_ATTEMPTED if asked and self._compiled else None

    @property
    def handle(self):
        """The program's number in this process; not an nvrtcProgram."""
        return id(self)

    def compile(self, target_type, name_expressions=(), logs=None, *, cache=None):
        """Compiles to "ptx", "cubin" or "ltoir".

        Args:
            name_expressions: instantiations that are wanted, ``("vector_add<float>",)``.
            logs: an object with ``write``, which gets the compiler's messages.
            cache: a ``utils.ProgramCacheResource`` of the program's own, asked before the compiler
                is, and given what it makes. The daemon has one for all clients, besides.

        Raises:
            NVRTCError: the source does not compile; the message has the log.
            ValueError: with a cache: what ``utils.make_program_cache_key`` refuses, and
                ``name_expressions``, whose lowered names no cache keeps.
        """
        self._check_open()
        target_type = str(target_type).lower()
        if target_type not in _TARGETS[self._code_type]:
            raise ValueError(
                f"Unsupported target_type={target_type!r} for code_type={self._code_type!r} "
                f"(supported: {', '.join(_TARGETS[self._code_type])})"
            )
        if isinstance(name_expressions, str):
            name_expressions = (name_expressions,)
        names = tuple(
            n.decode() if isinstance(n, bytes) else n for n in name_expressions
        )
        if cache is not None:
            return self._compile_with(cache, target_type, names, logs)
        return self._compile_now(target_type, names, logs)

    def _compile_with(self, cache, target_type, names, logs):
        from holdfast.core._program_cache import ProgramCacheResource
        from holdfast.core._program_key import make_program_cache_key

        if not isinstance(cache, ProgramCacheResource):
            raise TypeError(
                f"cache must be a utils.ProgramCacheResource, got {type(cache).__name__}"
            )
        if names:
            raise ValueError("name_expressions have no use with a cache: it keeps the code alone")
        is_text = self._code_type != "nvvm"
        key = make_program_cache_key(
            code=self._source.decode() if is_text else self._source,
            code_type=self._code_type,
            options=self._options,
            target_type=target_type,
        )
        found = cache.get(key)
        if found is None:
            made = self._compile_now(target_type, names, logs)
            cache[key] = made
            return made
        device = working_device()
        code = ObjectCode._from(target_type, bytes(found), self._options.name, None)
        if target_type == "cubin" and device.is_software and code._ptx is None:
            # A GPU's daemon made the cubin. The software device runs PTX.
            code = self._compile_now(target_type, names, None)
            code._code = bytes(found)
        if not code._kinds:
            code._describe = self._description(device, target_type)
        return code

    def _compile_now(self, target_type, names, logs):
        device = working_device()
        daemon = device._session._daemon
        # The software device runs PTX; the cubin is made if its bytes are asked for.
        keeps_ptx = target_type == "cubin" and device.is_software
        # Line numbers cost nothing there, and faults have them.
        self._is_run_as_ptx = keeps_ptx
        stored, result = self._compile(device, "ptx" if keeps_ptx else target_type, names, logs)
        self._compiled = True
        code = _native.fetch(daemon, stored)
        return ObjectCode._make(
            target_type,
            code=None if keeps_ptx else code,
            ptx=code if keeps_ptx else None,
            build=lambda: _native.fetch(daemon, self._compile(device, "cubin", names, None)[0]),
            kinds=result["kernels"],
            # A daemon that tells no kinds with a cubin tells none if it is asked again.
            describe=None
            if result["kernels"]
            else self._description(device, target_type, names, asks_cubin=False),
            name=self._options.name,
            symbols=result["symbols"],
            stored=stored,
            device=device,
        )

    def _description(self, device, target_type, names=(), asks_cubin=True):
        """A function that asks for the kinds of the parameters of a cubin that came without them: of
        a cache, or of a daemon that tells none. None: there is nothing to ask for."""
        if target_type != "cubin":
            return None
        if self._code_type == "ptx":
            return lambda: kinds_in(self._source)

        def ask():
            if asks_cubin:
                # The daemon has mostly made this cubin itself, and keeps what it told.
                kernels = self._ask_daemon(device, "cubin", names, None)[1]["kernels"]
                if kernels:
                    return kernels
            stored, _ = self._ask_daemon(device, "ptx", names, None)
            return kinds_in(_native.fetch(device._session._daemon, stored))

        return ask

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

    def _words(self, target_type):
        if self._code_type == "c++" and target_type == "ptx" and self._is_run_as_ptx:
            words = self._options._words()
            has_lines = self._options.lineinfo or self._options.debug
            return words if has_lines else (*words, "--generate-line-info")
        if self._code_type != "ptx":
            return self._options._words()
        # PTX that stays as it is has nothing to optimize; the cubin is made with the options.
        return () if target_type == "ptx" else self._options._linker_options()._words(lto=False)

    def _ask_daemon(self, device, target_type, names, line):
        options = self._options
        is_cpp = self._code_type == "c++"
        # A source whose name has a folder finds headers there. The daemon cannot read folders of
        # this machine: the client finds these headers and sends them.
        folder, name = os.path.split(options.name)
        beside = (folder,) if folder and not options.no_source_include else ()
        return _native.compile(
            device._session._daemon,
            self._source,
            _LANGUAGES[self._code_type],
            FORMATS[target_type],
            name or ProgramOptions._fields["name"],
            options.arch or f"sm_{device.arch}",
            self._words(target_type),
            names,
            _named((options.headers or {}).items()),
            _named(options.extra_sources or ()),
            (*beside, *_paths(options.include_path)) if is_cpp else (),
            _paths(options.pre_include) if is_cpp else (),
            line,
        )

    def close(self):
        """Ends what the program can do; it holds nothing in the daemon."""
        self._closed = True

    def __repr__(self):
        return f"<Program backend='{self.backend}'>"
