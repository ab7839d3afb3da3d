// SPDX-License-Identifier: Apache-2.0
//
// Helpers for tests of threads that share memory: PTX templates, and device
// memory for their kernels.
#ifndef HOLDFAST_TESTS_CONFORMANCE_DRIVER_SHARED_WORDS_H_
#define HOLDFAST_TESTS_CONFORMANCE_DRIVER_SHARED_WORDS_H_

#include <string>
#include <vector>

#include "tests/conformance/driver/api.h"

namespace holdfast::conformance {

inline std::string Replaced(std::string text, const std::string& from,
                            const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
  return text;
}

// Loads the PTX and returns its kernel `name`. The caller unloads `*module`.
// If loading fails, fails the test and returns null.
inline CUfunction LoadKernel(const std::string& ptx, const char* name,
                             CUmodule* module) {
  CUfunction function = nullptr;
  EXPECT_OK(Cuda().cuModuleLoadData(module, ptx.c_str()));
  if (*module != nullptr) {
    EXPECT_OK(Cuda().cuModuleGetFunction(&function, *module, name));
  }
  return function;
}

// Owns 32-bit words of device memory, which are zero at first.
class Zeros {
 public:
  explicit Zeros(size_t words) : words_(words) {
    EXPECT_OK(Cuda().cuMemAlloc_v2(&address_, words * 4));
    Clear();
  }
  ~Zeros() { Cuda().cuMemFree_v2(address_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;

  void Clear() { EXPECT_OK(Cuda().cuMemsetD8_v2(address_, 0, words_ * 4)); }
  std::vector<unsigned> Read() const {
    std::vector<unsigned> words(words_);
    EXPECT_OK(Cuda().cuMemcpyDtoH_v2(words.data(), address_, words_ * 4));
    return words;
  }
  CUdeviceptr* argument() { return &address_; }

 private:
  const size_t words_;
  CUdeviceptr address_ = 0;
};

}  // namespace holdfast::conformance

#endif  // HOLDFAST_TESTS_CONFORMANCE_DRIVER_SHARED_WORDS_H_
