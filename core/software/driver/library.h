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
#include "core/software/driver/code.h"
#include "core/software/driver/settings.h"
#include "core/software/runtime/executable.h"
#include "cuda.h"

namespace holdfast::software {

class Library;

// The object behind a CUkernel or CUfunction. Keeps its library's code alive,
// and so does every launch of it. Thread-safe.
class Kernel {
 public:
  // `index` counts the image's kernels.
  Kernel(std::shared_ptr<Code> code, size_t index);

  // As the compiler found them: registers, shared memory, parameters.
  const KernelProperties& properties() const {
    return code_->image().kernels()[index_];
  }
  Code& code() const { return *code_; }
  size_t index() const { return index_; }

  // CU_FUNC_ATTRIBUTE_... on one device; CUDA_ERROR_INVALID_VALUE for one that
  // is unknown, read-only or out of its limits. Each device has settings of its
  // own.
  CUresult GetAttribute(CUfunction_attribute attribute, CUdevice device,
                        int* value) const;
  CUresult SetAttribute(CUfunction_attribute attribute, CUdevice device,
                        int value);
  // Bytes. At first those of a device without opting in, less the static ones.
  int max_dynamic_shared(CUdevice device) const {
    return settings_[device].max_dynamic_shared;
  }

  // The cluster that each launch has, in blocks; zeros: the launch decides.
  void GetRequiredCluster(CUdevice device, uint32_t (*cluster)[3]) const;
  // It may have clusters of more blocks than every device with clusters offers.
  bool allows_large_clusters(CUdevice device) const {
    return settings_[device].large_clusters;
  }

  // Blocks of this shape that fit one multiprocessor at a time. 0: it does not
  // fit at all.
  int BlocksPerMultiprocessor(int threads, size_t dynamic_shared) const;

 private:
  struct DeviceSettings {
    std::atomic<int> max_dynamic_shared{0};
    std::atomic<int> carveout{-1};
    // For a kernel whose text requires no size: width, height, depth; 0: free.
    std::atomic<uint32_t> cluster[3] = {0, 0, 0};
    std::atomic<bool> large_clusters{false};
    std::atomic<int> cluster_policy{CU_CLUSTER_SCHEDULING_POLICY_DEFAULT};
  };

  CUresult RequireCluster(CUdevice device, int axis, int blocks);

  const std::shared_ptr<Code> code_;
  const size_t index_;
  std::array<DeviceSettings, kMaxDevices> settings_;  // by ordinal
};

// One loaded image: CUlibrary and CUmodule. Thread-safe once its kernels have
// their handles.
class Library {
 public:
  // `context` is the module's; null for a CUlibrary, which no context owns. Its
  // kernels have no handles yet; see Driver::PublishKernels.
  Library(std::unique_ptr<Executable> executable, const Context* context,
          MemoryMap& memory);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  uint64_t context_id() const { return context_id_; }  // 0: a CUlibrary
  // In the order of the image. The handle is CUkernel and CUfunction alike.
  struct Entry {
    CUfunction handle = nullptr;
    std::shared_ptr<Kernel> kernel;
  };
  std::vector<Entry>& kernels() { return kernels_; }

  // The handle is one of its kernels'.
  bool Owns(CUfunction handle) const;

  // Null if there is no such name. Valid as long as the library.
  const Entry* FindKernel(absl::string_view name) const;
  // The variable of a module, or of a library's copy for `context`:
  // CUDA_ERROR_NOT_FOUND, CUDA_ERROR_OUT_OF_MEMORY.
  CUresult FindGlobal(absl::string_view name, const Context& context,
                      GlobalVariable* variable) const;
  // Drops the copy of a context that ends. Does nothing for a module of that
  // context, which goes as a whole.
  void EndContext(uint64_t context_id) { code_->EndContext(context_id); }

 private:
  const std::shared_ptr<Code> code_;
  const uint64_t context_id_;
  std::vector<Entry> kernels_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_LIBRARY_H_
