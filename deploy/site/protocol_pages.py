#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the reference for the protocol: one for each file of holdfast.v1, with its comments.

    protocol_pages.py DESCRIPTORS OUT     DESCRIPTORS: protoc --include_source_info --descriptor_set_out=DESCRIPTORS
"""

import os
import sys

from comment_text import comment_text, escaped
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    ServiceDescriptorProto,
    SourceCodeInfo,
)

_PACKAGE = ".holdfast.v1."


def _number(message, field):
    return message.DESCRIPTOR.fields_by_name[field].number


_SYNTAX = _number(FileDescriptorProto, "syntax")
_MESSAGES = _number(FileDescriptorProto, "message_type")
_ENUMS = _number(FileDescriptorProto, "enum_type")
_SERVICES = _number(FileDescriptorProto, "service")
_METHODS = _number(ServiceDescriptorProto, "method")
_FIELDS = _number(DescriptorProto, "field")
_ONEOFS = _number(DescriptorProto, "oneof_decl")
_NESTED_MESSAGES = _number(DescriptorProto, "nested_type")
_NESTED_ENUMS = _number(DescriptorProto, "enum_type")
_VALUES = _number(EnumDescriptorProto, "value")


def _text(comment):
    lines = [line.removeprefix(" ").rstrip() for line in comment.strip("\n").split("\n")]
    return comment_text([line for line in lines if not line.startswith("SPDX")])


def _joined(texts):
    return "\n\n".join(filter(None, texts))


class Comments:
    """A file's comments, by the paths of what they describe."""

    def __init__(self, file):
        self._locations = {tuple(location.path): location for location in file.source_code_info.location}
        self._read = set()

    def _location(self, path):
        self._read.add(path)
        return self._locations.get(path, SourceCodeInfo.Location())

    def at(self, *path):
        """The comments directly above, and behind on the line."""
        location = self._location(path)
        return _joined(map(_text, [location.leading_comments, location.trailing_comments]))

    def above(self, *path):
        """The comments above that an empty line separates from it, such as the heading of a section."""
        return _joined(map(_text, self._location(path).leading_detached_comments))

    def unread(self):
        """The paths whose comments nobody has asked for."""
        for path, location in self._locations.items():
            is_described = location.leading_comments or location.trailing_comments or location.leading_detached_comments
            if is_described and path not in self._read:
                yield path


def _heading(text, sign):
    return f"{text}\n{sign * len(text)}"


def _label(name):
    return f".. _holdfast.v1.{name}:"


def _indented(text):
    return "\n".join(f"   {line}".rstrip() for line in text.split("\n"))


def _entry(term, text):
    return f"{term}\n{_indented(text or '..')}"


def _reference(full_name):
    """A link to a message or an enumeration; other packages have no page."""
    if not full_name.startswith(_PACKAGE):
        return f"``{full_name.removeprefix('.')}``"
    name = full_name.removeprefix(_PACKAGE)
    return f":ref:`{name} <holdfast.v1.{name}>`"


def _type(field, maps):
    """The type as the file spells it."""
    if field.type_name in maps:
        key, value = maps[field.type_name].field
        return f"map of {_type(key, maps)} to {_type(value, maps)}"
    name = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    name = _reference(field.type_name) if field.type_name else f"``{name}``"
    return f"repeated {name}" if field.label == FieldDescriptorProto.LABEL_REPEATED else name


def _presence(message, field):
    if field.proto3_optional:
        return ", optional"
    if field.HasField("oneof_index"):
        return f", one of ``{message.oneof_decl[field.oneof_index].name}``"
    return ""


class Page:
    """One file's blocks of reStructuredText."""

    def __init__(self, file):
        self._file = file
        self._comments = Comments(file)

    def text(self):
        text = _joined(self._blocks()) + "\n"
        unread = [*self._comments.unread()]
        if unread:
            raise SystemExit(f"{self._file.name}: a comment of which no page would have the text, at {unread[0]}")
        return text

    def _blocks(self):
        file = self._file
        yield _heading(os.path.basename(file.name), "=")
        yield self._comments.above(_SYNTAX)
        for i, service in enumerate(file.service):
            yield from self._service(service, (_SERVICES, i))
        for i, message in enumerate(file.message_type):
            yield from self._message(message, message.name, (_MESSAGES, i))
        for i, enum in enumerate(file.enum_type):
            yield from self._enum(enum, enum.name, (_ENUMS, i))

    def _begin(self, name, path):
        return [_label(name), _heading(name, "-"), self._comments.above(*path), self._comments.at(*path)]

    def _described(self, term, path):
        return [self._comments.above(*path), _entry(term, self._comments.at(*path))]

    def _service(self, service, path):
        yield from self._begin(service.name, path)
        for i, method in enumerate(service.method):
            given = ("stream of " if method.client_streaming else "") + _reference(method.input_type)
            returned = ("stream of " if method.server_streaming else "") + _reference(method.output_type)
            yield from self._described(f"**{method.name}** ({given}) → {returned}", (*path, _METHODS, i))

    def _message(self, message, name, path):
        yield from self._begin(name, path)
        maps = {f"{_PACKAGE}{name}.{m.name}": m for m in message.nested_type if m.options.map_entry}
        for i, field in enumerate(message.field):
            if field.HasField("oneof_index"):
                yield self._oneof_comment(message, field, path)
            term = f"**{escaped(field.name)}** = {field.number}: {_type(field, maps)}{_presence(message, field)}"
            yield from self._described(term, (*path, _FIELDS, i))
        for i, nested in enumerate(message.nested_type):
            if not nested.options.map_entry:
                yield from self._message(nested, f"{name}.{nested.name}", (*path, _NESTED_MESSAGES, i))
        for i, enum in enumerate(message.enum_type):
            yield from self._enum(enum, f"{name}.{enum.name}", (*path, _NESTED_ENUMS, i))

    def _oneof_comment(self, message, field, path):
        """Above the first field of the oneof."""
        index = field.oneof_index
        first = next(other for other in message.field if other.HasField("oneof_index") and other.oneof_index == index)
        text = self._comments.at(*path, _ONEOFS, index)
        return f"``{message.oneof_decl[index].name}``: {text}" if text and field.number == first.number else ""

    def _enum(self, enum, name, path):
        yield from self._begin(name, path)
        for i, value in enumerate(enum.value):
            yield from self._described(f"**{escaped(value.name)}** = {value.number}", (*path, _VALUES, i))


def _main(descriptors, out):
    with open(descriptors, "rb") as file:
        files = FileDescriptorSet.FromString(file.read()).file
    os.makedirs(out, exist_ok=True)
    for file in files:
        stem = os.path.basename(file.name).removesuffix(".proto")
        with open(f"{out}/{stem}.rst", "w", encoding="utf-8") as page:
            page.write(Page(file).text())


if __name__ == "__main__":
    _main(*sys.argv[1:])
