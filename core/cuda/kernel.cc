// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/kernel.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::cuda {
namespace {

struct NamedAttribute {
  absl::string_view name;
  CUfunction_attribute attribute;
  bool settable;
};

// Every CUfunction_attribute; those that CUDA lets a program set are marked.
constexpr NamedAttribute kAttributes[] = {
    {"max_threads_per_block", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, false},
    {"shared_size_bytes", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, false},
    {"const_size_bytes", CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, false},
    {"local_size_bytes", CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, false},
    {"num_regs", CU_FUNC_ATTRIBUTE_NUM_REGS, false},
    {"ptx_version", CU_FUNC_ATTRIBUTE_PTX_VERSION, false},
    {"binary_version", CU_FUNC_ATTRIBUTE_BINARY_VERSION, false},
    {"cache_mode_ca", CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, false},
    {"max_dynamic_shared_size_bytes",
     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, true},
    {"preferred_shared_memory_carveout",
     CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, true},
    {"cluster_size_must_be_set", CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET,
     false},
    {"required_cluster_width", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, true},
    {"required_cluster_height", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
     true},
    {"required_cluster_depth", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, true},
    {"non_portable_cluster_size_allowed",
     CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, true},
    {"cluster_scheduling_policy_preference",
     CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, true},
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Kernel>> Kernel::Find(
    std::shared_ptr<const Module> module, absl::string_view name) {
  HOLDFAST_ASSIGN_OR_RETURN(CUkernel handle, module->FindKernel(name));
  auto context = module->shared_context();
  return Make(std::shared_ptr<Kernel>(
      new Kernel(std::move(module), std::move(context), name, handle)));
}

absl::StatusOr<std::shared_ptr<const Kernel>> Kernel::On(
    std::shared_ptr<const Context> context) const {
  return Make(std::shared_ptr<Kernel>(
      new Kernel(module_, std::move(context), name_, handle_)));
}

absl::StatusOr<std::shared_ptr<const Kernel>> Kernel::Make(
    std::shared_ptr<Kernel> kernel) {
  HOLDFAST_RETURN_IF_ERROR(kernel->ReadParameters());
  HOLDFAST_RETURN_IF_ERROR(kernel->ReadLimits());
  return kernel;
}

absl::Status Kernel::ReadParameters() {
  const DriverApi& api = context().api();
  // libcuda loads a library's code into the current context on first use.
  ScopedContext current(context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_REQUIRE(api, cuKernelGetParamInfo);
  for (;;) {
    Parameter parameter;
    const CUresult result = api.cuKernelGetParamInfo(
        handle_, parameters_.size(), &parameter.offset, &parameter.size);
    if (result == CUDA_ERROR_INVALID_VALUE) return absl::OkStatus();  // Past.
    HOLDFAST_RETURN_IF_ERROR(ToStatus(result, "cuKernelGetParamInfo"));
    parameters_.push_back(parameter);
  }
}

absl::Status Kernel::ReadLimits() {
  HOLDFAST_ASSIGN_OR_RETURN(const int threads,
                            Attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  HOLDFAST_ASSIGN_OR_RETURN(const int shared,
                            Attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  HOLDFAST_ASSIGN_OR_RETURN(
      const int dynamic,
      Attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  max_threads_per_block_ = static_cast<uint32_t>(threads);
  static_shared_bytes_ = static_cast<uint32_t>(shared);
  dynamic_shared_limit_ = static_cast<uint32_t>(dynamic);
  return absl::OkStatus();
}

absl::StatusOr<int> Kernel::Attribute(CUfunction_attribute attribute) const {
  ScopedContext current(context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  int value = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      context().api(), cuKernelGetAttribute(&value, attribute, handle_,
                                            context().device().handle()));
  return value;
}

absl::Status Kernel::SetAttribute(absl::string_view name, int value) const {
  for (const NamedAttribute& named : kAttributes) {
    if (named.name != name) continue;
    if (!named.settable) {
      return absl::InvalidArgumentError(
          absl::StrCat("kernel attribute \"", name, "\" cannot be set"));
    }
    return SetAttribute(named.attribute, value);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" is not a kernel attribute"));
}

absl::Status Kernel::SetAttribute(CUfunction_attribute attribute,
                                  int value) const {
  ScopedContext current(context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      context().api(), cuKernelSetAttribute(attribute, value, handle_,
                                            context().device().handle()));
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    dynamic_shared_limit_ = static_cast<uint32_t>(value);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::pair<std::string, int>>> Kernel::Attributes()
    const {
  std::vector<std::pair<std::string, int>> attributes;
  for (const NamedAttribute& named : kAttributes) {
    const absl::StatusOr<int> value = Attribute(named.attribute);
    if (!value.ok()) continue;  // Younger than this driver.
    attributes.emplace_back(std::string(named.name), *value);
  }
  return attributes;
}

absl::Status Kernel::EnsureDynamicShared(uint32_t bytes) const {
  if (bytes <= dynamic_shared_limit_) return absl::OkStatus();
  const uint64_t limit = context().limits().shared_bytes_per_block_optin;
  if (uint64_t{bytes} + static_shared_bytes_ > limit) {
    return absl::OutOfRangeError(absl::StrCat(
        "kernel ", name_, " needs ", bytes, " bytes of dynamic and ",
        static_shared_bytes_,
        " bytes of static shared memory; the limit of "
        "device ",
        context().device().ordinal(), " is ", limit, " bytes a block"));
  }
  return SetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                      static_cast<int>(bytes));
}

absl::StatusOr<int> Kernel::MaxActiveBlocksPerMultiprocessor(
    uint32_t threads, size_t dynamic_shared_bytes) const {
  ScopedContext current(context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  int blocks = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      context().api(), cuOccupancyMaxActiveBlocksPerMultiprocessor(
                           &blocks, reinterpret_cast<CUfunction>(handle_),
                           static_cast<int>(threads), dynamic_shared_bytes));
  return blocks;
}

}  // namespace holdfast::cuda
