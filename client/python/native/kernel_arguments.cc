// SPDX-License-Identifier: Apache-2.0
#include "client/python/native/kernel_arguments.h"

#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "client/python/native/array_bytes.h"
#include "client/python/native/ordinary_memory.h"

namespace holdfast::python {
namespace {

bool HasAttribute(PyObject* object, const char* name) {
  const Ref attribute(PyObject_GetAttrString(object, name));
  PyErr_Clear();
  return static_cast<bool>(attribute);
}

// Sets a ValueError, and returns false.
bool RefuseOrdinary(size_t index) {
  PyErr_Format(PyExc_ValueError,
               "argument %zu is memory of this process, which a kernel cannot "
               "reach, since the daemon is on another machine: copy it into a "
               "Buffer of the device",
               index);
  return false;
}

// The class of the object with its module: "numpy.int64"; "int" of a builtin.
std::string TypeName(PyObject* object) {
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  const auto text = [type](const char* attribute) -> std::string {
    const Ref name(PyObject_GetAttrString(type, attribute));
    const char* const utf8 =
        name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
    PyErr_Clear();
    return utf8 == nullptr ? "" : utf8;
  };
  const std::string module = text("__module__");
  const std::string name = text("__qualname__");
  return module.empty() || module == "builtins" ? name : module + "." + name;
}

std::string NameOf(const char* what) { return what; }
std::string NameOf(PyObject* object) { return TypeName(object); }

// The kind of a scalar by its format in the buffer protocol, as
// Parameters::kinds; '?' of a struct and of formats that have no such kind.
char KindOfFormat(const char* format) {
  std::string_view code = format == nullptr ? "B" : format;
  if (!code.empty() && std::strchr("@=<>!", code[0]) != nullptr) {
    code.remove_prefix(1);
  }
  if (code.size() != 1) return '?';
  if (std::strchr("efd", code[0]) != nullptr) return 'f';
  return std::strchr("bBhHiIlLqQnN", code[0]) != nullptr ? 'i' : '?';
}

// How an argument of this kind and size is written.
std::string Spelling(char kind, uint32_t size) {
  const std::string scalar = std::to_string(8 * size) + "(x)";
  if (kind == 'f') {
    return size == 8 ? "pass a Python float or numpy.float64(x)"
                     : "pass numpy.float" + scalar;
  }
  if (kind == 'i' && size == 8) {
    return "pass a Buffer for a pointer, a Python int or numpy.int64(x) for "
           "an integer";
  }
  if (kind == 'i') return "pass a Python int or numpy.int" + scalar;
  return "a NumPy scalar such as numpy.float32(x) says which type is meant";
}

void Release(Handle<hf_buffer>* handle) {
  if (--handle->users == 0 && handle->closed) {
    hf_buffer_free(std::exchange(handle->object, nullptr));
  }
}

}  // namespace

Arguments::~Arguments() {
  for (size_t i = 0; i < view_count_; ++i) PyBuffer_Release(&views_[i]);
  for (size_t i = 0; i < used_count_; ++i) Release(used_[i]);
}

bool Arguments::Set(PyObject* const* objects, size_t count) {
  if (count != sizes_.size()) {
    PyErr_Format(PyExc_ValueError,
                 "the kernel has %zu parameters, %zu arguments were given",
                 sizes_.size(), count);
    return false;
  }
  if (count > kInline) {
    many_.resize(count);
    all_ = many_.data();
    many_views_.resize(count);
    views_ = many_views_.data();
    many_used_.resize(count);
    used_ = many_used_.data();
  }
  for (size_t i = 0; i < count; ++i) {
    if (!SetOne(objects[i], i)) return false;
  }
  return true;
}

template <typename What>
bool Arguments::CheckSize(size_t index, size_t size, What what) {
  if (sizes_[index] == size) return true;
  // Without the kinds the message says less.
  if (!LearnKinds()) PyErr_Clear();
  const std::string& kinds = parameters_.kinds;
  const char kind = index < kinds.size() ? kinds[index] : '?';
  PyErr_Format(PyExc_TypeError,
               "argument %zu: %s has %zu %s, the kernel's parameter is %s; %s",
               index, NameOf(what).c_str(), size, size == 1 ? "byte" : "bytes",
               DescribeParameter(index).c_str(),
               Spelling(kind, sizes_[index]).c_str());
  return false;
}

bool Arguments::SetOne(PyObject* object, size_t index) {
  if (PyObject_TypeCheck(object, Class<hf_buffer>::type)) {
    return SetBuffer(object, index, 0);
  }
  if (PyBool_Check(object)) {
    all_[index] = hf_bool(object == Py_True);
    return CheckSize(index, 1, "a bool");
  }
  if (PyLong_Check(object)) return SetInt(object, index);
  if (PyFloat_Check(object)) {
    if (!LearnKinds()) return false;
    if (IsOfKind(index, 'i')) {
      PyErr_Format(PyExc_TypeError,
                   "argument %zu: %R is a float, the kernel's parameter is %s",
                   index, object, DescribeParameter(index).c_str());
      return false;
    }
    all_[index] = hf_f64(PyFloat_AsDouble(object));
    // Else numpy.float64.
    return PyFloat_CheckExact(object) != 0
               ? CheckSize(index, 8, "a Python float is a double, which")
               : CheckSize(index, 8, object);
  }
  if (PyComplex_Check(object)) return SetComplex(object, index);
  return SetBytes(object, index);
}

bool Arguments::LearnKinds() {
  if (!parameters_.kinds.empty() || parameters_.is_learned) return true;
  const Ref kinds(PyObject_CallMethod(kernel_, "_learn_kinds", nullptr));
  if (!kinds) return false;
  const char* const text = PyUnicode_AsUTF8AndSize(kinds.get(), nullptr);
  if (text == nullptr) return false;
  parameters_.kinds = text;
  parameters_.is_learned = true;
  return true;
}

bool Arguments::SetBuffer(PyObject* object, size_t index, uint64_t offset) {
  auto* const handle = Handle<hf_buffer>::Of(object);
  if (handle->closed) {
    PyErr_Format(PyExc_RuntimeError, "argument %zu: Buffer has been closed",
                 index);
    return false;
  }
  if (handle->object == nullptr) return SetPinned(object, index, offset);
  ++handle->users;
  used_[used_count_++] = handle;
  all_[index] = hf_pointer_at(handle->object, offset);
  return CheckSize(index, 8, "a buffer");
}

// Memory of this process, which the executor has mapped if it is a span.
bool Arguments::SetPinned(PyObject* buffer, size_t index, uint64_t offset) {
  Ref memory(PyObject_GetAttrString(buffer, "_memory"));
  if (!memory) return false;
  if (!PyObject_TypeCheck(memory.get(), Class<hf_span>::type)) {
    return RefuseOrdinary(index);
  }
  all_[index] =
      hf_span_pointer_at(Handle<hf_span>::Of(memory.get())->object, offset);
  kept_.push_back(std::move(memory));
  return CheckSize(index, 8, "a buffer");
}

// An int has the size of the parameter; it must fit, signed or unsigned.
bool Arguments::SetInt(PyObject* object, size_t index) {
  if (!LearnKinds()) return false;
  if (IsOfKind(index, 'f')) {
    PyErr_Format(PyExc_TypeError,
                 "argument %zu: %R is an int, the kernel's parameter is %s; %s",
                 index, object, DescribeParameter(index).c_str(),
                 Spelling('f', sizes_[index]).c_str());
    return false;
  }
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
  const uint32_t size = sizes_[index];
  const unsigned bits = size * 8;
  if (overflow > 0 && size == 8) {
    value = static_cast<int64_t>(PyLong_AsUnsignedLongLong(object));
    overflow = PyErr_Occurred() != nullptr ? 1 : 0;
    PyErr_Clear();
  }
  if (size != 1 && size != 2 && size != 4 && size != 8) {
    return CheckSize(index, 8, "a Python int");
  }
  const bool fits = size == 8 || (value >= -(int64_t{1} << (bits - 1)) &&
                                  value < (int64_t{1} << bits));
  if (overflow != 0 || !fits) {
    PyErr_Format(PyExc_OverflowError,
                 "argument %zu, %R, does not fit into a parameter of %u bits",
                 index, object, bits);
    return false;
  }
  if (size == 8 && IsInOrdinaryMemory(static_cast<uint64_t>(value))) {
    return RefuseOrdinary(index);
  }
  all_[index] = size == 8   ? hf_i64(value)
                : size == 4 ? hf_i32(static_cast<int32_t>(value))
                : size == 2 ? hf_i16(static_cast<int16_t>(value))
                            : hf_i8(static_cast<int8_t>(value));
  return true;
}

bool Arguments::SetComplex(PyObject* object, size_t index) {
  complex_.push_back(
      {PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)});
  // Earlier ones may have moved.
  all_[index] = hf_raw(nullptr, sizeof complex_[0]);
  complex_index_.push_back(index);
  for (size_t i = 0; i < complex_.size(); ++i) {
    all_[complex_index_[i]].value.data = &complex_[i];
  }
  return CheckSize(index, sizeof complex_[0], "a Python complex");
}

// NumPy scalars, structs and ctypes objects: their bytes as they stand. An
// array would be passed by value, which nobody means.
bool Arguments::SetBytes(PyObject* object, size_t index) {
  Py_buffer& view = views_[view_count_];
  if (PyObject_CheckBuffer(object) == 0 ||
      PyObject_GetBuffer(object, &view, PyBUF_ND | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return SetUnknown(object, index);
  }
  ++view_count_;
  if (view.ndim != 0) {
    PyErr_Format(PyExc_TypeError,
                 "the argument is of unsupported type: argument %zu is %R, an "
                 "array of this process; copy it into a Buffer",
                 index, Py_TYPE(object));
    return false;
  }
  if (!CheckElements(view)) return false;
  // A pointer: numpy.uint64(address), ctypes.c_void_p(address).
  uint64_t number = 0;
  if (view.len == sizeof number) {
    std::memcpy(&number, view.buf, sizeof number);
    if (IsInOrdinaryMemory(number)) return RefuseOrdinary(index);
  }
  all_[index] = hf_raw(view.buf, static_cast<uint64_t>(view.len));
  return CheckSize(index, static_cast<size_t>(view.len), object) &&
         WarnOfKind(object, index, KindOfFormat(view.format));
}

bool Arguments::WarnOfKind(PyObject* object, size_t index, char kind) {
  const bool differs = (kind == 'f' && IsOfKind(index, 'i')) ||
                       (kind == 'i' && IsOfKind(index, 'f'));
  if (!differs) return true;
  const std::string text = "argument " + std::to_string(index) + ": " +
                           TypeName(object) +
                           " goes as its bytes, the kernel's parameter is " +
                           DescribeParameter(index) + "; " +
                           Spelling(parameters_.kinds[index], sizes_[index]);
  const Ref done(
      PyObject_CallMethod(kernel_, "_warn_of_argument", "s", text.c_str()));
  return static_cast<bool>(done);
}

std::string Arguments::DescribeParameter(size_t index) const {
  const uint32_t size = sizes_[index];
  const std::string bytes =
      std::to_string(size) + (size == 1 ? " byte" : " bytes");
  if (IsOfKind(index, 'f')) return "a floating-point number of " + bytes;
  if (!IsOfKind(index, 'i')) return "of " + bytes;
  return (size == 8 ? "an integer or a pointer of " : "an integer of ") + bytes;
}

// A place in a buffer: (Buffer, offset).
int Arguments::SetAddress(PyObject* object, size_t index) {
  const Ref part(PyObject_GetAttrString(object, "_kernel_argument_"));
  if (!part) {
    PyErr_Clear();
    return 0;
  }
  Argument<std::tuple<PyObject*, uint64_t>> place;
  if (!place.Take(part.get(), "offset")) return -1;
  const auto [buffer, offset] = place.get();
  if (!CheckType(buffer, Class<hf_buffer>::type, Class<hf_buffer>::name)) {
    return -1;
  }
  return SetBuffer(buffer, index, offset) ? 1 : -1;
}

// A condition of a graph, by its id.
int Arguments::SetCondition(PyObject* object, size_t index) {
  const Ref id(PyObject_GetAttrString(object, "_condition_"));
  if (!id) {
    PyErr_Clear();
    return 0;
  }
  Argument<uint32_t> number;
  if (!number.Take(id.get(), "condition")) return -1;
  all_[index] = hf_condition(number.get());
  return CheckSize(index, 8, "a condition") ? 1 : -1;
}

// A place in a buffer, a condition, or a scalar without the buffer protocol
// that can give its bytes (bfloat16 of ml_dtypes).
bool Arguments::SetUnknown(PyObject* object, size_t index) {
  const int address = SetAddress(object, index);
  if (address != 0) return address > 0;
  const int condition = SetCondition(object, index);
  if (condition != 0) return condition > 0;
  // An array of another library, which could give its bytes, too, is none.
  const Ref shape(PyObject_GetAttrString(object, "dtype"));
  PyErr_Clear();
  const bool is_scalar = shape &&
                         !HasAttribute(object, "__cuda_array_interface__") &&
                         !HasAttribute(object, "data_ptr");
  Ref bytes(is_scalar ? PyObject_CallMethod(object, "tobytes", nullptr)
                      : nullptr);
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (!bytes || PyBytes_AsStringAndSize(bytes.get(), &data, &size) != 0) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError,
                 "the argument is of unsupported type: argument %zu is %R%s",
                 index, Py_TYPE(object),
                 object == Py_None
                     ? "; a null pointer is 0"
                     : "; kernels take Buffers, numbers, and scalars and "
                       "structs of NumPy and ctypes");
    return false;
  }
  all_[index] = hf_raw(data, static_cast<uint64_t>(size));
  kept_.push_back(std::move(bytes));
  return CheckSize(index, static_cast<size_t>(size), object);
}

}  // namespace holdfast::python
