// SPDX-License-Identifier: Apache-2.0
#include "core/compile/toolkit.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace holdfast::compile {
namespace {

// Below the toolkit's root; libNVVM has a place of its own. Python packages of
// the toolkit have lib.
constexpr absl::string_view kLibraries[] = {
    "/lib64/", "/nvvm/lib64/", "/targets/x86_64-linux/lib/", "/lib/"};

void AddRoot(absl::string_view root, std::vector<std::string>* directories) {
  for (const absl::string_view place : kLibraries) {
    directories->push_back(absl::StrCat(root, place));
  }
}

std::vector<std::string> Directories(const ToolkitOptions& options) {
  std::vector<std::string> directories;
  if (!options.cuda_home.empty()) {
    AddRoot(options.cuda_home, &directories);
    return directories;
  }
  const char* home = getenv("CUDA_HOME");
  if (home != nullptr && *home != '\0') AddRoot(home, &directories);
  directories.push_back("");  // The dynamic linker's own search path.
  AddRoot("/usr/local/cuda", &directories);
  directories.push_back("/usr/lib/x86_64-linux-gnu/");
  return directories;
}

// CCCL below the headers' folder, or beside it as a package of its own.
constexpr absl::string_view kCccl[] = {"/cccl", "/../../cuda_cccl/include"};

bool IsReadable(const std::string& path) {
  return access(path.c_str(), R_OK) == 0;
}

// All links followed, no dots left; empty if there is no such file.
std::string RealPath(const std::string& path) {
  char real[PATH_MAX];
  return realpath(path.c_str(), real) == nullptr ? "" : real;
}

std::string FolderOf(const std::string& file) {
  return file.substr(0, file.rfind('/'));
}

// Beside the library: of NVIDIA's and PyPI's layout, of Debian's, of conda's,
// of PyPI's packages for CUDA 12; then in the toolkit that is named, whose
// libraries may be links to elsewhere.
std::vector<std::string> HeaderPlaces(const ToolkitOptions& options,
                                      const std::string& library) {
  std::vector<std::string> places;
  for (const absl::string_view place :
       {"/../include", "/../../../include", "/../../include",
        "/../targets/x86_64-linux/include", "/../../cuda_runtime/include"}) {
    places.push_back(absl::StrCat(FolderOf(library), place));
  }
  std::string home = options.cuda_home;
  if (const char* set = getenv("CUDA_HOME"); home.empty() && set != nullptr) {
    home = set;
  }
  if (home.empty()) return places;
  places.push_back(absl::StrCat(home, "/include"));
  places.push_back(absl::StrCat(home, "/targets/x86_64-linux/include"));
  return places;
}

}  // namespace

absl::Status OpenLibrary(const ToolkitOptions& options, absl::string_view title,
                         const std::vector<std::string>& files,
                         const std::function<absl::Status(void*)>& fill) {
  std::vector<std::string> tried;
  for (const std::string& directory : Directories(options)) {
    for (const std::string& file : files) {
      const std::string path = absl::StrCat(directory, file);
      void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) {
        tried.push_back(path);
        continue;
      }
      const absl::Status status = fill(library);
      if (status.ok()) return status;
      tried.push_back(absl::StrCat(path, " (", status.message(), ")"));
    }
  }
  return absl::UnavailableError(absl::StrCat(
      title, " is not installed; tried ", absl::StrJoin(tried, ", "),
      ". Install the CUDA toolkit 12 or 13, or set CUDA_HOME; a daemon that "
      "pip "
      "has installed takes it from pip, too: pip install 'holdfast[cu13]'"));
}

std::vector<std::string> SearchedPlaces(const ToolkitOptions& options) {
  std::vector<std::string> places;
  for (std::string& directory : Directories(options)) {
    if (!directory.empty()) places.push_back(std::move(directory));
  }
  const char* path = getenv("LD_LIBRARY_PATH");
  if (path != nullptr) {
    for (const absl::string_view place :
         absl::StrSplit(path, absl::ByAnyChar(":;"))) {
      places.emplace_back(place.empty() ? "." : place);
    }
  }
  places.push_back("/etc/ld.so.cache");
  return places;
}

absl::Status FindSymbol(void* library, const char* name, void** symbol) {
  *symbol = dlsym(library, name);
  if (*symbol != nullptr) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("has no call ", name));
}

std::string FileOf(const void* symbol) {
  Dl_info info;
  return dladdr(symbol, &info) == 0 ? "" : RealPath(info.dli_fname);
}

std::vector<std::string> FindHeaders(const ToolkitOptions& options,
                                     const std::string& library) {
  std::vector<std::string> found;
  for (const std::string& place : HeaderPlaces(options, library)) {
    const std::string include = RealPath(place);
    if (!IsReadable(absl::StrCat(include, "/cuda_fp16.h"))) continue;
    found.push_back(include);
    for (const absl::string_view cccl : kCccl) {
      const std::string folder = RealPath(absl::StrCat(include, cccl));
      if (!folder.empty()) found.push_back(folder);
    }
    break;
  }
  return found;
}

std::string FindLibdevice(const std::string& library) {
  const std::string folder = FolderOf(library);
  for (const std::string& directory :
       {absl::StrCat(folder, "/../nvvm/libdevice"),
        absl::StrCat(folder, "/../libdevice"),
        absl::StrCat(folder, "/../../../nvvm/libdevice"),
        absl::StrCat(folder, "/../../cuda_nvcc/nvvm/libdevice"),
        std::string("/usr/lib/nvidia-cuda-toolkit/libdevice")}) {
    std::string file = RealPath(absl::StrCat(directory, "/libdevice.10.bc"));
    if (!file.empty() && IsReadable(file)) return file;
  }
  return "";
}

}  // namespace holdfast::compile
