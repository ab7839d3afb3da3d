# SPDX-License-Identifier: Apache-2.0
"""Arguments of kernels: their types are compared with the kinds of the kernel's parameters."""

import ctypes
import pickle

import holdfast
import numpy as np
import pytest
from holdfast import _native
from holdfast.core import Device, LaunchConfig, Linker, ObjectCode, Program, launch
from holdfast.core._module import kinds_in
from holdfast.core.utils import InMemoryProgramCache

SOURCE = r"""
extern "C" __global__ void add(int* x, int v) { atomicAdd(x, v); }
extern "C" __global__ void set(int* x) { x[0] = 7; }
extern "C" __global__ void by_value(float* o, float v) { o[0] = v; }
"""
ONE = LaunchConfig(grid=1, block=1)


@pytest.fixture
def module(device):
    return Program(SOURCE, "c++").compile("cubin")


@pytest.fixture
def buffer(device, stream):
    buffer = device.allocate(24, stream=stream)
    buffer.fill(0, stream=stream)
    return buffer


def test_a_float_is_no_integer_and_no_pointer(stream, module, buffer):
    for name, arguments, kind in (
        ("by_value", (2.5, 1.5), "an integer or a pointer of 8 bytes"),
        ("add", (buffer, 1.5), "an integer of 4 bytes"),
    ):
        with pytest.raises(TypeError, match=f"is a float, the kernel's parameter is {kind}"):
            launch(stream, ONE, module.get_kernel(name), *arguments)


POINTER = "an integer or a pointer of 8 bytes; pass a Buffer for a pointer"


@pytest.mark.parametrize(
    ("name", "wrong", "text"),
    [
        ("add", 1.5, r"argument 1: 1.5 is a float, the kernel's parameter is an integer of 4 bytes$"),
        ("add", np.int64(1), "1: numpy.int64 has 8 bytes, .* an integer of 4 bytes; pass .* numpy.int32"),
        ("add", np.uint8(1), "1: numpy.uint8 has 1 byte, .* an integer of 4 bytes; pass .* numpy.int32"),
        ("add", ctypes.c_long(1), "1: ctypes.c_long has 8 bytes, .* an integer of 4 bytes; pass "),
        ("by_value", 1.5, "1: a Python float is a double, which has 8 bytes, .* number of 4 bytes; pass numpy.float32"),
        ("by_value", np.float64(1), "1: numpy.float64 has 8 bytes, .* a floating-point number of 4 bytes; pass numpy.float32"),
        ("set", np.float32(2), "0: numpy.float32 has 4 bytes, .* is " + POINTER),
        ("set", np.float64(2), "0: .* is a float, .* is an integer or a pointer of 8 bytes"),
    ],
)
def test_an_argument_of_the_wrong_size_names_its_type_and_the_parameters_kind(
    stream, module, buffer, name, wrong, text
):
    with pytest.raises(TypeError, match=text):
        launch(stream, ONE, module.get_kernel(name), *([] if name == "set" else [buffer]), wrong)


def test_a_buffer_for_a_number_says_how_the_number_is_written(stream, module, buffer):
    with pytest.raises(TypeError, match="a buffer has 8 bytes, .* number of 4 bytes; pass numpy.float32"):
        launch(stream, ONE, module.get_kernel("by_value"), buffer, buffer)


def test_a_scalar_of_another_kind_goes_as_its_bytes_and_is_warned_of(stream, module, buffer):
    add, by_value = module.get_kernel("add"), module.get_kernel("by_value")
    with pytest.warns(holdfast.CUDAWarning, match="1: numpy.int32 goes as its bytes, .* floating") as told:
        launch(stream, ONE, by_value, buffer, np.int32(0x3F800000))
    assert told[0].filename == __file__
    assert buffer.copy_to(np.zeros(6, np.float32), stream=stream)[0] == 1
    with pytest.warns(holdfast.CUDAWarning, match="1: numpy.float32 goes as its bytes, .* an integer"):
        launch(stream, ONE, add, buffer, np.float32(0))
    with pytest.warns(holdfast.CUDAWarning, match="1: ctypes.c_float goes .* an integer of 4 bytes; pass "):
        launch(stream, ONE, add, buffer, ctypes.c_float(0))
    builder = stream.create_graph_builder().begin_building()
    with pytest.warns(holdfast.CUDAWarning) as told:
        launch(builder, ONE, add, buffer, np.float32(0))
        launch(stream, ONE, add, buffer, np.uint32(0))
        launch(stream, ONE, by_value, buffer, np.float32(0))
    assert [warning.filename for warning in told] == [__file__]
    builder.close()


PUT = 'extern "C" __global__ void put(float* x, float f, int i) { *x = f + i; }'
PTX, CUBIN = 1, 2  # the formats, by number


@pytest.fixture
def asked(monkeypatch):
    """The formats that the daemon is asked to compile to, request by request."""
    formats = []
    compile_now = _native.compile

    def note(daemon, source, language, target, *rest):
        formats.append(target)
        return compile_now(daemon, source, language, target, *rest)

    monkeypatch.setattr(_native, "compile", note)
    return formats


def compile_cubin(monkeypatch, source=PUT, code_type="c++", cache=None):
    """As a device that runs cubins has it compiled."""
    with monkeypatch.context() as patch:
        patch.setattr(Device, "is_software", False)
        return Program(source, code_type).compile("cubin", cache=cache)


def launch_with_numbers(device, stream, code):
    """Launches `put` of a cubin, with Python's numbers. Where cubins do not run, its PTX does."""
    if device.is_software:
        stored, _ = Program(PUT, "c++")._ask_daemon(device, "ptx", (), None)
        code._stored, code._daemon = stored, device.session._daemon
    kernel = code.get_kernel("put")
    x = device.allocate(4, stream=stream)
    for wrong, text in ((2, 1), "is an int"), ((np.float32(2), 1.5), "is a float"):
        with pytest.raises(TypeError, match=text):
            launch(stream, ONE, kernel, x, *wrong)
    launch(stream, ONE, kernel, x, np.float32(2), 3)
    assert x.copy_to(np.zeros(1, np.float32), stream=stream)[0] == 5


def test_a_cubin_tells_the_kinds_of_its_parameters_and_is_compiled_once(
    device, stream, monkeypatch, asked
):
    code = compile_cubin(monkeypatch)
    assert code.code[:4] == b"\x7fELF"
    kept = pickle.loads(pickle.dumps(code))
    for one in (code, kept):
        launch_with_numbers(device, stream, one)
        assert one._describe is None and one._parameter_kinds("put") == "ifi"
    # That PTX is what runs here, not what tells.
    assert asked == ([CUBIN, PTX, PTX] if device.is_software else [CUBIN])


def test_a_cubin_of_a_cache_is_asked_about_for_the_first_number(device, stream, monkeypatch, asked):
    cache = InMemoryProgramCache()
    compile_cubin(monkeypatch, cache=cache)
    code = compile_cubin(monkeypatch, cache=cache)
    assert asked == [CUBIN]
    for _ in range(2):
        launch_with_numbers(device, stream, code)
    assert asked.count(CUBIN) == 2  # the daemon keeps what it has made


def test_a_daemon_that_tells_no_kinds_makes_ptx_for_them(device, stream, monkeypatch, asked):
    compile_now = _native.compile

    def older(*arguments):
        stored, result = compile_now(*arguments)
        return stored, result | {"kernels": {}}

    monkeypatch.setattr(_native, "compile", older)
    code = compile_cubin(monkeypatch)
    assert asked == [CUBIN]
    launch_with_numbers(device, stream, code)
    assert PTX in asked


def test_code_of_any_maker_tells_the_kinds_of_its_parameters(device, monkeypatch):
    ptx = Program(PUT, "c++").compile("ptx")
    assert ptx._parameter_kinds("put") == "ifi"
    assert ObjectCode.from_ptx(ptx.code)._parameter_kinds("put") == "ifi"
    assert compile_cubin(monkeypatch, ptx.code.decode(), "ptx")._parameter_kinds("put") == "ifi"
    monkeypatch.setattr(Device, "is_software", False)
    assert Linker(ptx).link("cubin")._parameter_kinds("put") == "ifi"


def test_kinds_are_found_in_ptx_by_name():
    ptx = b"""
        .entry none()
        .visible .entry a(
            .param .u64 .ptr .global .align 1 a_0, .param .f32 a_1,
            .param .align 4 .b8 a_2[8], .param .b32 a_3, .param .s16 a_4
        )
        .entry a_longer(.param .f64 p)"""
    assert kinds_in(ptx) == {"none": "", "a": "if??i", "a_longer": "f"}
    assert kinds_in(b"no PTX") == {}
