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
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/software/driver/code.h"
#include "core/software/driver/settings.h"
#include "core/software/runtime/executable.h"
#include "cuda.h"

namespace holdfast::software {

class Library;

// The object behind a CUkernel or CUfunction. The kernel, and each launch of
// it, keeps the library's code alive. Thread-safe.
class Kernel {
 public:
  // `index` is the kernel's position in the image.
  Kernel(std::shared_ptr<Code> code, size_t index);

  // The properties that the compiler found: registers, shared memory,
  // parameters.
  const KernelProperties& properties() const {
    return code_->image().kernels()[index_];
  }
  Code& code() const { return *code_; }
  size_t index() const { return index_; }

  // Get or set CU_FUNC_ATTRIBUTE_... on one device; each device has settings of
  // its own. CUDA_ERROR_INVALID_VALUE: the attribute is unknown or, to set it,
  // is read-only or out of its limits.
  CUresult GetAttribute(CUfunction_attribute attribute, CUdevice device,
                        int* value) const;
  CUresult SetAttribute(CUfunction_attribute attribute, CUdevice device,
                        int value);
  // The limit of a launch's dynamic shared memory, in bytes. At first, it is
  // the default limit of a block, less the static shared memory.
  int max_dynamic_shared(CUdevice device) const {
    return settings_[device].max_dynamic_shared;
  }

  // The cluster that each launch has, in blocks; zeros: the launch decides.
  void GetRequiredCluster(CUdevice device, uint32_t (*cluster)[3]) const;
  // True if the kernel may have clusters of a non-portable size, which is more
  // blocks than every device with clusters offers.
  bool allows_large_clusters(CUdevice device) const {
    return settings_[device].large_clusters;
  }

  // Returns the number of blocks of this size that fit one multiprocessor of
  // the device at a time. 0: not even one fits, or the kernel may not have that
  // much dynamic shared memory.
  int BlocksPerMultiprocessor(CUdevice device, int threads,
                              size_t dynamic_shared) const;

 private:
  struct DeviceSettings {
    std::atomic<int> max_dynamic_shared{0};
    std::atomic<int> carveout{-1};
    // The cluster's width, height and depth if the kernel's text requires no
    // cluster size; 0: free.
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
  // `context` is the module's context; null for a CUlibrary, which no context
  // owns. The kernels have no handles yet; see CodeTable.
  Library(std::unique_ptr<Executable> executable, const Context* context,
          MemoryMap& memory);
  // A CUlibrary of an image that the driver cannot read. Calls about its
  // content fail with `refusal`.
  Library(CUresult refusal, std::string reason)
      : context_id_(0), refusal_(refusal), reason_(std::move(reason)) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  uint64_t context_id() const { return context_id_; }  // 0: a CUlibrary
  // CUDA_SUCCESS: the image was read. The calls below that look something up
  // require CUDA_SUCCESS.
  CUresult refusal() const { return refusal_; }
  const std::string& reason() const { return reason_; }
  // A kernel with its handle, which is both a CUkernel and a CUfunction.
  // kernels() has them in the order of the image.
  struct Entry {
    CUfunction handle = nullptr;
    std::shared_ptr<Kernel> kernel;
  };
  std::vector<Entry>& kernels() { return kernels_; }

  // Returns true if the handle belongs to one of the library's kernels.
  bool Owns(CUfunction handle) const;

  // Returns null if there is no such kernel. Valid as long as the library.
  const Entry* FindKernel(absl::string_view name) const;
  // Finds the variable of a module, or of a library's copy for `context`.
  // CUDA_ERROR_NOT_FOUND: there is no such variable. CUDA_ERROR_OUT_OF_MEMORY:
  // there is no memory for the copy.
  CUresult FindGlobal(absl::string_view name, const Context& context,
                      GlobalVariable* variable) const;
  // Drops the copy of a context that ends. Does nothing for a module, because
  // the caller destroys a context's modules as a whole.
  void EndContext(uint64_t context_id) {
    if (code_ != nullptr) code_->EndContext(context_id);
  }

 private:
  const std::shared_ptr<Code> code_;  // null: the image was not read
  const uint64_t context_id_;
  const CUresult refusal_ = CUDA_SUCCESS;
  const std::string reason_;  // of the refusal
  std::vector<Entry> kernels_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_LIBRARY_H_
