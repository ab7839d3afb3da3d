// SPDX-License-Identifier: Apache-2.0
#include "core/compile/nvvm_api.h"

#include "core/base/status_macros.h"

namespace holdfast::compile {
namespace {

absl::Status Fill(void* library, NvvmApi* api) {
#define HOLDFAST_NVVM_SYMBOL(name) \
  HOLDFAST_RETURN_IF_ERROR(        \
      FindSymbol(library, #name, reinterpret_cast<void**>(&api->name)));
#include "core/compile/nvvm_symbols.inc"
  int debug_major = 0;
  int debug_minor = 0;
  if (api->nvvmVersion(&api->major, &api->minor) != NVVM_SUCCESS ||
      api->nvvmIRVersion(&api->ir_major, &api->ir_minor, &debug_major,
                         &debug_minor) != NVVM_SUCCESS) {
    return absl::UnavailableError("does not tell its version");
  }
  api->path = FileOf(reinterpret_cast<const void*>(api->nvvmVersion));
  api->libdevice = FindLibdevice(api->path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<const NvvmApi>> LoadNvvm(
    const ToolkitOptions& options) {
  auto api = std::make_unique<NvvmApi>();
  HOLDFAST_RETURN_IF_ERROR(OpenLibrary(
      options, "libNVVM, the compiler of NVVM IR,", {"libnvvm.so.4"},
      [&](void* library) { return Fill(library, api.get()); }));
  return api;
}

}  // namespace holdfast::compile
