# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of `holdfast.bindings` from the headers of a CUDA toolkit.

    generate.py CLANG INCLUDE_FOLDER OUT_FOLDER

Writes driver.json, runtime.json and nvrtc.json, from which the package makes functions, classes and
constants when they are first used.
"""

import json
import os
import re
import sys
import tempfile

import directions
import headers

_MODULES = {
    "driver": (["cuda.h", "cudaProfiler.h", "cudaEGL.h", "cudaGL.h", "vdpau/vdpau.h",
                "cudaVDPAU.h"], "CUresult", r"cu[A-Z]"),
    "runtime": (["cuda_runtime_api.h", "driver_functions.h", "cuda_profiler_api.h",
                 "library_types.h", "cuda_egl_interop.h", "cuda_gl_interop.h",
                 "cuda_vdpau_interop.h"], "cudaError_t", r"(cuda[A-Z]|make_cuda)"),
    "nvrtc": (["nvrtc.h"], "nvrtcResult", r"nvrtc[A-Z]"),
}  # fmt: skip

# Stand-ins for headers that CUDA's headers for graphics include and that are not in the include
# folder: the types that CUDA's headers use, with their sizes. A pointer to a struct without a body
# is a handle in Python.
_GRAPHICS = {
    "EGL/egl.h": "typedef int EGLint;",
    "EGL/eglext.h": """
        typedef struct EGLImage_* EGLImageKHR;
        typedef struct EGLStream_* EGLStreamKHR;
        typedef struct EGLSync_* EGLSyncKHR;""",
    "GL/gl.h": "typedef unsigned int GLenum; typedef unsigned int GLuint;",
    "vdpau/vdpau.h": """
        typedef unsigned int VdpDevice;
        typedef unsigned int VdpVideoSurface;
        typedef unsigned int VdpOutputSurface;
        typedef unsigned long VdpGetProcAddress;""",
    "cuda_runtime.h": "",
    "cudart_platform.h": "",
}

_PER_THREAD = ("CUDA_API_PER_THREAD_DEFAULT_STREAM",)


def _main(clang, include_folder, out_folder):
    with tempfile.TemporaryDirectory() as graphics_folder:
        _write_graphics(graphics_folder)
        _write_tables(clang, [include_folder, graphics_folder], out_folder)


def _write_graphics(folder):
    for name, text in _GRAPHICS.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#pragma once\n" + text)


def _write_tables(clang, include_folders, out_folder):
    for module, (names, result, functions) in _MODULES.items():
        header = headers.read(clang, include_folders, names)
        per_thread = headers.read(clang, include_folders, names, _PER_THREAD)
        table = {
            "result": result,
            "functions": _functions(header, per_thread, functions),
            "enums": header.enums,
            "structs": {name: _struct(header, name) for name in header.structs},
            "handles": header.handles,
            "aliases": {**header.aliases, **_type_macros(header)},
            "constants": _constants(header),
        }
        with open(os.path.join(out_folder, f"{module}.json"), "w", encoding="utf-8") as file:
            json.dump(table, file, separators=(",", ":"))


def _functions(header, per_thread, pattern):
    """name -> [symbol, symbol for per-thread default streams, type of the result, parameters].

    The name is the one of the source; macros make it the symbol of the version that is meant. An
    empty symbol is the name itself, or that there is no other.
    """
    names = {symbol: symbol for symbol in header.functions}
    for name in header.macros:
        symbol = _expand(header, name)
        if symbol in header.functions:
            names[name] = symbol
    table = {}
    for name, symbol in names.items():
        if not re.match(pattern, name):
            continue
        result, declared = header.functions[symbol]
        other = _expand(per_thread, name)
        plain = re.sub(r"_v\d+$", "", name)
        table[name] = [
            symbol if symbol != name else "",
            other if other != symbol and other in per_thread.functions else "",
            result,
            directions.parameters(plain, declared),
        ]
    return table


def _expand(header, name):
    """The symbol that a function's name stands for: cuMemAlloc_v2 for cuMemAlloc, and
    cuMemcpy_ptds for cuMemcpy where the default stream is each thread's own."""
    seen = set()
    while name in header.macros and name not in seen:
        seen.add(name)
        text = header.macros[name]
        wrapped = re.match(r"__CUDA(RT)?_API_(PTDS|PTSZ)\((\w+)\)$", text)
        if wrapped:
            name = wrapped.group(3)
            suffix = "_" + wrapped.group(2).lower()
            return name + suffix if name + suffix in header.functions else name
        name = text
    return name


def _struct(header, name):
    """[size, alignment, [[field, offset, type, field that counts its elements], ...]]."""
    size, alignment, fields = header.structs[name]
    numbers = [field for field, _, kind in fields if re.match(r"[ui]", kind)]
    counter = next((name for name in numbers if _COUNTER.search(name)), "")
    table = []
    for field, offset, kind in fields:
        row = [field, offset, kind]
        if re.match(r"\*k?[th]:", kind):
            row.append("" if field in _SINGLE else counter)
        table.append(row)
    return [size, alignment, table]


# A member with such a name counts the elements of those that are pointers; a struct has one.
_COUNTER = re.compile(r"^(num|count)|Count$|^size$")

# Members that point to one element.
_SINGLE = ("cigParams", "dstActBytes")


def _type_macros(header):
    """Macros that are other names of types: cudaStreamAttrID."""
    types = {*header.enums, *header.structs, *header.handles}
    return {name: text for name, text in header.macros.items() if text in types}


def _constants(header):
    """name -> number or text, of the macros that are constants."""
    known = {member: value for members in header.enums.values() for member, value in members}
    constants = {}
    for name in header.macros:
        if re.match(r"(CU|NVRTC|cuda[A-Z]|MAX_PLANES)", name) and not name.endswith("_H"):
            value = _evaluate(header.macros, name, known)
            if value is not None:
                constants[name] = value
    return constants


_CAST = re.compile(r"\(\s*(unsigned |signed )?(\w+)( long| int)*\s*\**\s*\)(?=\s*[-(\w])")


def _evaluate(macros, name, known, depth=0):
    """The value of a macro, or None if it is no constant."""
    text = re.sub(r"/\*.*?\*/|//.*", "", macros[name]).strip()
    text = _CAST.sub(_cast, text)
    text = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text)
    names = set(re.findall(r"\b[A-Za-z_]\w*", text))
    values = {}
    for used in names:
        if used in known:
            values[used] = known[used]
        elif used in macros and depth < 8:
            value = _evaluate(macros, used, known, depth + 1)
            if value is None:
                return None
            values[used] = value
        elif not re.fullmatch(r"[xX][0-9a-fA-F]+", used):
            return None
    try:
        value = eval(text, {"__builtins__": {}}, values)
    except Exception:
        return None
    return value if isinstance(value, (int, float, str)) else None


def _cast(found):
    """Nothing for a cast to a type; the text itself for a constant in brackets."""
    name = found.group(2)
    is_type = re.match(r"(unsigned|signed|int|long|size_t|void|CU|cuda|char)", name)
    return "" if is_type and not name.isupper() else found.group(0)


if __name__ == "__main__":
    _main(*sys.argv[1:])
