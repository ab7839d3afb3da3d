// SPDX-License-Identifier: Apache-2.0
#include "core/compile/nvrtc_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace holdfast::compile {
namespace {

constexpr absl::string_view kFiles[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

std::vector<std::string> Directories(const NvrtcOptions& options) {
  if (!options.cuda_home.empty()) {
    return {absl::StrCat(options.cuda_home, "/lib64/")};
  }
  std::vector<std::string> directories;
  const char* home = getenv("CUDA_HOME");
  if (home != nullptr && *home != '\0') {
    directories.push_back(absl::StrCat(home, "/lib64/"));
  }
  directories.push_back("");  // The dynamic linker's own search path.
  directories.push_back("/usr/local/cuda/lib64/");
  directories.push_back("/usr/local/cuda/targets/x86_64-linux/lib/");
  directories.push_back("/usr/lib/x86_64-linux-gnu/");
  return directories;
}

// The library's real file, all links followed.
std::string FileOf(const void* symbol) {
  Dl_info info;
  char path[PATH_MAX];
  if (dladdr(symbol, &info) == 0 || realpath(info.dli_fname, path) == nullptr) {
    return "";
  }
  return path;
}

bool IsDirectory(const std::string& path) {
  return access(absl::StrCat(path, "/.").c_str(), R_OK) == 0;
}

// The toolkit's headers lie at a fixed place beside its libraries, in one of
// two layouts.
std::vector<std::string> FindHeaders(const std::string& library) {
  const std::string folder = library.substr(0, library.rfind('/'));
  std::vector<std::string> found;
  for (const absl::string_view place :
       {"/../include", "/../../../include", "/../../include"}) {
    const std::string include = absl::StrCat(folder, place);
    if (access(absl::StrCat(include, "/cuda_fp16.h").c_str(), R_OK) != 0) {
      continue;
    }
    found.push_back(include);
    const std::string cccl = absl::StrCat(include, "/cccl");
    if (IsDirectory(cccl)) found.push_back(cccl);
    break;
  }
  return found;
}

absl::Status Fill(void* library, NvrtcApi* api) {
#define HOLDFAST_NVRTC_SYMBOL(name)                                         \
  api->name = reinterpret_cast<decltype(api->name)>(dlsym(library, #name)); \
  if (api->name == nullptr) {                                               \
    return absl::UnavailableError(absl::StrCat("has no call ", #name));     \
  }
#include "core/compile/nvrtc_symbols.inc"
  if (api->nvrtcVersion(&api->major, &api->minor) != NVRTC_SUCCESS) {
    return absl::UnavailableError("does not tell its version");
  }
  api->path = FileOf(reinterpret_cast<const void*>(api->nvrtcVersion));
  api->include_directories = FindHeaders(api->path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<const NvrtcApi>> LoadNvrtc(
    const NvrtcOptions& options) {
  std::vector<std::string> tried;
  for (const std::string& directory : Directories(options)) {
    for (const absl::string_view file : kFiles) {
      const std::string path = absl::StrCat(directory, file);
      void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) {
        tried.push_back(path);
        continue;
      }
      auto api = std::make_unique<NvrtcApi>();
      const absl::Status status = Fill(library, api.get());
      if (status.ok()) return api;
      tried.push_back(absl::StrCat(path, " (", status.message(), ")"));
    }
  }
  return absl::UnavailableError(
      absl::StrCat("NVRTC, the CUDA compiler, is not installed; tried ",
                   absl::StrJoin(tried, ", "),
                   ". Install the CUDA toolkit 12 or 13, or set CUDA_HOME"));
}

}  // namespace holdfast::compile
