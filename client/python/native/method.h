// SPDX-License-Identifier: Apache-2.0
//
// Makes the rows of a Python class's tables. A method consists of a C++
// function with typed arguments, usually of holdfast.h, and the names of the
// arguments:
//
//   Method<"_record", hf_stream_record, "event">(),
//
// A call converts the arguments (argument.h), and runs the function without the
// GIL. If the function returns an hf_error*, the call raises it. Otherwise the
// call returns the values of the output parameters: None, one value (result.h),
// or a tuple of values.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_METHOD_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_METHOD_H_

#include <array>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "client/python/native/argument.h"
#include "client/python/native/native.h"
#include "client/python/native/result.h"

namespace holdfast::python {

// Marks a function to be called with the GIL: it does not wait, or the GIL
// guards its object. Functions that return a Python object are always called
// with the GIL.
template <auto kFunction>
struct Quick {};
template <auto kFunction>
inline constexpr Quick<kFunction> kQuick;

namespace internal {

// A parameter through which the function returns a value.
template <typename T>
concept Out =
    std::is_pointer_v<T> && !std::is_const_v<std::remove_pointer_t<T>> &&
    requires {
  sizeof(Result<std::remove_pointer_t<T>>);
};

template <typename T>
struct Returned {
  T value{};
  T* get() { return &value; }
};

template <typename P>
struct SlotOf {
  using Type = Argument<std::decay_t<P>>;
};
template <Out P>
struct SlotOf<P> {
  using Type = Returned<std::remove_pointer_t<P>>;
};

template <auto kFunction, typename = std::remove_const_t<decltype(kFunction)>>
struct Signature;

template <auto kPointer, typename R, typename... P>
struct Signature<kPointer, R (*)(P...)> {
  using Return = R;
  // One slot for each parameter.
  using Slots = std::tuple<typename SlotOf<P>::Type...>;
  static constexpr auto kFunction = kPointer;
  static constexpr size_t kOuts = (size_t{0} + ... + (Out<P> ? 1 : 0));
  static constexpr size_t kInputs = sizeof...(P) - kOuts;
  static constexpr bool kReleasesGil = !std::is_same_v<R, PyObject*>;
};

template <auto kValue, auto kPointer>
struct Signature<kValue, Quick<kPointer>> : Signature<kPointer> {
  static constexpr bool kReleasesGil = false;
};

// The use of `self` by a call.
enum class Self {
  kIgnored,  // not used: the row is a function of the module
  kFirst,    // `self` is the function's first argument
  kAdopts,   // `self` is an empty object, which gets the function's result
};

// Sets TypeError, and returns false.
bool RefuseCount(const char* name, size_t expected, Py_ssize_t count);

template <Self kSelf, Name kName, auto kFunction, Name... kArguments>
class Row {
  using Called = Signature<kFunction>;
  static constexpr size_t kFirst = kSelf == Self::kFirst ? 1 : 0;
  static_assert(kFirst + sizeof...(kArguments) == Called::kInputs,
                "a name for each argument");

 public:
  static PyObject* Run(PyObject* self, PyObject* const* objects,
                       Py_ssize_t count) {
    if (count != Py_ssize_t{sizeof...(kArguments)}) {
      return RefuseCount(kName.text, sizeof...(kArguments), count), nullptr;
    }
    typename Called::Slots slots;
    if constexpr (kSelf == Self::kFirst) {
      if (!TakeSelf(&std::get<0>(slots), self)) return nullptr;
    }
    if (!Take(&slots, objects,
              std::make_index_sequence<sizeof...(kArguments)>())) {
      return nullptr;
    }
    return Finish(self, &slots);
  }

 private:
  template <typename Slot>
  static bool TakeSelf(Slot* slot, PyObject* self) {
    if constexpr (requires { slot->TakeSelf(self); }) {
      return slot->TakeSelf(self);
    } else {
      return slot->Take(self, "self");
    }
  }

  template <size_t... kIndex>
  static bool Take([[maybe_unused]] typename Called::Slots* slots,
                   PyObject* const* objects, std::index_sequence<kIndex...>) {
    return (std::get<kFirst + kIndex>(*slots).Take(objects[kIndex],
                                                   kArguments.text) &&
            ...);
  }

  static typename Called::Return Call(typename Called::Slots* slots) {
    std::optional<WithoutGil> released;
    if constexpr (Called::kReleasesGil) released.emplace();
    return std::apply(
        [](auto&... slot) { return Called::kFunction(slot.get()...); }, *slots);
  }

  static PyObject* Finish(PyObject* self, typename Called::Slots* slots) {
    using R = typename Called::Return;
    if constexpr (std::is_same_v<R, hf_error*>) {
      if (hf_error* const error = Call(slots)) return Raise(error);
      return Returned(self, slots, std::make_index_sequence<Called::kOuts>());
    } else if constexpr (std::is_void_v<R>) {
      Call(slots);
      Py_RETURN_NONE;
    } else {
      return Result<std::decay_t<R>>::Make(Call(slots));
    }
  }

  template <size_t... kIndex>
  static PyObject* Returned([[maybe_unused]] PyObject* self,
                            [[maybe_unused]] typename Called::Slots* slots,
                            std::index_sequence<kIndex...>) {
    std::tuple values(
        std::move(std::get<Called::kInputs + kIndex>(*slots).value)...);
    if constexpr (kSelf == Self::kAdopts) {
      return Adopt(self, std::get<0>(values));
    } else if constexpr (Called::kOuts == 0) {
      Py_RETURN_NONE;
    } else if constexpr (Called::kOuts == 1) {
      using T = std::tuple_element_t<0, decltype(values)>;
      return Result<T>::Make(std::get<0>(values));
    } else {
      return Result<decltype(values)>::Make(values);
    }
  }
};

template <typename T>
PyMethodDef ToRow(const char* name) {
  return {name,
          reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(T::Run)),
          METH_FASTCALL, nullptr};
}

}  // namespace internal

// Returns the row of a method that passes its object's H to the function as the
// first argument.
template <Name kName, auto kFunction, Name... kArguments>
PyMethodDef Method() {
  return internal::ToRow<
      internal::Row<internal::Self::kFirst, kName, kFunction, kArguments...>>(
      kName.text);
}

// Returns the row of a method of an empty object, which gets the H that the
// function makes.
template <Name kName, auto kFunction, Name... kArguments>
PyMethodDef Making() {
  return internal::ToRow<
      internal::Row<internal::Self::kAdopts, kName, kFunction, kArguments...>>(
      kName.text);
}

// Returns the row of a function of the module.
template <Name kName, auto kFunction, Name... kArguments>
PyMethodDef Function() {
  return internal::ToRow<
      internal::Row<internal::Self::kIgnored, kName, kFunction, kArguments...>>(
      kName.text);
}

// Returns the row of a method that frees the H now, without the GIL.
template <Name kName, Owned H>
PyMethodDef Closing() {
  return {kName.text,
          [](PyObject* self, PyObject*) {
            if (H* const object = TakeToClose<H>(self)) {
              const WithoutGil released;
              Class<H>::Free(object);
            }
            Py_RETURN_NONE;
          },
          METH_NOARGS, nullptr};
}

// Returns the row of a property: the result of a function, which is called with
// the GIL.
template <Name kName, auto kFunction>
PyGetSetDef Property() {
  return {kName.text,
          [](PyObject* self, void*) {
            return internal::Row<internal::Self::kFirst, kName,
                                 kQuick<kFunction>>::Run(self, nullptr, 0);
          },
          nullptr, nullptr, nullptr};
}

// Returns the row of a property that is true if the object was closed, or never
// got an H.
template <Name kName, Owned H>
PyGetSetDef Closed() {
  return {kName.text,
          [](PyObject* self, void*) {
            const auto* const handle = Handle<H>::Of(self);
            return PyBool_FromLong(handle->closed || handle->object == nullptr);
          },
          nullptr, nullptr, nullptr};
}

// The parts of a class. Only the name is required.
struct ClassParts {
  const char* name;  // "holdfast._native.Buffer"
  PyMethodDef* methods = nullptr;
  PyGetSetDef* properties = nullptr;
  destructor dealloc = nullptr;
  size_t size = 0;
  int (*get_buffer)(PyObject*, Py_buffer*, int) = nullptr;
};

// Makes a type, sets *type to it, and adds it to the module under the last part
// of its name. Returns false, with an exception set, if that fails.
bool AddType(PyObject* module, const ClassParts& parts, PyTypeObject** type);

// Makes and adds the type of Class<H>.
template <Owned H>
bool AddClass(PyObject* module, ClassParts parts) {
  if (parts.dealloc == nullptr) parts.dealloc = Dealloc<H>;
  if (parts.size == 0) parts.size = sizeof(Handle<H>);
  return AddType(module, parts, &Class<H>::type);
}

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_METHOD_H_
