// SPDX-License-Identifier: Apache-2.0
//
// Kernels, launch configurations and arguments in the extension, for launches
// on streams and in graphs.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_KERNEL_ARGUMENTS_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_KERNEL_ARGUMENTS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "client/python/native/argument.h"
#include "client/python/native/native.h"

namespace holdfast::python {

// The known facts about a kernel's parameters: their sizes and their kinds. The
// size of a parameter decides how wide a Python int is passed. The kinds come
// with the kernel's code. If the code came without kinds, the kernel's method
// _learn_kinds is called for them when the first Python number is passed.
struct Parameters {
  std::vector<uint32_t> sizes;
  // One letter per parameter: 'f' for a floating-point number, 'i' for an
  // integer or a pointer. Another letter, or a missing one: not known.
  std::string kinds;
  bool is_learned = false;  // _learn_kinds was called
};

// The Python object of a kernel. It owns `parameters`.
struct Kernel {
  Handle<hf_kernel> handle;
  Parameters* parameters;
};

// The Python object LaunchConfig.
struct Config {
  PyObject_HEAD hf_launch_config config;
  std::array<hf_launch_attribute, 2> attributes;
};

extern PyTypeObject* config_type;

template <>
class Argument<const hf_launch_config*>
    : public Value<const hf_launch_config*> {
 public:
  bool Take(PyObject* object, const char*) {
    if (!CheckType(object, config_type, "a LaunchConfig")) return false;
    value_ = &reinterpret_cast<Config*>(object)->config;
    return true;
  }
};

// The arguments of one launch. Keeps the objects that they refer to alive.
class Arguments {
 public:
  // `kernel` is borrowed, and `parameters` belong to it. Both must outlive this
  // object.
  Arguments(PyObject* kernel, Parameters& parameters)
      : kernel_(kernel), parameters_(parameters), sizes_(parameters.sizes) {}
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // Converts the arguments. Called once. Returns false, with an exception, if
  // the number is wrong or an argument cannot be passed.
  bool Set(PyObject* const* objects, size_t count);

  const hf_argument* data() const { return all_; }

 private:
  struct Complex {
    double real;
    double imaginary;
  };
  // Launches with up to this number of arguments need no allocation.
  static constexpr size_t kInline = 24;

  bool SetOne(PyObject* object, size_t index);
  bool SetBuffer(PyObject* object, size_t index, uint64_t offset);
  bool SetPinned(PyObject* buffer, size_t index, uint64_t offset);
  bool SetInt(PyObject* object, size_t index);
  bool SetComplex(PyObject* object, size_t index);
  bool SetBytes(PyObject* object, size_t index);
  bool SetUnknown(PyObject* object, size_t index);
  // Return 1 if the object is an address or a condition, 0 if it is not, and -1
  // with an exception.
  int SetAddress(PyObject* object, size_t index);
  int SetCondition(PyObject* object, size_t index);
  bool IsOfKind(size_t index, char kind) const {
    const std::string& kinds = parameters_.kinds;
    return index < kinds.size() && kinds[index] == kind;
  }
  // Calls _learn_kinds, unless the kinds are known or it was called before.
  // Returns false, with an exception set, if the call fails.
  bool LearnKinds();
  // Returns false, with an exception, if the parameter has another size. `what`
  // is the argument, whose type the message names, or the text for the message.
  template <typename What>
  bool CheckSize(size_t index, size_t size, What what);
  // Warns if the parameter is known to be of another kind than the scalar.
  // Returns false, with an exception, if a filter of Python's warnings turns
  // the warning into an exception.
  bool WarnOfKind(PyObject* object, size_t index, char kind);
  // "an integer of 4 bytes"; "of 4 bytes" if the kind is not known.
  std::string DescribeParameter(size_t index) const;

  PyObject* const kernel_;
  Parameters& parameters_;
  const std::vector<uint32_t>& sizes_;
  // The three arrays few_... hold up to kInline arguments; the vectors many_...
  // hold more. The pointers refer to the arrays or vectors in use.
  std::array<hf_argument, kInline> few_;
  std::array<Py_buffer, kInline> few_views_;
  std::array<Handle<hf_buffer>*, kInline> few_used_;
  hf_argument* all_ = few_.data();
  Py_buffer* views_ = few_views_.data();
  Handle<hf_buffer>** used_ = few_used_.data();
  size_t view_count_ = 0;
  size_t used_count_ = 0;
  std::vector<hf_argument> many_;
  std::vector<Py_buffer> many_views_;
  std::vector<Handle<hf_buffer>*> many_used_;
  std::vector<Complex> complex_;
  std::vector<size_t> complex_index_;
  std::vector<Ref> kept_;
};

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_KERNEL_ARGUMENTS_H_
