// SPDX-License-Identifier: Apache-2.0
#include "core/compile/nvrtc_api.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast::compile {
namespace {

// NVRTC opens the library of its built-in functions by name alone. Beside it is
// nowhere that the dynamic linker looks (pip's packages, another $CUDA_HOME),
// but what is open already is found by its name.
void OpenBuiltins(const NvrtcApi& api) {
  const std::string folder = api.path.substr(0, api.path.rfind('/'));
  (void)dlopen(
      absl::StrCat(folder, "/libnvrtc-builtins.so.", api.major, ".", api.minor)
          .c_str(),
      RTLD_NOW | RTLD_LOCAL);
}

absl::Status Fill(const ToolkitOptions& options, void* library, NvrtcApi* api) {
#define HOLDFAST_NVRTC_SYMBOL(name) \
  HOLDFAST_RETURN_IF_ERROR(         \
      FindSymbol(library, #name, reinterpret_cast<void**>(&api->name)));
#include "core/compile/nvrtc_symbols.inc"
  if (api->nvrtcVersion(&api->major, &api->minor) != NVRTC_SUCCESS) {
    return absl::UnavailableError("does not tell its version");
  }
  api->path = FileOf(reinterpret_cast<const void*>(api->nvrtcVersion));
  api->include_directories = FindHeaders(options, api->path);
  OpenBuiltins(*api);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<const NvrtcApi>> LoadNvrtc(
    const ToolkitOptions& options) {
  auto api = std::make_unique<NvrtcApi>();
  HOLDFAST_RETURN_IF_ERROR(OpenLibrary(
      options, "NVRTC, the CUDA compiler,",
      {"libnvrtc.so.13", "libnvrtc.so.12"},
      [&](void* library) { return Fill(options, library, api.get()); }));
  return api;
}

}  // namespace holdfast::compile
