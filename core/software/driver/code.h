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

// The code of a loaded image. The code of a module belongs to one context. The
// code of a CUlibrary has a copy for each context that uses it, with variables
// of its own, as in CUDA. The variables of a copy are in the memory map as long
// as the copy exists. Thread-safe.
class Code {
 public:
  // Makes the code of `image`. `owner` is the context of a module; null for a
  // library. `memory` must outlive the code.
  Code(std::unique_ptr<Executable> image, const Context* owner,
       MemoryMap& memory);
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  // The image, for queries whose result is the same for all copies.
  const Executable& image() const { return *image_; }

  // Returns true unless this is the code of a module of another context.
  bool UsableIn(const Context& context) const {
    return owner_ == 0 || owner_ == context.id();
  }

  // Returns the module's code, or the library's copy for `context`, which the
  // first call makes. Returns null if there is no memory for the variables of
  // the copy.
  std::shared_ptr<Executable> For(const Context& context);

  // Drops the copy for a context that ends. REQUIRES: no kernel of the copy is
  // running.
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
