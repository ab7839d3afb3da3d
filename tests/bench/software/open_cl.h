// SPDX-License-Identifier: Apache-2.0
//
// Runs the same kernels in OpenCL C (kernels.cl) by the machine's OpenCL for
// its CPU, usually PoCL. The library is opened at run time; without it, nothing
// runs.
#ifndef HOLDFAST_TESTS_BENCH_SOFTWARE_OPEN_CL_H_
#define HOLDFAST_TESTS_BENCH_SOFTWARE_OPEN_CL_H_

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace holdfast::bench {

class OpenClKernel {
 public:
  // A kernel of kernels.cl; compiled when it first runs.
  explicit OpenClKernel(std::string name) : name_(std::move(name)) {}
  OpenClKernel(const OpenClKernel&) = delete;
  OpenClKernel& operator=(const OpenClKernel&) = delete;

  // Run starts the kernel and waits for its end; Enqueue does not wait.
  // `threads` is the number of all threads and `group` that of a group, by x
  // and y; y = 0: one dimension. The device uses the memory of vectors, which
  // must not move; other arguments are copied. Returns false without OpenCL. A
  // failure ends the process with a message.
  using Extent = std::array<size_t, 2>;
  template <typename... Args>
  bool Run(Extent threads, Extent group, const Args&... args) {
    if (!Enqueue(threads, group, args...)) return false;
    Finish();
    return true;
  }
  template <typename... Args>
  bool Enqueue(Extent threads, Extent group, const Args&... args) {
    if (!Prepare()) return false;
    unsigned index = 0;
    (Set(index++, args), ...);
    Start(threads, group);
    return true;
  }
  static void Finish();

 private:
  template <typename T>
  void Set(unsigned index, const std::vector<T>& data) {
    SetBuffer(index, const_cast<T*>(data.data()), data.size() * sizeof(T));
  }
  template <typename T>
  std::enable_if_t<std::is_arithmetic_v<T>> Set(unsigned index, T value) {
    SetValue(index, &value, sizeof(T));
  }
  bool Prepare();
  void SetBuffer(unsigned index, void* data, size_t bytes);
  void SetValue(unsigned index, const void* value, size_t bytes);
  void Start(Extent threads, Extent group);

  const std::string name_;
  void* kernel_ = nullptr;
};

// The device's name, for the table; empty if there is none.
std::string OpenClName();

}  // namespace holdfast::bench

#endif  // HOLDFAST_TESTS_BENCH_SOFTWARE_OPEN_CL_H_
