# SPDX-License-Identifier: Apache-2.0
from holdfast import _native
from holdfast._errors import CUDAError
from holdfast.core._closable import Closable
from holdfast.core._module import FORMATS, ObjectCode, working_device
from holdfast.core._options import Options, as_options, not_served


def _flag(name):
    return lambda value: (name,) if value else ()


def _number(name):
    return lambda value: (f"{name}={int(value)}",)


def _boolean(name):
    return lambda value: (f"{name}={'true' if value else 'false'}",)


def _list(name):
    def render(value):
        values = (value,) if isinstance(value, str) else tuple(value)
        return tuple(f"{name}={v}" for v in values)

    return render


_RENDERERS = {
    "max_register_count": _number("-maxrregcount"),
    "time": _flag("-time"),
    "verbose": _flag("-verbose"),
    "link_time_optimization": _flag("-lto"),
    "ptx": _flag("-ptx"),
    "optimization_level": lambda level: (f"-O{level}",),
    "debug": _flag("-g"),
    "lineinfo": _flag("-lineinfo"),
    "ftz": _boolean("-ftz"),
    "prec_div": _boolean("-prec-div"),
    "prec_sqrt": _boolean("-prec-sqrt"),
    "fma": _boolean("-fma"),
    "kernels_used": _list("-kernels-used"),
    "variables_used": _list("-variables-used"),
    "optimize_unused_variables": _flag("-optimize-unused-variables"),
    "ptxas_options": _list("-Xptxas"),
    "split_compile": _number("-split-compile"),
    "split_compile_extended": _number("-split-compile-extended"),
    "no_cache": _flag("-no-cache"),
    "numba_debug": _flag("-numba-debug"),
}


# Of these nvJitLink takes note only where LTO IR is linked.
_LTO_WORDS = (
    "-lto",
    "-ftz=",
    "-prec-div=",
    "-prec-sqrt=",
    "-fma=",
    "-optimize-unused-variables",
    "-split-compile-extended=",
)


class LinkerOptions(Options):
    """Options of a link, by cuda.core's names; ``arch`` is by default the current device's."""

    _fields = {"name": "<default program>", "arch": None, **dict.fromkeys(_RENDERERS)}

    def _words(self, lto):
        """The options as the daemon takes them: architecture and target are no options there.
        `lto`: there is LTO IR to link."""
        elsewhere = ("-arch=", "-ptx") + (() if lto else _LTO_WORDS)
        return tuple(word for word in self._all_words() if not word.startswith(elsewhere))

    def _all_words(self):
        words = [f"-arch={self.arch}"] if self.arch else []
        for field, render in _RENDERERS.items():
            value = getattr(self, field)
            if value is not None:
                words.extend(render(value))
        return tuple(words)

    def as_bytes(self, backend="nvjitlink"):
        """The options as nvJitLink's words.

        Raises:
            ValueError: another backend.
        """
        backend = str(backend).lower()
        if backend != "nvjitlink":
            raise ValueError(f"as_bytes() only supports 'nvjitlink' backend, got {backend!r}")
        arch = () if self.arch else (f"-arch=sm_{working_device().arch}",)
        return [word.encode() for word in (*arch, *self._all_words())]


class Linker(Closable):
    """Links objects into one, in the daemon.

    Args:
        object_codes: one ObjectCode or more, in link order.
        options: LinkerOptions, or a dict.
    """

    _closed = False

    def __init__(self, *object_codes, options=None):
        if not object_codes:
            raise ValueError("At least one ObjectCode object must be provided")
        for code in object_codes:
            if not isinstance(code, ObjectCode):
                raise TypeError(f"an ObjectCode expected, got {type(code).__name__}")
        self._inputs = object_codes
        self._options = as_options(LinkerOptions, options)
        self._error_log = ""
        self._info_log = ""

    def link(self, target_type):
        """Links to "cubin", "ptx" or "ltoir".

        Raises:
            NVRTCError: the objects do not link; ``get_error_log`` has the log.
        """
        self._check_open()
        target_type = str(target_type).lower()
        if target_type not in ("cubin", "ptx", "ltoir"):
            raise ValueError(f"Unsupported target type: {target_type!r} (cubin, ptx, ltoir)")
        device = working_device()
        daemon = device._session._daemon
        # As Program.compile does: what runs is PTX, and the cubin is made when it is asked for.
        keeps_ptx = target_type == "cubin" and device.is_software
        stored, result = self._link(device, "ptx" if keeps_ptx else target_type)
        code = _native.fetch(daemon, stored)
        return ObjectCode._make(
            target_type,
            code=None if keeps_ptx else code,
            ptx=code if keeps_ptx else None,
            build=lambda: _native.fetch(daemon, self._link(device, "cubin")[0]),
            name=self._options.name,
            symbols=result["symbols"],
            kinds=result["kernels"],
            stored=stored,
            device=device,
        )

    def _link(self, device, target_type):
        """(the object, what the daemon tells). PTX that is joined as text has nothing to optimize,
        and no code generator to time: a cubin is made of it with the options."""
        inputs = []
        for code in self._inputs:
            if device.is_software:
                kind, data = code._what_loads()
            else:
                kind, data = FORMATS[code.code_type], code._bytes
            inputs.append((code.name, data, kind))
        kinds = {kind for _, _, kind in inputs}
        as_text = target_type == "ptx" and kinds == {FORMATS["ptx"]}
        words = () if as_text else self._options._words(lto=FORMATS["ltoir"] in kinds)
        try:
            stored, result = _native.link(
                device._session._daemon,
                inputs,
                FORMATS[target_type],
                self._options.arch or f"sm_{device.arch}",
                words,
            )
        except CUDAError as error:
            self._error_log = error.log or str(error)
            raise
        self._info_log = result["log"]
        return stored, result

    def get_error_log(self):
        self._check_open()
        return self._error_log

    def get_info_log(self):
        self._check_open()
        return self._info_log

    @classmethod
    def which_backend(cls):
        """"nvJitLink": the daemon links with nothing else."""
        from holdfast.core.typing import CompilerBackendType

        return CompilerBackendType.NVJITLINK

    @property
    def backend(self):
        """``which_backend()``, as cuda.core had it before 1.0."""
        return self.which_backend()

    @property
    def handle(self):
        """The linker's number in this process; not a CUlinkState."""
        return id(self)

    def close(self):
        """Ends what the linker can do, its logs included; it holds nothing in the daemon."""
        self._closed = True

    def __repr__(self):
        return f"<Linker of {len(self._inputs)} objects>"
