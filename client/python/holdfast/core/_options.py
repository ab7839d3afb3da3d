# SPDX-License-Identifier: Apache-2.0
"""Options: classes of named values with defaults.

Not dataclasses, whose import takes as long as that of all of holdfast.
"""


class _DataclassFields:
    """The fields as dataclasses.fields, replace and asdict want them: the options of cuda.core are
    data classes. Made when a program asks for them, and has imported dataclasses."""

    def __get__(self, options, cls):
        import dataclasses

        names = [(name, object) for name in cls._fields]
        return dataclasses.make_dataclass(cls.__name__, names).__dataclass_fields__


class _Signature:
    """What help() and inspect.signature show: the fields with their defaults."""

    def __get__(self, instance, cls):
        import inspect  # only who asks pays for it

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        fields = cls._fields.items()
        return inspect.Signature([inspect.Parameter(n, kind, default=d) for n, d in fields])


class Options:
    """Fields by keyword, or by position in their order; also compared and shown by them.

    A field has one name and, in ``_aliases``, those that earlier versions of cuda.core have for it.
    """

    _fields = {}
    _aliases = {}
    __dataclass_fields__ = _DataclassFields()
    __signature__ = _Signature()

    def __init__(self, *args, **kwargs):
        if len(args) > len(self._fields):
            raise TypeError(f"{type(self).__name__} has {len(self._fields)} fields, got {len(args)}")
        values = dict(self._fields)
        given = dict(zip(self._fields, args))
        for name, value in kwargs.items():
            field = self._aliases.get(name, name)
            if field in given:
                raise TypeError(f"{type(self).__name__}: {field} was given twice")
            if field not in values:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
            given[field] = value
        self.__dict__.update(values, **given)

    def __getattr__(self, name):
        if name in self._aliases:
            return getattr(self, self._aliases[name])
        raise AttributeError(f"{type(self).__name__} has no field {name!r}")

    def __setattr__(self, name, value):
        name = self._aliases.get(name, name)
        # A method may be replaced; a name that is neither is one that was mistyped.
        if name not in self._fields and not hasattr(type(self), name):
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        self.__dict__[name] = value

    def __eq__(self, other):
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None

    def __repr__(self):
        changed = (
            f"{name}={getattr(self, name)!r}"
            for name, default in self._fields.items()
            if getattr(self, name) != default
        )
        return f"{type(self).__name__}({', '.join(changed)})"


def as_options(cls, options):
    """The options, from an object, a dict, or None for the defaults."""
    if options is None:
        return cls()
    if isinstance(options, cls):
        return options
    if isinstance(options, dict):
        return cls(**options)
    raise TypeError(f"a {cls.__name__}, a dict or None expected, got {type(options).__name__}")


def not_served(what, instead):
    """The exception for what cannot cross to a daemon."""
    return NotImplementedError(f"{what} is not served by Holdfast: {instead}")
