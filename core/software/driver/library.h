// SPDX-License-Identifier: Apache-2.0
//
// Images that an application has loaded, and their kernels.
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

// The object behind a CUkernel or CUfunction. The kernel and its launches keep
// the library's code alive. Thread-safe.
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
  // its own. CUDA_ERROR_INVALID_VALUE: the attribute is unknown; for
  // SetAttribute, the attribute is read-only, or `value` is out of its limits.
  CUresult GetAttribute(CUfunction_attribute attribute, CUdevice device,
                        int* value) const;
  CUresult SetAttribute(CUfunction_attribute attribute, CUdevice device,
                        int value);
  // The limit of a launch's dynamic shared memory, in bytes. At first, it is
  // the default limit of a block, less the static shared memory.
  int max_dynamic_shared(CUdevice device) const {
    return settings_[device].max_dynamic_shared;
  }

  // Sets *cluster to the width, height and depth, in blocks, of the cluster
  // that each launch must have; zeros: the launch chooses.
  void GetRequiredCluster(CUdevice device, uint32_t (*cluster)[3]) const;
  // True if the kernel may have clusters of a non-portable size: of more blocks
  // than CUDA guarantees on all devices with clusters.
  bool allows_large_clusters(CUdevice device) const {
    return settings_[device].large_clusters;
  }

  // Returns the number of blocks that fit one multiprocessor of the device at a
  // time, for blocks of `threads` threads and `dynamic_shared` bytes. 0: no
  // block fits, or one of the numbers is over a limit of the kernel.
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

  // Sets the cluster's size on one axis: 0 is the width, 2 the depth.
  // CUDA_ERROR_INVALID_VALUE: `blocks` is negative, or differs from the size
  // that the PTX text requires.
  CUresult RequireCluster(CUdevice device, int axis, int blocks);

  const std::shared_ptr<Code> code_;
  const size_t index_;
  std::array<DeviceSettings, kMaxDevices> settings_;  // by ordinal
};

// The object behind a CUlibrary or CUmodule: one loaded image. Thread-safe once
// its kernels have their handles.
class Library {
 public:
  // `context` is the module's context; null for a CUlibrary, which no context
  // owns. The kernels have no handles yet; see CodeTable.
  Library(std::unique_ptr<Executable> executable, const Context* context,
          MemoryMap& memory);
  // Makes a CUlibrary of an image that the driver cannot read. Calls about the
  // content of the library fail with `refusal`.
  Library(CUresult refusal, std::string reason)
      : context_id_(0), refusal_(refusal), reason_(std::move(reason)) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  uint64_t context_id() const { return context_id_; }  // 0: a CUlibrary
  // The error of calls about the content; CUDA_SUCCESS: the image was read.
  // FindGlobal requires CUDA_SUCCESS.
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

  // Returns the kernel of this name; null if there is none. The result is valid
  // as long as the library.
  const Entry* FindKernel(absl::string_view name) const;
  // Finds a variable: the variable of a module, or the copy of a CUlibrary's
  // variable for `context`, which is made if it does not exist.
  // CUDA_ERROR_NOT_FOUND: there is no such variable. CUDA_ERROR_OUT_OF_MEMORY:
  // there is no memory for the copy.
  CUresult FindGlobal(absl::string_view name, const Context& context,
                      GlobalVariable* variable) const;
  // Drops a CUlibrary's copy of the variables for a context that ends. Does
  // nothing for a module, because the caller destroys the modules of the
  // context. REQUIRES: no kernel of the copy runs.
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
