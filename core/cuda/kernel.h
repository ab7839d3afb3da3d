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

// One kernel of a module as one device has it, looked up once, with all that a
// launch there is checked against. Thread-safe.
//
// A module's kernel is looked up once and then launched any number of times, by
// any thread; see launch.h.
class Kernel {
 public:
  // Bytes, within the kernel's parameter block. Offsets are those that the
  // compiler chose, with its alignment.
  struct Parameter {
    size_t offset = 0;
    size_t size = 0;
  };

  // On the device of the module's context. NOT_FOUND: no kernel of that
  // (mangled) name. UNIMPLEMENTED: a driver before 12.4 does not tell
  // parameters, and nothing is launched unchecked. Loads the module's code on
  // the device, if it is the first use there.
  static absl::StatusOr<std::shared_ptr<const Kernel>> Find(
      std::shared_ptr<const Module> module, absl::string_view name);

  // The same kernel on the device of another context.
  absl::StatusOr<std::shared_ptr<const Kernel>> On(
      std::shared_ptr<const Context> context) const;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // As in the image, i.e. mangled.
  const std::string& name() const { return name_; }
  CUkernel handle() const { return handle_; }
  const Module& module() const { return *module_; }
  // The context that launches use; the stream of a launch has to be of it.
  const Context& context() const { return *context_; }
  // In the order of the kernel's declaration.
  const std::vector<Parameter>& parameters() const { return parameters_; }

  // Read when the kernel was found. With the registers that the kernel needs,
  // hence often less than the device's.
  uint32_t max_threads_per_block() const { return max_threads_per_block_; }
  // Bytes a block, in addition to dynamic shared memory.
  uint32_t static_shared_bytes() const { return static_shared_bytes_; }

  // cuKernelGetAttribute, cuKernelSetAttribute. They hold for this device, and
  // for every user of the kernel in this process.
  absl::StatusOr<int> Attribute(CUfunction_attribute attribute) const;
  absl::Status SetAttribute(CUfunction_attribute attribute, int value) const;

  // The same by name, as in Attributes. INVALID_ARGUMENT: not an attribute, or
  // not one that can be set. Names are those of cuda.core and
  // CUfunction_attribute in lower case.
  absl::Status SetAttribute(absl::string_view name, int value) const;

  // Every attribute that the driver knows, by its name in lower case without
  // the prefix: "num_regs". Attributes that the driver does not know are left
  // out.
  absl::StatusOr<std::vector<std::pair<std::string, int>>> Attributes() const;

  // Makes launches with this much dynamic shared memory possible
  // (MAX_DYNAMIC_SHARED_SIZE_BYTES); no effect if they are already.
  // OUT_OF_RANGE names the device's limit.
  absl::Status EnsureDynamicShared(uint32_t bytes) const;

  // cuOccupancyMaxActiveBlocksPerMultiprocessor. Blocks of so many threads that
  // fit on one multiprocessor at a time; 0 if not even one does.
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
