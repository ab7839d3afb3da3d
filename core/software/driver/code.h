// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_CODE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_CODE_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/context.h"
#include "core/software/driver/memory_map.h"
#include "core/software/runtime/executable.h"

namespace holdfast::software {

// The code of a loaded image. A module's belongs to one context; a CUlibrary's
// has a copy of its variables for each context that uses it, as in CUDA. The
// variables are in the memory map while their copy lives. Thread-safe.
class Code {
 public:
  // `owner` is a module's context; null for a library. `memory` must outlive
  // the code.
  Code(std::unique_ptr<Executable> image, const Context* owner,
       MemoryMap& memory);
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  // For what is the same in all copies.
  const Executable& image() const { return *image_; }

  // False for a module of another context.
  bool UsableIn(const Context& context) const {
    return owner_ == 0 || owner_ == context.id();
  }

  // The module's code, or the library's copy for `context`, made at the first
  // call. Null if there is no memory for its variables.
  std::shared_ptr<Executable> For(const Context& context);

  // Drops the copy of a context that ends; nothing of it may run any more.
  void EndContext(uint64_t context_id);

 private:
  void Publish(const Executable& copy, CUdevice device);
  void Withdraw(const Executable& copy);

  const std::shared_ptr<Executable> image_;
  const uint64_t owner_;  // id of a module's context; 0: a library
  MemoryMap& memory_;
  Mutex mutex_;
  bool image_used_ ABSL_GUARDED_BY(mutex_) = false;  // as a context's copy
  std::map<uint64_t, std::shared_ptr<Executable>> copies_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_CODE_H_
