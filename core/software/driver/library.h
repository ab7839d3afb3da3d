// SPDX-License-Identifier: Apache-2.0
//
// Code that an application loaded, and its kernels.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_LIBRARY_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_LIBRARY_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/software/driver/memory_map.h"
#include "core/software/runtime/executable.h"
#include "cuda.h"

namespace holdfast::software {

class Library;

// What CUkernel and CUfunction stand for. Keeps its library's code alive, and
// so does every launch of it. Thread-safe.
class Kernel {
 public:
  Kernel(std::shared_ptr<Executable> executable, size_t index);

  const KernelProperties& properties() const {
    return executable_->kernels()[index_];
  }
  Executable& executable() const { return *executable_; }
  size_t index() const { return index_; }

  // CU_FUNC_ATTRIBUTE_...; CUDA_ERROR_INVALID_VALUE for one that is unknown,
  // read-only or out of its limits.
  CUresult GetAttribute(CUfunction_attribute attribute, int* value) const;
  CUresult SetAttribute(CUfunction_attribute attribute, int value);
  int max_dynamic_shared() const { return max_dynamic_shared_; }

  // Blocks of this shape that fit one multiprocessor at a time.
  int BlocksPerMultiprocessor(int threads, size_t dynamic_shared) const;

 private:
  const std::shared_ptr<Executable> executable_;
  const size_t index_;
  std::atomic<int> max_dynamic_shared_;
  std::atomic<int> carveout_{-1};
};

// One loaded image: CUlibrary and CUmodule. Its variables are in the memory
// map while it lives.
class Library {
 public:
  // `context_id` is 0 for a CUlibrary, which no context owns.
  Library(std::shared_ptr<Executable> executable, uint64_t context_id,
          MemoryMap& memory);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  uint64_t context_id() const { return context_id_; }
  // In the order of the image. The handle is CUkernel and CUfunction alike.
  struct Entry {
    CUfunction handle = nullptr;
    std::shared_ptr<Kernel> kernel;
  };
  std::vector<Entry>& kernels() { return kernels_; }

  bool Owns(CUfunction handle) const;

  // Null if there is no such name.
  const Entry* FindKernel(absl::string_view name) const;
  const GlobalVariable* FindGlobal(absl::string_view name) const;

 private:
  const std::shared_ptr<Executable> executable_;
  const uint64_t context_id_;
  MemoryMap& memory_;
  std::vector<Entry> kernels_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_LIBRARY_H_
