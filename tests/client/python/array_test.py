# SPDX-License-Identifier: Apache-2.0
"""holdfast.array: shapes, views, copies and the generated kernel do as NumPy does."""

import copy
import itertools

import holdfast
import numpy as np
import pytest
from holdfast import array as ha
from holdfast.core import Device, LaunchConfig, PinnedMemoryResource, Program, launch
from holdfast.core.utils import StridedMemoryView

TYPES = ("bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")

DOUBLED = """extern "C" __global__ void doubled(float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= 2;
}"""


def host(shape=(3, 4, 5), dtype="f4"):
    return (np.arange(np.prod(shape)) % 100).reshape(shape).astype(dtype)


def same(array, expected):
    got = ha.asnumpy(array)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", [*TYPES, "c16", "S5", "M8[s]", [("a", "i4"), ("b", "f8")]])
def test_what_is_copied_there_comes_back(device, dtype):
    values = np.zeros((4, 3), dtype)
    values.reshape(-1).view("u1")[:] = np.arange(values.nbytes) % 2
    same(ha.asarray(values), values)
    same(ha.asarray(values)[1::2, ::-1], values[1::2, ::-1])
    there = ha.zeros((4, 3), dtype)
    there[:, 1] = values[:, 1]
    expected = np.zeros((4, 3), dtype)
    expected[:, 1] = values[:, 1]
    same(there, expected)


def test_an_array_says_what_it_is(device):
    a = ha.zeros((2, 3), "f4")
    assert (a.shape, a.dtype, a.ndim, a.size) == ((2, 3), np.dtype("f4"), 2, 6)
    assert (a.itemsize, a.nbytes, a.strides, a.offset) == (4, 24, (12, 4), 0)
    assert a.device == device and a.buffer.size == 24 and len(a) == 2 and a.is_contiguous
    assert repr(a) == f"<Array (2, 3) float32, device {device.device_id}>"
    assert "2 × 3" in a._repr_html_() and "float32" in a._repr_html_()
    assert str(a) == str(np.zeros((2, 3), "f4"))


def test_a_name_of_numpys_arrays_is_told_with_the_array_that_has_it(device):
    a = ha.zeros((2, 3), "f4")
    with pytest.raises(AttributeError, match=r"holdfast\.array\.asnumpy\(a\)\.sum"):
        a.sum()
    assert not hasattr(a, "mean") and getattr(a, "max", None) is None
    with pytest.raises(AttributeError, match="no attribute 'summ'$"):
        a.summ()
    with pytest.raises(AttributeError, match="ipc_enabled"):  # the property's own
        a.__cuda_array_interface__


@pytest.mark.parametrize("name", ["copy_to_host", "cpu", "get", "numpy"])
def test_other_librarys_names_of_a_copy_lead_to_asnumpy(device, name):
    a = ha.zeros(3, device=device)
    with pytest.raises(AttributeError, match=rf"'{name}': holdfast.array.asnumpy\(a\) copies"):
        getattr(a, name)


def test_numpys_functions_are_told_with_what_to_do(device):
    with pytest.raises(AttributeError, match="'sqrt', NumPy has it: holdfast.array.elementwise"):
        ha.sqrt
    with pytest.raises(AttributeError, match="'linspace', NumPy has it: use numpy.linspace with"):
        ha.linspace
    with pytest.raises(AttributeError, match="no attribute 'linspce'$"):
        ha.linspce


def test_operators_without_a_kernel_say_what_to_do(device):
    a = ha.zeros((3, 3), device=device)
    for call in lambda: a**2, lambda: 2**a, lambda: abs(a):
        with pytest.raises(TypeError, match="holdfast.array.elementwise"):
            call()
    for call in lambda: a @ a, lambda: np.zeros((3, 3)) @ a:
        with pytest.raises(TypeError, match=r"asnumpy\(a\) @ asnumpy\(b\)"):
            call()


def test_what_makes_arrays_is_as_numpys(device):
    same(ha.zeros(3), np.zeros(3))
    same(ha.zeros((2, 0)), np.zeros((2, 0)))
    same(ha.full((2, 2), 1.5), np.full((2, 2), 1.5))
    same(ha.full(3, 7, "u2"), np.full(3, 7, "u2"))
    same(ha.arange(5), np.arange(5))
    same(ha.arange(1, 9, 2, dtype="f4"), np.arange(1, 9, 2, dtype="f4"))
    same(ha.asarray([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))
    same(ha.asarray(3.5), np.asarray(3.5))
    assert ha.empty((5, 6), "i8").shape == (5, 6)


INDICES = [
    np.s_[0], np.s_[-1], np.s_[1:], np.s_[::2], np.s_[::-1], np.s_[1, 2], np.s_[1, 2, 3],
    np.s_[..., 1], np.s_[:, None, 2], np.s_[2:0], np.s_[1:2, ::-2, 1:], np.s_[...], (),
    np.s_[np.int64(1)],
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_slices_are_views_as_numpys(device, index):
    values = host()
    a = ha.asarray(values)
    view = a[index]
    same(view, values[index] if isinstance(values[index], np.ndarray) else np.asarray(values[index]))
    assert view.buffer is a.buffer
    view[...] = 77
    values[index] = 77
    same(a, values)


def test_indices_that_are_none_are_refused(device):
    a = ha.zeros((3, 4))
    for index in ([0, 1], np.array([0]), np.zeros((3, 4), bool), True, 1.5, "a"):
        with pytest.raises(TypeError, match="asnumpy"):
            a[index]
    for index in (3, -4, (0, 4), (0, 0, 0)):
        with pytest.raises(IndexError):
            a[index]


def test_other_views_are_as_numpys(device):
    values = host()
    a = ha.asarray(values)
    same(a.T, values.T)
    same(a.transpose(1, 0, 2), values.transpose(1, 0, 2))
    same(a.reshape(5, -1), values.reshape(5, -1))
    same(a.reshape((12, 5)), values.reshape(12, 5))
    same(a.T.reshape(-1), values.T.reshape(-1))
    same(a.ravel(), values.ravel())
    assert a.reshape(-1).buffer is a.buffer and a.T.reshape(-1).buffer is not a.buffer
    for row, expected in zip(a, values):
        same(row, expected)
    with pytest.raises(ValueError):
        a.reshape(7)


def test_assignment_broadcasts_and_converts(device):
    a, values = ha.zeros((3, 4), "f4"), np.zeros((3, 4), "f4")
    for index, value in (
        (np.s_[1], 3), (np.s_[:, 2], [1, 2, 3]), (np.s_[::2], np.arange(4, dtype="i8")),
        (np.s_[...], np.float16(2.5)), (np.s_[0, 0], 9), (np.s_[:, ::3], np.ones((3, 1))),
    ):  # fmt: skip
        a[index] = value
        values[index] = value
        same(a, values)
    with pytest.raises(ValueError):
        a[...] = np.zeros(5)
    with pytest.raises(ValueError):
        a[0] = ha.zeros((3, 4))


@pytest.mark.parametrize("to,of", itertools.product(("f2", "i4", "bool"), ("f2", "f8", "u1")))
def test_an_array_is_assigned_to_one_of_another_type(device, to, of):
    values = host((5, 6), of)
    a = ha.zeros((6, 5), to)
    a.T[...] = ha.asarray(values)
    same(a, values.T.astype(to))
    same(ha.asarray(values).astype(to), values.astype(to))


def test_an_array_is_assigned_to_a_part_of_itself(device):
    values = host((100,))
    a = ha.asarray(values)
    a[1:] = a[:-1]
    values[1:] = values[:-1].copy()
    same(a, values)
    a[...] = a[::-1]
    same(a, values[::-1])
    a[:50] += a[1:51]
    expected = values[::-1].copy()
    expected[:50] += expected[1:51].copy()
    same(a, expected)


@pytest.mark.parametrize("dtype", ("u1", "i4", "f2", "f8"))
def test_operators_are_as_numpys(device, dtype):
    x, y = host((4, 5), dtype) % 7 + 1, host((5,), dtype) % 3 + 1
    a, b = ha.asarray(x), ha.asarray(y)
    for one, two in ((a + b, x + y), (a - b, x - y), (a * b, x * y), (a < b, x < y), (a >= b, x >= y)):
        same(one, two)
    same(a == 2, x == 2)
    same(a != b, x != y)
    same(2 * a, 2 * x)
    same(10 - a, 10 - x)
    np.testing.assert_allclose(ha.asnumpy(a / b), x / y, rtol=1e-3 if dtype == "f2" else 1e-6)
    assert (a / b).dtype == (x / y).dtype or x.dtype.itemsize == 1
    a += 1
    a *= b
    same(a, ((x + 1) * y).astype(dtype))


def test_operands_have_their_common_type(device):
    x, y = host((6,), "i4"), host((6,), "f4")
    a, b = ha.asarray(x), ha.asarray(y)
    for one, two in ((a + b, x + y), (a + 1.5, x + 1.5), (-a, -x), (+b, +y), (np.float32(2) * b, 2 * y)):
        same(one, two)
    with pytest.raises(TypeError, match="float64"):
        a += 1.5
    with pytest.raises(TypeError, match="asarray"):
        b + y
    with pytest.raises(TypeError):
        a + "b"


def test_elementwise_evaluates_an_expression(device):
    x, y = host((4, 5)), host((4, 5)) * 3
    a, b = ha.asarray(x), ha.asarray(y)
    same(ha.elementwise("a * x + y", a=2, x=a, y=b), 2 * x + y)
    same(ha.elementwise("x < 10 ? 0 : x", x=a.T), np.where(x.T < 10, 0, x.T))
    same(ha.elementwise("x > y", x=a, y=7, dtype=bool), x > 7)
    assert ha.elementwise("x + y", x=a, y=b, out=a[...]) is not a
    same(a, x + y)
    with pytest.raises(ValueError, match="out"):
        ha.elementwise("x", x=a, out=b[0])
    with pytest.raises(holdfast.NVRTCError, match="nonsense"):
        ha.elementwise("nonsense(x)", x=a)
    with pytest.raises(TypeError, match="Array"):
        ha.elementwise("x", x=3)
    with pytest.raises(TypeError, match="asarray"):
        ha.elementwise("x", x=a, y=y)
    with pytest.raises(TypeError, match="y: "):
        ha.elementwise("x", x=a, y="a")
    with pytest.raises(TypeError, match="complex"):
        ha.zeros(3, complex) + 1


def test_an_array_is_an_argument_of_kernels(device, stream):
    kernel = Program(DOUBLED, "c++").compile("cubin").get_kernel("doubled")
    a = ha.asarray(host((20,)))
    launch(stream, LaunchConfig(grid=1, block=32), kernel, a[4:], 5)
    expected = host((20,))
    expected[4:9] *= 2
    same(a, expected)  # waits for the stream, too
    a[...] = 1
    launch(stream, LaunchConfig(grid=1, block=32), kernel, a, 20)
    assert ha.asnumpy(a, stream=stream).tolist() == [2] * 20


def test_work_of_a_stream_is_in_its_order(device, stream):
    a = ha.zeros((64, 64), "f4", stream=stream)
    for _ in range(10):
        ha.elementwise("x + 1", x=a.T, out=a.T, stream=stream)
    b = a.astype("i4", stream=stream).copy(stream=stream)
    assert (b.asnumpy(stream=stream) == 10).all()
    out = np.empty((64, 64), "f8")
    assert ha.asnumpy(b, out) is out and (out == 10).all()


def test_an_array_is_recorded_in_a_graph(device, stream):
    a = ha.zeros(8, "f4")
    builder = device.create_graph_builder().begin_building()
    ha.elementwise("x + 1", x=a, out=a, stream=builder)
    with builder.end_building() as recorded, recorded.complete() as graph:
        for _ in range(3):
            graph.launch(stream)
        same(a, np.full(8, 3, "f4"))


def test_numpy_is_told_what_to_do(device):
    a = ha.zeros(3)
    for call in (np.asarray, np.array, np.sum, lambda x: np.add(x, 1)):
        with pytest.raises(TypeError):
            call(a)
    with pytest.raises(TypeError, match="asnumpy"):
        np.asarray(a)
    pinned = ha.zeros(3, resource=PinnedMemoryResource())
    with pytest.raises(TypeError, match="pinned memory: numpy.from_dlpack"):
        np.asarray(pinned)
    assert np.from_dlpack(pinned).tolist() == [0, 0, 0]
    with pytest.raises(TypeError, match=r"no numpy.sin of Arrays: holdfast.array.elementwise\("):
        np.sin(a)
    with pytest.raises(TypeError, match="no numpy.add.reduce of Arrays: "):
        np.add.reduce(a)
    with pytest.raises(TypeError, match="copy_to"):
        np.asarray(a.buffer)
    with pytest.raises(TypeError, match="objects"):
        ha.asarray(np.array([object()]))
    with pytest.raises(TypeError, match="byte order"):
        ha.zeros(3, ">f4")


@pytest.mark.parametrize(
    ("sign", "expression"),
    [
        ("**", r"pow\(x, y\)"), ("%", "x % y"), ("//", r"floor\(x / y\)"), ("&", "x & y"),
        ("|", r"x \| y"), ("^", r"x \^ y"), ("<<", "x << y"), (">>", "x >> y"),
    ],
)  # fmt: skip
def test_an_operator_that_arrays_lack_names_the_expression(device, sign, expression):
    a = ha.zeros(3, "i4")
    for left, right in ((a, 2), (2, a), (a, a), (np.int32(2), a)):
        with pytest.raises(TypeError, match=f'holdfast.array.elementwise\\("{expression}", x=a, y=b\\)'):
            eval(f"left {sign} right")
    with pytest.raises(TypeError, match="no ~ of Arrays"):
        ~a


def test_numpys_numbers_stand_on_either_side(device):
    x = host((6,), "f4")
    a, two = ha.asarray(x), np.float32(2)
    for one, other in (
        (two - a, two - x), (a - two, x - two), (two / (a + 1), two / (x + 1)), (two < a, two < x),
        (two >= a, two >= x), (two == a, two == x), (np.float32(2).reshape(()) * a, 2 * x),
    ):  # fmt: skip
        same(one, other)
    with pytest.raises(TypeError, match="asarray"):
        x + a


def test_the_module_shows_its_functions_alone():
    assert dir(ha) == sorted(ha.__all__)


def test_one_element_is_a_number(device):
    a = ha.arange(5)
    assert (int(a[2]), float(a[3]), a[4].item(), bool(a[0]), bool(a[1])) == (2, 3.0, 4, False, True)
    assert a.tolist() == [0, 1, 2, 3, 4] and [int(x) for x in a] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="any"):
        bool(a)
    with pytest.raises(TypeError):
        {a}


def test_memory_that_is_there_is_an_array(device, stream):
    buffer = device.allocate(24, stream=stream)
    buffer.copy_from(np.arange(6, dtype="i4"), stream=stream)
    stream.sync()
    same(ha.asarray(buffer, "i4"), np.arange(6, dtype="i4"))
    assert ha.asarray(buffer).shape == (24,) and ha.asarray(buffer).buffer is buffer
    view = StridedMemoryView.from_buffer(buffer, (2, 2), (3, 1), dtype=np.dtype("i4"))
    same(ha.asarray(view), np.array([[0, 1], [3, 4]], "i4"))
    same(ha.Array(buffer, 2, "i4", strides=(12,), offset=4), np.array([1, 4], "i4"))
    for wrong in (dict(offset=8), dict(offset=-4), dict(strides=(8, 12)), dict(strides=(4,))):
        with pytest.raises(ValueError):
            ha.Array(buffer, (2, 3), "i4", **wrong)


def test_numpy_shares_pinned_memory(device, stream):
    a = ha.zeros((2, 3), "i4", resource=PinnedMemoryResource())
    shared = np.from_dlpack(a)
    assert shared.shape == (2, 3) and shared.dtype == np.int32
    a[1] = 5
    assert shared.tolist() == [[0, 0, 0], [5, 5, 5]]


def test_memory_of_a_device_is_shared_where_it_can_be(device, address):
    with pytest.raises(BufferError, match="ipc_enabled"):
        ha.zeros(3).__dlpack__()
    assert not hasattr(ha.zeros(3), "__cuda_array_interface__")


def test_arrays_of_two_sessions_do_not_mix(device, other):
    one = ha.zeros(3)
    two = ha.zeros(3, device=other.device(0))
    assert two.device.session is other
    with pytest.raises(ValueError, match="sessions"):
        one[...] = two


def test_memory_lives_as_long_as_work_may_use_it(device, stream):
    kernel = Program(DOUBLED, "c++").compile("cubin").get_kernel("doubled")
    for _ in range(20):
        launch(stream, LaunchConfig(grid=8, block=64), kernel, ha.zeros(1 << 16, "f4"), 1 << 16)
    stream.sync()


def test_what_is_opened_with_with_is_closed(device):
    with device.create_stream() as stream, device.create_event() as event:
        stream.record(event)
    assert "closed" in repr(stream)
    with pytest.raises((ValueError, RuntimeError)):
        stream.sync()
    assert Device() is device and holdfast.core.Device is Device and holdfast.array is ha


def test_what_is_like_another_has_its_shape_and_type(device):
    a = ha.zeros((2, 3), "f4")
    same(ha.ones((2, 2), "i2"), np.ones((2, 2), "i2"))
    same(ha.ones_like(a), np.ones((2, 3), "f4"))
    same(ha.zeros_like(a, "u1"), np.zeros((2, 3), "u1"))
    same(ha.full_like(a, 7), np.full((2, 3), 7, "f4"))
    assert (ha.empty_like(a).shape, ha.empty_like(a).dtype) == (a.shape, a.dtype)


def test_copies_and_elements_are_as_numpys(device):
    values = host((3, 4), "f8")
    a = ha.asarray(values)
    for made in (copy.copy(a), copy.deepcopy(a)):
        made[:] = 0
        same(a, values)
    assert a.item(5) == values.item(5) and a.item(1, 2) == values.item(1, 2)
    assert f"{a[0, 1]:.3f}" == "1.000" and f"{a}" == f"{values}"


def test_division_in_place_needs_a_type_that_has_quotients(device):
    a = ha.arange(5)
    with pytest.raises(TypeError, match="the result is float64, which an Array of int64"):
        a /= 2
    same(a, np.arange(5))
    b = ha.arange(5, dtype="f4")
    b /= 2
    same(b, np.arange(5, dtype="f4") / 2)


def test_booleans_have_no_difference(device):
    a = ha.zeros(3, bool)
    for fails in (lambda: -a, lambda: a - a, lambda: True - a):
        with pytest.raises(TypeError, match="booleans have no"):
            fails()


@pytest.mark.parametrize("other", [[1, 2], (1, 2), None, "x", 1j])
def test_a_comparison_with_what_is_no_operand_is_refused(device, other):
    a = ha.arange(2)
    for fails in (lambda: a == other, lambda: a != other, lambda: a < other):
        with pytest.raises(TypeError):
            fails()


def test_an_assignment_drops_leading_dimensions_of_one(device):
    values = np.zeros((2, 4))
    a = ha.zeros((2, 4))
    for source in (np.ones((1, 4)), np.arange(4.0).reshape(1, 1, 4)):
        values[0], a[0] = source, source
        same(a, values)
        values[1], a[1] = source * 2, ha.asarray(source * 2)
        same(a, values)
    with pytest.raises(ValueError, match=r"shape \(2, 4\) does not fit into shape \(4,\)"):
        a[0] = np.ones((2, 4))


def test_a_tuple_is_an_element_of_a_structured_type(device):
    values = np.zeros(3, [("a", "i4"), ("b", "f8")])
    a = ha.asarray(values)
    a[1], values[1] = (9, 9.5), (9, 9.5)
    same(a, values)


@pytest.mark.parametrize("dtype", ["i4", "f4", "f8", "c8"])
def test_real_and_complex_numbers_become_complex(device, dtype):
    values = host((2, 3), dtype)
    if dtype == "c8":
        values += 1j
    same(ha.asarray(values).astype("c16"), values.astype("c16"))
    there = ha.full((2, 3), 5 + 5j, "c16")
    there[:, ::2] = ha.asarray(values)[:, ::2]
    expected = np.full((2, 3), 5 + 5j, "c16")
    expected[:, ::2] = values[:, ::2]
    same(there, expected)


@pytest.mark.parametrize("name", ["i", "at", "step", "a", "layout", "result", "d"])
def test_an_operand_may_have_any_name_of_a_variable(device, name):
    same(ha.elementwise(f"{name} + 1", **{name: ha.arange(3)}), np.arange(3) + 1)


@pytest.mark.parametrize("name", ["int", "λ", "hf_at", "threadIdx"])
def test_a_name_that_is_no_variables_is_refused(device, name):
    with pytest.raises(ValueError, match="cannot be the name of an operand"):
        ha.elementwise("1", **{name: ha.arange(3)})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: ha.elementwise("x", x=a, out=np.zeros(3)), "out: an Array expected, got ndarray"),
        (lambda a: ha.elementwise("x", x=np.zeros(3)), "x: an Array or a number expected"),
        (lambda a: ha.asnumpy(a, out=[1]), "out: an array of NumPy expected, got list"),
        (lambda a: ha.zeros(3, device=5), "device: a Device expected, got int"),
        (lambda a: ha.zeros(1.5), "shape: an int or a tuple of ints expected, got float"),
    ],
)
def test_a_wrong_argument_is_named(device, call, message):
    with pytest.raises(TypeError, match=message):
        call(ha.arange(3))


def test_a_shape_beyond_64_bits_is_refused(device):
    with pytest.raises(ValueError, match="larger than an array may be"):
        ha.zeros((1 << 33, 1 << 33, 0))
