// SPDX-License-Identifier: Apache-2.0
#include "core/compile/nvjitlink_api.h"

#include "core/base/status_macros.h"

namespace holdfast::compile {
namespace {

absl::Status Fill(void* library, NvJitLinkApi* api) {
#define HOLDFAST_NVJITLINK_SYMBOL(name) \
  HOLDFAST_RETURN_IF_ERROR(             \
      FindSymbol(library, #name, reinterpret_cast<void**>(&api->name)));
#include "core/compile/nvjitlink_symbols.inc"
  if (api->nvJitLinkVersion(&api->major, &api->minor) != NVJITLINK_SUCCESS) {
    return absl::UnavailableError("does not tell its version");
  }
  api->path = FileOf(reinterpret_cast<const void*>(api->nvJitLinkVersion));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<const NvJitLinkApi>> LoadNvJitLink(
    const ToolkitOptions& options) {
  auto api = std::make_unique<NvJitLinkApi>();
  HOLDFAST_RETURN_IF_ERROR(
      OpenLibrary(options, "nvJitLink, the CUDA linker,",
                  {"libnvJitLink.so.13", "libnvJitLink.so.12"},
                  [&](void* library) { return Fill(library, api.get()); }));
  return api;
}

}  // namespace holdfast::compile
