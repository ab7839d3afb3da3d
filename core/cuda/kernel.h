// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_KERNEL_H_
#define HOLDFAST_CORE_CUDA_KERNEL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cuda/module.h"
#include "cuda.h"

namespace holdfast::cuda {

// A kernel of a module on one device, with its limits for launches. Keeps its
// module and context alive. Thread-safe.
//
// Find a kernel once, and then launch it any number of times, from any thread;
// see launch.h.
class Kernel {
 public:
  // The place of a parameter in the kernel's parameter block, in bytes. The
  // compiler chooses the offsets, with its alignment.
  struct Parameter {
    size_t offset = 0;
    size_t size = 0;
  };

  // Finds the kernel on the device of the module's context. The first use of a
  // device loads the module's code there. NOT_FOUND: there is no kernel with
  // this (mangled) name. UNIMPLEMENTED: the driver is older than 12.4 and does
  // not report parameters; no launch is made unchecked.
  static absl::StatusOr<std::shared_ptr<const Kernel>> Find(
      std::shared_ptr<const Module> module, absl::string_view name);

  // Finds the same kernel on the device of another context. Fails as Find does.
  absl::StatusOr<std::shared_ptr<const Kernel>> On(
      std::shared_ptr<const Context> context) const;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // The mangled name in the image.
  const std::string& name() const { return name_; }
  CUkernel handle() const { return handle_; }
  const Module& module() const { return *module_; }
  // The context for launches. The stream of a launch must belong to this
  // context.
  const Context& context() const { return *context_; }
  // The parameters, in the order of the declaration.
  const std::vector<Parameter>& parameters() const { return parameters_; }

  // The maximum of the threads of a block, read when the kernel was found.
  // Often less than the device's limit, because of the kernel's registers.
  uint32_t max_threads_per_block() const { return max_threads_per_block_; }
  // Bytes of shared memory of each block, without dynamic shared memory.
  uint32_t static_shared_bytes() const { return static_shared_bytes_; }

  // Return or set an attribute of the kernel on this device:
  // cuKernelGetAttribute, cuKernelSetAttribute. The value that is set applies
  // to every user of the kernel in this process.
  absl::StatusOr<int> Attribute(CUfunction_attribute attribute) const;
  absl::Status SetAttribute(CUfunction_attribute attribute, int value) const;

  // Sets an attribute by its name in Attributes: the lower-case names of
  // cuda.core and CUfunction_attribute. INVALID_ARGUMENT: there is no such
  // attribute, or it cannot be set.
  absl::Status SetAttribute(absl::string_view name, int value) const;

  // Returns every attribute that the driver knows and its value. The names are
  // in lower case and without the prefix: "num_regs".
  absl::StatusOr<std::vector<std::pair<std::string, int>>> Attributes() const;

  // Allows launches with `bytes` of dynamic shared memory
  // (MAX_DYNAMIC_SHARED_SIZE_BYTES). No effect if they are allowed already.
  // OUT_OF_RANGE: the device's limit is less; the message names it.
  absl::Status EnsureDynamicShared(uint32_t bytes) const;

  // Returns the number of blocks of `threads` threads that run on one
  // multiprocessor at the same time; 0 if no block fits.
  // cuOccupancyMaxActiveBlocksPerMultiprocessor.
  absl::StatusOr<int> MaxActiveBlocksPerMultiprocessor(
      uint32_t threads, size_t dynamic_shared_bytes) const;

 private:
  Kernel(std::shared_ptr<const Module> module,
         std::shared_ptr<const Context> context, absl::string_view name,
         CUkernel handle)
      : module_(std::move(module)),
        context_(std::move(context)),
        name_(name),
        handle_(handle) {}
  static absl::StatusOr<std::shared_ptr<const Kernel>> Make(
      std::shared_ptr<Kernel> kernel);
  absl::Status ReadParameters();
  absl::Status ReadLimits();

  const std::shared_ptr<const Module> module_;
  const std::shared_ptr<const Context> context_;
  const std::string name_;
  const CUkernel handle_;
  std::vector<Parameter> parameters_;
  uint32_t max_threads_per_block_ = 0;
  uint32_t static_shared_bytes_ = 0;
  mutable std::atomic<uint32_t> dynamic_shared_limit_{0};
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_KERNEL_H_
