# SPDX-License-Identifier: Apache-2.0
"""Writes the source of a function from its parameters. bindings/directions.py tells what each of
the modes is, for which there is a method ``_add_...`` here."""

import ctypes

from holdfast.bindings import _arrays, _convert
from holdfast.bindings._attributes import Value, Values
from holdfast.bindings._codec import Codec, member

# Results with which a function has written what it returns all the same.
_TELLING = ("GraphExecUpdate",)


class _Results(dict):
    """number -> member of the enumeration of results."""

    def __init__(self, cls):
        super().__init__({int(one): one for one in cls})
        self._cls = cls

    def __missing__(self, value):
        return member(self._cls, value)


_results = {}


class Writer:
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
            self.result_type = _arrays.by_value(self._api.get(result[2:]))
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
            ctype = _arrays.by_value(self._api.get(kind[2:]))
            take_struct = self._taker(name, self._api.get(kind[2:]))
            take = self._define("take", lambda value: ctype.from_address(take_struct(value)))
            return self._pass(f"{take}({name})", ctype)
        if kind[0] == "*":
            return self._pass(f"_pointer({name})")
        codec = Codec(self._api, kind)
        check = self._define("check", codec.unwrap) if kind[0] in "iufh" else "_number"
        self._pass(f"{check}({name})", codec.ctype)

    def _add_text(self, name, kind, other, rows):
        self._signature.append(name)
        self._pass(f"_text({name})", ctypes.c_char_p)

    def _add_pointer(self, name, kind, other, rows):
        self._signature.append(name + (" = 0" if name == "extra" else ""))
        self._pass(f"_pointer({name})")

    def _add_struct(self, name, kind, other, rows):
        self._signature.append(name)
        take_struct = self._taker(name, self._api.get(kind[2:]))
        take = self._define("take", lambda value: None if value is None else take_struct(value))
        self._pass(f"{take}({name})")

    @staticmethod
    def _taker(name, cls):
        """A function that returns the address of a struct of the class, and refuses all else."""

        def take(value):
            if isinstance(value, cls):
                return value.getPtr()
            found = type(value).__name__
            raise TypeError(
                f"Argument {name!r} has incorrect type (expected {cls.__name__}, got {found})"
            )

        return take

    def _add_handle(self, name, kind, other, rows):
        self._signature.append(name)
        cls = self._api.get(kind[2:])
        take = self._define("take", lambda value: value if isinstance(value, cls) else cls(value))
        self._pass(f"{self._local(name, f'{take}({name})')}.getPtr()")

    def _add_array(self, name, kind, other, rows):
        self._signature.append(name)
        if kind in ("*ki1", "*i1"):
            make = self._define("make", _arrays.make_texts)
        else:
            make = self._define("make", _arrays.make_maker(Codec(self._api, kind)))
        is_counted = any(row[0] == other and row[1] == "value" for row in rows)
        array = self._local(name, f"{make}({name}, {other if is_counted else None})")
        self._pass(f"{array}[0]")

    def _add_params(self, name, kind, other, rows):
        self._signature.append(name)
        take = self._define("take", _convert.kernel_parameters)
        self._pass(self._local(name, f"{take}({name})"))

    def _add_values(self, name, kind, other, rows):
        self._signature.append(name)
        take = self._define("take", _convert.option_values)
        count = next(row[3] for row in rows if row[0] == other)
        variable = self._local(name, f"{take}({name}, {count})")
        self._pass(variable)
        if self._name.startswith("cuLinkCreate"):
            # The library reads and writes them until the state is destroyed.
            self._after.append(f"_stateOut_c._kept = {variable}")

    def _add_out(self, name, kind, other, rows, initial=""):
        if kind == "*ki1":
            cell = self._local(name, f"{self._define('c', ctypes.c_char_p)}()")
            self._outputs.append(f"{cell}.value")
            return self._pass(f"_byref({cell})")
        codec = Codec(self._api, kind)
        if codec.kind in "ht":
            cell = self._local(name, f"{self._define('class', codec.cls)}({initial})")
            self._outputs.append(cell)
            return self._pass(f"{cell}.getPtr()")
        initial = initial and f"_number({initial})"
        cell = self._local(name, f"{self._define('c', codec.ctype)}({initial})")
        value = f"{cell}.value"
        if codec.kind == "e":
            value = f"{self._define('wrap', codec.wrap)}({value})"
        self._outputs.append(value)
        self._pass(f"_byref({cell})")

    def _add_inout(self, name, kind, other, rows):
        self._signature.append(name)
        self._add_out(name, kind, other, rows, initial=name)

    def _add_outs(self, name, kind, other, rows):
        self._add_list(name, kind, f"_number({other})")

    def _add_list(self, name, kind, length, written=None):
        """An array of `length` for the library to fill, and the list of the elements `written`;
        default: of all."""
        codec = Codec(self._api, kind)
        allocate = self._define("allocate", lambda n: codec.allocate(n) if n else None)
        memory = self._local(name, f"{allocate}({length})")
        take = self._define("take", lambda memory, count: _arrays.elements(codec, memory, count))
        self._outputs.append(f"{take}({memory}, {written or length})")
        self._pass(memory)

    def _add_query(self, name, kind, other, rows):
        self._add_list(name, kind, f"_number({other})", f"_{other}_c.value")

    def _add_count(self, name, kind, other, rows):
        is_last = rows[-1][0] == name
        self._signature.append(name + (" = 0" if is_last else ""))
        ctype = self._define("c", _convert.NUMBERS[kind])
        self._pass(f"_byref({self._local(name, f'{ctype}(_number({name}))')})")
        self._outputs.append(f"_{name}_c.value")

    def _add_view(self, name, kind, other, rows):
        codec = Codec(self._api, kind)
        cell = self._local(name, f"{self._define('c', ctypes.c_uint64)}()")
        take = self._define("take", lambda place, count: _arrays.copies(codec, place, count))
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
        self._add_list(name, kind, "_count")
