// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/module.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/cuda/image.h"
#include "core/cuda/kernel_names.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::cuda {
namespace {

constexpr size_t kLogBytes = 64 * 1024;

// The driver's JIT compiler writes into two buffers of ours.
class JitLog {
 public:
  absl::Span<CUjit_option> options() { return absl::MakeSpan(options_); }
  void** values() { return values_.data(); }

  std::string errors() const { return errors_.c_str(); }
  std::string infos() const { return infos_.c_str(); }

 private:
  static void* Number(size_t value) {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(value));
  }

  std::string errors_ = std::string(kLogBytes, '\0');
  std::string infos_ = std::string(kLogBytes, '\0');
  std::array<CUjit_option, 4> options_ = {
      CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
      CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 4> values_ = {errors_.data(), Number(kLogBytes),
                                  infos_.data(), Number(kLogBytes)};
};

// Loads the image, and compiles it now if it is PTX. A GPU's driver would
// compile it at the first use, and would write to the log then.
CUresult LoadLibrary(const Context& context, ImageFormat format,
                     const std::string& image, JitLog& log, CUlibrary* handle) {
  const DriverApi& api = context.api();
  CUresult result = api.cuLibraryLoadData(
      handle, image.c_str(), log.options().data(), log.values(),
      static_cast<unsigned>(log.options().size()), nullptr, nullptr, 0);
  if (result != CUDA_SUCCESS || format != ImageFormat::kPtx ||
      api.cuLibraryGetModule == nullptr) {
    return result;
  }
  CUmodule module = nullptr;
  result = api.cuLibraryGetModule(&module, *handle);
  if (result != CUDA_SUCCESS) {
    LogIfFailed(api.cuLibraryUnload(*handle), "cuLibraryUnload");
  }
  return result;
}

absl::Status LoadStatus(CUresult result, const JitLog& log) {
  absl::Status status = ToStatus(result, "cuLibraryLoadData");
  if (status.ok()) return status;
  ErrorDetail detail = *GetErrorDetail(status);
  detail.log = log.errors();
  SetErrorDetail(detail, &status);
  return status;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Module>> Module::Load(
    std::shared_ptr<const Context> context, absl::string_view image) {
  HOLDFAST_ASSIGN_OR_RETURN(const ImageFormat format, CheckImage(image));
  ScopedContext current(*context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  // PTX must end with a zero byte; one too many harms no other format.
  const std::string terminated(image);
  JitLog log;
  CUlibrary handle = nullptr;
  HOLDFAST_RETURN_IF_ERROR(
      LoadStatus(LoadLibrary(*context, format, terminated, log, &handle), log));
  return std::shared_ptr<const Module>(
      new Module(std::move(context), handle, log.infos()));
}

Module::~Module() {
  ScopedContext current(*context_);
  LogIfFailed(context_->api().cuLibraryUnload(handle_), "cuLibraryUnload");
}

absl::StatusOr<std::vector<std::string>> Module::KernelNames() const {
  const DriverApi& api = context_->api();
  HOLDFAST_CUDA_REQUIRE(api, cuLibraryGetKernelCount);
  HOLDFAST_CUDA_REQUIRE(api, cuLibraryEnumerateKernels);
  HOLDFAST_CUDA_REQUIRE(api, cuKernelGetName);
  unsigned count = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuLibraryGetKernelCount(&count, handle_));
  std::vector<CUkernel> kernels(count);
  if (count > 0) {
    HOLDFAST_CUDA_RETURN_IF_ERROR(
        api, cuLibraryEnumerateKernels(kernels.data(), count, handle_));
  }
  std::vector<std::string> names;
  for (const CUkernel kernel : kernels) {
    const char* name = nullptr;
    HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuKernelGetName(&name, kernel));
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<CUkernel> Module::FindKernel(absl::string_view name) const {
  CUkernel kernel = nullptr;
  const CUresult result = context_->api().cuLibraryGetKernel(
      &kernel, handle_, std::string(name).c_str());
  if (result == CUDA_ERROR_NOT_FOUND) {
    const absl::StatusOr<std::vector<std::string>> names = KernelNames();
    return absl::NotFoundError(
        absl::StrCat("no kernel is named \"", name, "\"",
                     names.ok() ? DescribeKernels(name, *names) : ""));
  }
  HOLDFAST_RETURN_IF_ERROR(ToStatus(result, "cuLibraryGetKernel"));
  return kernel;
}

absl::StatusOr<Module::Global> Module::FindGlobal(
    absl::string_view name, const Context& context) const {
  ScopedContext current(context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  Global global;
  const CUresult result = context_->api().cuLibraryGetGlobal(
      &global.address, &global.size, handle_, std::string(name).c_str());
  if (result == CUDA_ERROR_NOT_FOUND) {
    return absl::NotFoundError(
        absl::StrCat("the module has no variable named \"", name, "\""));
  }
  HOLDFAST_RETURN_IF_ERROR(ToStatus(result, "cuLibraryGetGlobal"));
  return global;
}

}  // namespace holdfast::cuda
