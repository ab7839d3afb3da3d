# SPDX-License-Identifier: Apache-2.0
"""Reads declarations of C headers, as clang sees them.

``read`` returns a `Header`. Types are written as short texts:

    i1 u1 i2 u2 i4 u4 i8 u8 f4 f8   a number: signed, unsigned or floating, and its bytes
    v                               void
    e:NAME                          an enumeration
    t:NAME                          a struct or union
    h:NAME                          a handle: a typedef of a number, of a pointer to a struct
                                    without a body, or of a pointer to a function
    *T   *kT                        a pointer; to constant T
    [N]T                            an array
"""

import json
import re
import subprocess

_NUMBERS = {
    "char": "i1", "signed char": "i1", "unsigned char": "u1", "_Bool": "u1", "bool": "u1",
    "short": "i2", "unsigned short": "u2", "int": "i4", "unsigned int": "u4", "unsigned": "u4",
    "long": "i8", "unsigned long": "u8", "long long": "i8", "unsigned long long": "u8",
    "float": "f4", "double": "f8", "void": "v",
}  # fmt: skip

# Typedefs of C's own headers are numbers; those of CUDA's headers become classes.
_C_TYPEDEFS = re.compile(r"^(size_t|u?int\d+_t|u?intptr_t|ptrdiff_t|__\w+)$")

_VERSION = re.compile(r"(_v\d+)?(_st|_enum|_union)?$")


class Header:
    """The declarations of one header.

    Attributes:
        functions: symbol -> (type of the result, [(name, type) of the parameters]).
        enums, structs: name -> [(member, value)] / (size, alignment, [(field, offset, type)]).
        handles: name -> type: a number, or ``*TAG`` of a struct without a body, or ``*()``.
        aliases: another name -> name of an enumeration, a struct or a handle.
        macros: name -> text.
    """

    def __init__(self):
        self.functions = {}
        self.enums = {}
        self.structs = {}
        self.handles = {}
        self.aliases = {}
        self.macros = {}


def read(clang, include_folders, names, defines=()):
    """Reads the headers ``names`` of ``include_folders`` with the compiler ``clang``."""
    includes = [f"#include <{name}>" for name in names]
    flags = [*(f"-I{folder}" for folder in include_folders), *(f"-D{name}" for name in defines)]
    text = _run([clang, *flags, "-x", "c", "-E", "-dD", "-"], "\n".join(includes))
    tree = _run([clang, "-x", "c", "-w", "-Xclang", "-ast-dump=json", "-fsyntax-only", "-"], text)
    reader = _Reader()
    for node in json.loads(tree)["inner"]:
        reader.visit(node)
    reader.finish()
    macros = re.findall(r"^#define (\w+)[ \t]+(\S.*?)[ \t]*$", text, re.MULTILINE)
    reader.header.macros = dict(macros)
    _check_layouts(clang, flags, includes, reader)
    return reader.header


def _run(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def _check_layouts(clang, flags, includes, reader):
    """The compiler confirms every size and offset; SystemExit if one is wrong."""
    lines = [*includes, "#include <stddef.h>"]
    for name, spelling in reader.spellings.items():
        size, _, fields = reader.header.structs[name]
        lines.append(f'_Static_assert(sizeof({spelling}) == {size}, "{name}");')
        for field, offset, _ in fields:
            condition = f"offsetof({spelling}, {field}) == {offset}"
            lines.append(f'_Static_assert({condition}, "{name}.{field}");')
    _run([clang, *flags, "-x", "c", "-w", "-fsyntax-only", "-"], "\n".join(lines))


class _Reader:
    """Collects declarations in their order."""

    def __init__(self):
        self.header = Header()
        self.spellings = {}  # name of a struct -> its type in C, for those that have one
        self._typedefs = {}  # name -> text of the type
        self._tags = {}  # tag -> ("e" or "t", name)
        self._anonymous = {}  # id of a declaration -> RecordDecl or EnumDecl without a tag
        self._names = {}  # tag -> names of typedefs
        self._records = []  # (tag, RecordDecl), whose names are known at the end

    def visit(self, node):
        kind, name = node["kind"], node.get("name")
        if kind == "TypedefDecl":
            self._visit_typedef(node)
        elif kind in ("RecordDecl", "EnumDecl"):
            is_whole = kind == "EnumDecl" or node.get("completeDefinition")
            if not name:
                self._anonymous[node["id"]] = node
            elif is_whole:
                self._records.append((name, node))
            for inner in node.get("inner", ()):
                if inner["kind"] in ("RecordDecl", "EnumDecl") and inner.get("name"):
                    self.visit(inner)
        elif kind == "FunctionDecl" and re.match(r"(cu|nvrtc|make_cuda)", name):
            result = node["type"]["qualType"].split("(")[0].strip()
            parameters = [n for n in node.get("inner", ()) if n["kind"] == "ParmVarDecl"]
            self.header.functions[name] = (
                result, [(p.get("name", f"arg{i}"), p["type"]["qualType"])
                         for i, p in enumerate(parameters)],
            )  # fmt: skip

    def _visit_typedef(self, node):
        name, text = node["name"], node["type"]["qualType"]
        owned = node["inner"][0].get("ownedTagDecl", {}) if node.get("inner") else {}
        if owned.get("id") in self._anonymous:
            text = f"struct {name}"
            self._records.append((name, self._anonymous[owned["id"]]))
        self._typedefs[name] = text
        found = re.match(r"(?:struct|union|enum) (\w+)$", text)
        if found and found.group(1) != name:
            self._names.setdefault(found.group(1), []).append(name)
        elif text in self._typedefs:
            self._names.setdefault(text, []).append(name)

    def finish(self):
        """Names the types; only then can they be written."""
        for tag, node in self._records:
            kind = "e" if node["kind"] == "EnumDecl" else "t"
            self._tags[tag] = (kind, self._name_of(tag))
        for tag, node in self._records:
            if node["kind"] == "EnumDecl":
                self.header.enums[self._tags[tag][1]] = _members(node)
        for tag, node in self._records:
            if node["kind"] == "RecordDecl" and _is_cudas(tag, self._names.get(tag, ())):
                self._define(tag, node)
        for name in self._typedefs:
            if _is_cudas(name, ()):
                self._define_typedef(name)
        functions = self.header.functions
        for symbol, (result, parameters) in functions.items():
            written = [(name, self.write(text)) for name, text in parameters]
            functions[symbol] = (self.write(result), written)

    def _name_of(self, tag):
        """The typedef that programs use: the last one that is no version of another."""
        names = []
        for name in self._names.get(tag, ()):
            names += [name, *self._names.get(name, ())]
        if tag.endswith("_t") and tag[:-2] in names:
            return tag[:-2]  # enum cudaDataType_t
        same = _VERSION.sub("", tag)
        plain = [name for name in names if name == _VERSION.sub("", name)]
        if same in plain:
            return same
        if tag == _VERSION.sub("", tag) and tag not in ("cudaError", "cudaError_enum"):
            return tag
        return (plain or names or [tag])[0]

    def _define(self, tag, node):
        name = self._tags[tag][1]
        if name not in self.header.structs:
            self._lay_out(name, node)
            is_typedef = name in self._typedefs
            self.spellings[name] = name if is_typedef else f"{node['tagUsed']} {name}"

    def _lay_out(self, name, node):
        """Natural alignment, which `_check_layouts` confirms."""
        is_union = node["tagUsed"] == "union"
        fields, end, alignment, last = [], 0, 1, None
        for inner in node.get("inner", ()):
            if inner["kind"] == "RecordDecl":
                last = inner
            if inner["kind"] != "FieldDecl":
                continue
            text = inner["type"]["qualType"]
            if re.search(r"\((unnamed|anonymous)", text):
                nested = f"{name}.{inner.get('name', '')}"
                self._lay_out(nested, last)
                written = re.sub(r"^[^\[]*", "", text[text.rindex(")") + 1 :]) + f"t:{nested}"
            else:
                written = self.write(text)
            size, own = self._extent(written)
            own = max(own, _aligned(inner))
            offset = 0 if is_union else -(-end // own) * own
            end = max(end, size) if is_union else offset + size
            alignment = max(alignment, own)
            if "name" in inner:
                fields.append((inner["name"], offset, written))
            else:  # the members of an unnamed member are those of the struct
                _, _, members = self.header.structs.pop(written[2:])
                fields += [(field, offset + at, kind) for field, at, kind in members]
        alignment = max(alignment, _aligned(node))
        self.header.structs[name] = (-(-end // alignment) * alignment, alignment, fields)

    def _extent(self, written):
        """(size, alignment) of a type."""
        if written[0] == "*":
            return 8, 8
        if written[0] == "[":
            count, inner = written[1:].split("]", 1)
            size, alignment = self._extent(inner)
            return int(count) * size, alignment
        kind, _, name = written.partition(":")
        if kind == "e":
            return 4, 4
        if kind == "h":
            base = self._handle_type(name)
            return (8, 8) if base[0] == "*" else self._extent(base)
        if kind == "t":
            if name not in self.header.structs:
                tag = next(t for t, node in self._records if self._tags[t] == ("t", name))
                self._define(tag, dict(self._records)[tag])
            return self.header.structs[name][:2]
        return int(kind[1]), int(kind[1])

    def _define_typedef(self, name):
        written = self.write(name)
        kind, _, base = written.partition(":")
        if kind == "h":
            if base == name:
                self.header.handles[name] = self._handle_type(name)
            else:
                self.header.aliases[name] = base
        elif kind in ("e", "t") and base != name:
            self.header.aliases[name] = base
        for tag, (kind, base) in self._tags.items():
            if tag != base and (base in self.header.structs or kind == "e"):
                self.header.aliases[tag] = base

    def _handle_type(self, name):
        """A number's type, or ``*TAG``, or ``*()`` for a pointer to a function."""
        text = name
        while text in self._typedefs:
            text = self._typedefs[text]
        found = re.match(r"(?:const )?struct (\w+) \*$", text)
        if found:
            return "*" + found.group(1)
        return "*()" if "(*)" in text else _NUMBERS[text]

    def write(self, text):
        """The type in the short form."""
        text = text.strip()
        array = re.match(r"(.*?)((?:\[\d+\])+)$", text)
        if array:
            return array.group(2) + self.write(array.group(1))
        if "(*)" in text:
            return "*v"
        if text.endswith("*const"):
            return self.write(text[:-5])
        if text.endswith("*"):
            inner = text[:-1].strip()
            is_constant = inner.startswith("const ") and "*" not in inner
            is_constant = is_constant or inner.endswith("*const")
            return ("*k" if is_constant else "*") + self.write(inner)
        text = re.sub(r"\bconst\b|\bvolatile\b", "", text).strip()
        if text in _NUMBERS:
            return _NUMBERS[text]
        tagged = re.match(r"(struct|union|enum) (\w+)$", text)
        name = tagged.group(2) if tagged else text
        if name in self._tags and (tagged or name not in self._typedefs):
            return ":".join(self._tags[name])
        if tagged:
            return "v"  # a struct without a body, behind a pointer
        return self._write_typedef(name)

    def _write_typedef(self, name):
        text = self._typedefs[name]
        if _C_TYPEDEFS.match(name):
            return self.write(text)
        if re.match(r"(const )?struct \w+ \*$", text) or "(*)" in text:
            return f"h:{name}"
        if re.match(r"(struct|union|enum) ", text):
            tagged = text.split()[1]
            return ":".join(self._tags[tagged]) if tagged in self._tags else "v"
        if "*" in text or "[" in text:
            return self.write(text)
        if text in _NUMBERS or _C_TYPEDEFS.match(text):
            return f"h:{self._plain(name)}"
        inner = self.write(text)
        if inner[:2] == "h:" and _VERSION.sub("", name) != _VERSION.sub("", inner[2:]):
            return f"h:{self._plain(name)}"
        return inner

    def _plain(self, name):
        """CUdeviceptr for CUdeviceptr_v2, which is the same type."""
        plain = _VERSION.sub("", name)
        chain = plain
        while chain in self._typedefs and chain != name:
            chain = self._typedefs[chain]
        return plain if chain == name else name


def _is_cudas(tag, names):
    pattern = r"(CU|cu|nvrtc|NV|dim3|u?int\d$|_?cuda|library|EGL|GL|Vdp)"
    return any(re.match(pattern, name) for name in (tag, *names))


def _aligned(node):
    """The alignment that an attribute of the declaration asks for; 1 without one."""
    for inner in node.get("inner", ()):
        if inner["kind"] == "AlignedAttr":
            value = next((int(n["value"]) for n in _walk(inner) if "value" in n), 16)
            return value
    return 1


def _walk(node):
    yield node
    for inner in node.get("inner", ()):
        yield from _walk(inner)


def _members(node):
    """[(name, value)] of an EnumDecl."""
    members, value = [], -1
    for inner in node.get("inner", ()):
        if inner["kind"] == "EnumConstantDecl":
            given = next((n["value"] for n in _walk(inner) if "value" in n), None)
            value = value + 1 if given is None else int(given)
            members.append((inner["name"], value))
    return members
