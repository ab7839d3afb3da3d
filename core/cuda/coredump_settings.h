// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_COREDUMP_SETTINGS_H_
#define HOLDFAST_CORE_CUDA_COREDUMP_SETTINGS_H_

#include <cstddef>
#include <string>

#include "cuda.h"

namespace holdfast::cuda {

// The attributes of core dumps of the process (cuCoredumpSetAttributeGlobal) or
// of one context (cuCoredumpSetAttribute). For drivers that write no dumps:
// they keep the attributes, so that programs that set them run, and refuse to
// switch dumps on. The class is a plain value.
class CoredumpSettings {
 public:
  // Sets an attribute. CUDA_ERROR_INVALID_VALUE: there is no such attribute, a
  // pointer is null, `*size` is not the size of the value, or a text has more
  // than kMaxText bytes. CUDA_ERROR_NOT_SUPPORTED: the value switches dumps on.
  CUresult Set(CUcoredumpSettings attribute, const void* value,
               const size_t* size);
  // Writes the value of an attribute to `value`. If `value` is null, sets
  // `*size` to the bytes that the value may have. CUDA_ERROR_INVALID_VALUE:
  // there is no such attribute, `size` is null, `*size` is not the size of the
  // value, or a text and the zero behind it have more than `*size` bytes.
  CUresult Get(CUcoredumpSettings attribute, void* value, size_t* size) const;

  // Returns false for an attribute that only the process has.
  static bool IsOfContext(CUcoredumpSettings attribute);

  static constexpr size_t kMaxText = 1023;

 private:
  bool triggers_host_ = true;
  bool is_lightweight_ = false;
  unsigned generation_flags_ = 0;
  std::string file_;
  std::string pipe_;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_COREDUMP_SETTINGS_H_
