# SPDX-License-Identifier: Apache-2.0
"""Makes functions from the tables.

A function is Python source that is put together from its parameters and compiled when it is first
used: a call then costs no more than what is written there, and errors in arguments are Python's
own. bindings/directions.py tells what each parameter is for.
"""

import ctypes
import functools
import os

from holdfast.bindings import _convert
from holdfast.bindings._attributes import Value, Values
from holdfast.bindings._load import find_function
from holdfast.bindings._types import Codec, Struct, member

# Results with which a function has written what it returns all the same.
_TELLING = ("GraphExecUpdate",)


def make_function(api, name):
    """The function ``name`` of the module."""
    symbol, per_thread, result, parameters = api.table["functions"][name]
    if name.startswith("make_cuda"):
        return _make_maker(api, name, result, parameters)
    if per_thread and os.environ.get("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM", "0") != "0":
        symbol = per_thread
    writer = _Writer(api, name, result)
    for row in parameters:
        writer.add(*row, rows=parameters)
    source = writer.source()
    scope = writer.scope
    scope["_call"] = _first_call(api.name, symbol or name, writer, scope)
    exec(compile(source, f"<holdfast.bindings.{api.name}.{name}>", "exec"), scope)
    function = scope[name]
    function.__module__ = f"holdfast.bindings.{api.name}"
    function.__qualname__ = name
    return _with_earlier_form(function) if name == "cuCtxCreate" else function


def _with_earlier_form(function):
    """cuCtxCreate, also as cuda.bindings 12 has it: without parameters of creation."""

    @functools.wraps(function)
    def create(*arguments, **named):
        if len(arguments) == 2 and not named:
            arguments = None, *arguments
        return function(*arguments, **named)

    return create


def _first_call(module, symbol, writer, scope):
    """Loads the library, and takes the place of C's function until that is found."""

    def call(*arguments):
        function = find_function(module, symbol)
        function.argtypes = writer.argument_types
        function.restype = writer.result_type
        scope["_call"] = function
        return function(*arguments)

    return call


def _make_maker(api, name, result, parameters):
    """make_cudaPos and its kind: they fill a struct in C's header, and no library has them."""
    cls = api.get(result[2:])

    def make(*values):
        made = cls()
        if len(values) != len(parameters):
            raise TypeError(f"{name}() takes {len(parameters)} arguments, got {len(values)}")
        for member_name, value in zip(cls._members, values):
            setattr(made, member_name, value)
        return made

    make.__name__ = make.__qualname__ = name
    return make


class _Results(dict):
    """number -> member of the enumeration of results."""

    def __init__(self, cls):
        super().__init__({int(one): one for one in cls})
        self._cls = cls

    def __missing__(self, value):
        return member(self._cls, value)


_results = {}


class _Writer:
    """Writes a function's source, one parameter after the other."""

    def __init__(self, api, name, result):
        self._api = api
        self._name = name
        self._result = result
        self._signature = []
        self._before = []
        self._after = []
        self._arguments = []
        self._outputs = []
        self.argument_types = []
        if api.name not in _results:
            _results[api.name] = _Results(api.get(api.table["result"]))
        self.scope = {
            "_results": _results[api.name], "_byref": ctypes.byref, "_number": _convert.number,
            "_pointer": _convert.pointer, "_text": _convert.text,
        }  # fmt: skip
        self._set_result_type(result)

    def _set_result_type(self, result):
        self._is_result = result == f"e:{self._api.table['result']}"
        if result == "*ki1":
            self.result_type = ctypes.c_char_p
        elif result[:2] == "t:":
            self.result_type = _by_value(self._api.get(result[2:]))
        else:
            self.result_type = ctypes.c_int

    def add(self, name, mode, kind, other, rows):
        getattr(self, f"_add_{mode}")(name, kind, other, rows)

    def source(self):
        lines = [f"def {self._name}({', '.join(self._signature)}):", *self._before]
        lines.append(f"result = _call({', '.join(self._arguments)})")
        lines += self._after
        if not self._is_result:
            lines.append("return _results[0], " + self._wrap_result())
        else:
            if self._outputs and not self._name.endswith(_TELLING):
                nothing = ", None" * len(self._outputs)
                lines.append(f"if result: return _results[result]{nothing}")
            lines.append("return (" + ", ".join(["_results[result]", *self._outputs]) + ",)")
        return "\n    ".join(lines)

    def _wrap_result(self):
        if self._result[:2] != "t:":
            return "result"
        cls = self._api.get(self._result[2:])

        def copy(value):
            made = cls()
            ctypes.memmove(made.getPtr(), ctypes.addressof(value), cls._size)
            return made

        return f"{self._define('copy', copy)}(result)"

    def _define(self, hint, value):
        """Makes a value known to the source; returns its name there."""
        name = f"_{hint}{len(self.scope)}"
        self.scope[name] = value
        return name

    def _pass(self, text, ctype=ctypes.c_void_p):
        self._arguments.append(text)
        self.argument_types.append(ctype)

    def _local(self, name, text):
        """A variable that lives as long as the call; returns its name."""
        variable = f"_{name}_c"
        self._before.append(f"{variable} = {text}")
        return variable

    def _add_value(self, name, kind, other, rows):
        self._signature.append(name)
        if kind[:2] == "t:":
            ctype = _by_value(self._api.get(kind[2:]))
            take = self._define("take", lambda value: ctype.from_address(value.getPtr()))
            return self._pass(f"{take}({name})", ctype)
        if kind[0] == "*":
            return self._pass(f"_pointer({name})")
        codec = Codec(self._api, kind)
        check = self._define("check", codec.unwrap) if kind[0] in "iuf" else "_number"
        self._pass(f"{check}({name})", codec.ctype)

    def _add_text(self, name, kind, other, rows):
        self._signature.append(name)
        self._pass(f"_text({name})", ctypes.c_char_p)

    def _add_pointer(self, name, kind, other, rows):
        self._signature.append(name + (" = 0" if name == "extra" else ""))
        self._pass(f"_pointer({name})")

    def _add_struct(self, name, kind, other, rows):
        self._signature.append(name)
        cls = self._api.get(kind[2:])

        def take(value):
            if value is None or isinstance(value, cls):
                return value and value.getPtr()
            found = type(value).__name__
            raise TypeError(
                f"Argument {name!r} has incorrect type (expected {cls.__name__}, got {found})"
            )

        self._pass(f"{self._define('take', take)}({name})")

    def _add_handle(self, name, kind, other, rows):
        self._signature.append(name)
        cls = self._api.get(kind[2:])
        take = self._define("take", lambda value: value if isinstance(value, cls) else cls(value))
        self._pass(f"{self._local(name, f'{take}({name})')}.getPtr()")

    def _add_array(self, name, kind, other, rows):
        self._signature.append(name)
        counted = other if any(row[0] == other for row in rows) else "None"
        if kind in ("*ki1", "*i1"):
            make = self._define("make", _make_texts)
        else:
            make = self._define("make", _array_maker(Codec(self._api, kind)))
        if self._has_list(counted, rows):
            counted = "None"
        array = self._local(name, f"{make}({name}, {counted})")
        self._pass(f"{array}[0]")

    @staticmethod
    def _has_list(counted, rows):
        """Whether the count is written by the library, so that it cannot be compared before."""
        return any(row[0] == counted and row[1] != "value" for row in rows)

    def _add_params(self, name, kind, other, rows):
        self._signature.append(name)
        take = self._define("take", _convert.kernel_parameters)
        self._pass(self._local(name, f"{take}({name})"))

    def _add_values(self, name, kind, other, rows):
        self._signature.append(name)
        take = self._define("take", _convert.option_values)
        variable = self._local(name, f"{take}({name})")
        self._pass(variable)
        if self._name.startswith("cuLinkCreate"):
            # The library reads and writes them until the state is destroyed.
            self._after.append(f"_stateOut_c._kept = {variable}")

    def _add_out(self, name, kind, other, rows, initial=""):
        codec = Codec(self._api, "u8" if kind in ("*v", "*kv", "v") else kind) \
            if kind != "*ki1" else None  # fmt: skip
        if codec is None:
            cell = self._local(name, f"{self._define('c', ctypes.c_char_p)}()")
            self._outputs.append(f"{cell}.value")
        elif codec.kind in "ht":
            cell = self._local(name, f"{self._define('class', codec.cls)}({initial})")
            self._outputs.append(cell)
            return self._pass(f"{cell}.getPtr()")
        else:
            initial = initial and f"_number({initial})"
            cell = self._local(name, f"{self._define('c', codec.ctype)}({initial})")
            wrap = self._define("wrap", codec.wrap) if codec.kind == "e" else ""
            self._outputs.append(f"{wrap}({cell}.value)" if wrap else f"{cell}.value")
        self._pass(f"_byref({cell})")

    def _add_inout(self, name, kind, other, rows):
        self._signature.append(name)
        self._add_out(name, kind, other, rows, initial=name)

    def _add_outs(self, name, kind, other, rows):
        self._add_list(name, kind, other, f"_number({other})", "None")

    def _add_list(self, name, kind, count, length, written):
        """An array for the library to fill, and the list of its elements."""
        codec = Codec(self._api, kind)
        allocate = self._define(
            "allocate", lambda count: codec.allocate(count) if count else None
        )
        memory = self._local(name, f"{allocate}({length})")
        take = self._define("take", lambda memory, count: _elements(codec, memory, count))
        self._outputs.append(f"{take}({memory}, {written if written != 'None' else length})")
        self._pass(memory)

    def _add_query(self, name, kind, other, rows):
        self._add_list(name, kind, other, f"_number({other})", f"_{other}_c.value")

    def _add_count(self, name, kind, other, rows):
        is_last = rows[-1][0] == name
        self._signature.append(name + (" = 0" if is_last else ""))
        ctype = self._define("c", _convert.NUMBERS[kind])
        self._pass(f"_byref({self._local(name, f'{ctype}(_number({name}))')})")
        self._outputs.append(f"_{name}_c.value")

    def _add_view(self, name, kind, other, rows):
        codec = Codec(self._api, kind)
        cell = self._local(name, f"{self._define('c', ctypes.c_uint64)}()")
        take = self._define("take", lambda place, count: _copies(codec, place, count))
        self._outputs.append(f"{take}({cell}.value, _{other}_c.value)")
        self._pass(f"_byref({cell})")

    def _add_chars(self, name, kind, other, rows):
        size = other if other.isdigit() else f"_number({other})"
        make = self._define("make", ctypes.create_string_buffer)
        cell = self._local(name, f"{make}({size})")
        self._outputs.append(f"{cell}.raw")
        self._pass(cell)

    def _enumeration(self, other, rows):
        return next(row[2][2:] for row in rows if row[0] == other)

    def _add_attribute(self, name, kind, other, rows):
        make = self._attribute_maker(Value, other, rows)
        size = ", dataSize" if any(row[0] == "dataSize" for row in rows) else ""
        cell = self._local(name, f"{make}({other}{size})")
        self._outputs.append(f"{cell}.get()")
        self._pass(f"{cell}.getPtr()")

    def _attribute_maker(self, cls, other, rows):
        api, enumeration = self._api, self._enumeration(other, rows)
        return self._define("make", lambda *values: cls(api, enumeration, *values))

    def _add_attributes(self, name, kind, other, rows):
        make = self._attribute_maker(Values, other, rows)
        sizes = ", dataSizes" if any(row[0] == "dataSizes" for row in rows) else ""
        cell = self._local(name, f"{make}({other}{sizes})")
        self._outputs.append(f"{cell}.get()")
        self._pass(f"{cell}.getPtr()")

    def _add_setting(self, name, kind, other, rows):
        self._signature.append(name)
        make = self._attribute_maker(Value, other, rows)
        self._pass(f"{self._local(name, f'{make}({other}).set({name})')}.getPtr()")

    def _add_size(self, name, kind, other, rows):
        ctype = self._define("c", ctypes.c_size_t)
        self._pass(f"_byref({self._local(name, f'{ctype}(_{other}_c.size)')})")

    def _add_supported(self, name, kind, other, rows):
        """nvrtcGetSupportedArchs: another function tells their number."""
        number = self._define("number", lambda: self._api.get("nvrtcGetNumSupportedArchs")()[1])
        self._before.append(f"_count = {number}()")
        self._add_list(name, kind, "", "_count", "None")


def _elements(codec, memory, count):
    if memory is None:
        return []
    count = min(count, ctypes.sizeof(memory) // codec.size)
    return codec.list(ctypes.addressof(memory), count, memory)


def _copies(codec, place, count):
    """Elements of the library's own memory, which may change later."""
    if not place:
        return []
    memory = codec.allocate(count)
    ctypes.memmove(memory, place, count * codec.size)
    return codec.list(ctypes.addressof(memory), count, memory)


def _array_maker(codec):
    def make(values, count):
        """(address, what keeps it)."""
        if values is None:
            return (None,)
        if isinstance(values, Struct):
            values = [values]
        if count is not None and _convert.number(count) > len(values):
            raise RuntimeError(f"List is too small: {len(values)} < {_convert.number(count)}")
        return codec.array(values) if len(values) else (None,)

    return make


def _make_texts(values, count):
    if not values:
        return (None,)
    array = _convert.make_array(ctypes.c_char_p, [_convert.text(value) for value in values])
    return ctypes.addressof(array), array


def _by_value(cls):
    """The Structure of ctypes for passing a struct of integers by value."""
    if "_by_value" not in cls.__dict__:
        step = {8: ctypes.c_uint64, 4: ctypes.c_uint32, 1: ctypes.c_uint8}[cls._alignment]
        count = cls._size // ctypes.sizeof(step)
        fields = [(f"f{i}", step) for i in range(count)]
        cls._by_value = type(cls.__name__, (ctypes.Structure,), {"_fields_": fields})
    return cls._by_value
