# SPDX-License-Identifier: Apache-2.0
"""Makes functions from the tables.

A function is Python source that is put together from its parameters and compiled when it is first
used: a call then costs no more than what is written there, and errors in arguments are Python's
own. bindings/directions.py tells what each parameter is for.
"""

import ctypes
import functools
import inspect
import os

from holdfast.bindings._load import find_function
from holdfast.bindings._writer import Writer


def make_function(api, name):
    """The function ``name`` of the module."""
    symbol, per_thread, result, parameters = api.table["functions"][name]
    if name.startswith("make_cuda"):
        return _make_maker(api, name, result, parameters)
    if per_thread and os.environ.get("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM", "0") != "0":
        symbol = per_thread
    writer = Writer(api, name, result)
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
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(row[0], kind) for row in parameters])

    def make(*values, **named):
        made = cls()
        bound = signature.bind(*values, **named)
        for member_name, value in zip(cls._members, bound.arguments.values()):
            setattr(made, member_name, value)
        return made

    make.__name__ = make.__qualname__ = name
    make.__signature__ = signature
    return make
