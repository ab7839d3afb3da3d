// SPDX-License-Identifier: Apache-2.0
#include "client/cli/cuda_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

// The name that programs are linked with, and the name that some look for
// first.
constexpr const char* kNames[] = {"libcuda.so.1", "libcuda.so"};
// The runtime, which works over both libraries.
constexpr char kRuntime[] = "libcudart.so.13";

struct Library {
  const char* file;
  const char* environment;  // the variable that names the file
  const char* folder;       // with both names, where packages install it
  const char* built;        // the file in the build tree
  const char* what;         // for messages
};

const Library& Of(CudaLibrary library) {
  static constexpr Library kClient = {
      "libcuda.so.1", "HOLDFAST_LIBCUDA", "cuda", "../cuda/libcuda.so.1",
      "the client's libcuda.so.1 (package holdfast-cli; the bundle's archive "
      "holdfast-cuda)"};
  static constexpr Library kSoftware = {
      "libholdfast_software.so", "HOLDFAST_SOFTWARE_DRIVER", "cpu",
      "../../core/software/libholdfast_software.so",
      "the software driver (package holdfast-cpu; the bundle's archive "
      "holdfast-software-driver)"};
  return library == CudaLibrary::kClient ? kClient : kSoftware;
}

// The folders of packages and of the bundle.
std::vector<fs::path> InstalledFolders(const Library& library,
                                       const fs::path& here) {
  return {here / "../lib/holdfast" / library.folder,
          here / "../lib" / library.folder, here / library.folder};
}

// The file that the environment names, or its places.
std::vector<fs::path> Files(const Library& library, const fs::path& here) {
  const char* named = std::getenv(library.environment);
  if (named != nullptr && *named != '\0') return {named};
  return {here / library.file, here / "../lib/holdfast" / library.file,
          here / "../lib" / library.file, here / library.built};
}

// A link is made beside its place and moved there, since others may do the
// same.
absl::Status MakeLink(const fs::path& target, const fs::path& link) {
  std::error_code error;
  if (fs::read_symlink(link, error) == target) return absl::OkStatus();
  const fs::path made = absl::StrCat(link.string(), ".", getpid());
  fs::remove(made, error);
  fs::create_symlink(target, made, error);
  if (!error) fs::rename(made, link, error);
  if (!error) return absl::OkStatus();
  return absl::UnknownError(
      absl::StrCat("cannot make ", link.string(), ": ", error.message()));
}

// The caches of several drivers, as of two versions, are apart.
absl::Status MakeLinks(const fs::path& driver, const fs::path& here,
                       const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  for (const char* name : kNames) {
    HOLDFAST_RETURN_IF_ERROR(MakeLink(driver, folder / name));
  }
  // In a wheel, and in the build tree.
  for (const char* place : {"cuda", "../cudart"}) {
    const fs::path runtime = fs::canonical(here / place / kRuntime, error);
    if (!error) return MakeLink(runtime, folder / kRuntime);
  }
  return absl::OkStatus();
}

absl::Status NotInstalled(const Library& library,
                          const std::vector<fs::path>& places) {
  return absl::NotFoundError(absl::StrCat(
      "cannot find ", library.what, "; looked for ",
      absl::StrJoin(places, ", ", [](std::string* out, const fs::path& place) {
        out->append(place.lexically_normal());
      })));
}

std::string CacheFolder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value == nullptr ? "" : value);
  };
  const fs::path cache = variable("XDG_CACHE_HOME");
  if (cache.is_absolute()) return cache / "holdfast";
  const fs::path home = variable("HOME");
  if (home.is_absolute()) return home / ".cache/holdfast";
  return fs::temp_directory_path() / absl::StrCat("holdfast-", getuid());
}

}  // namespace

absl::StatusOr<std::string> FindCudaFolder(CudaLibrary which,
                                           const std::string& here,
                                           const std::string& cache) {
  const Library& library = Of(which);
  std::error_code error;
  if (std::getenv(library.environment) == nullptr) {
    for (const fs::path& folder : InstalledFolders(library, here)) {
      if (fs::exists(folder / kNames[0], error)) {
        return fs::canonical(folder).string();
      }
    }
  }
  const std::vector<fs::path> files = Files(library, here);
  for (const fs::path& file : files) {
    if (!fs::exists(file, error)) continue;
    const fs::path driver = fs::canonical(file);
    const fs::path folder =
        fs::path(cache) /
        absl::StrCat(library.folder, "-", absl::Hex(fs::hash_value(driver)));
    HOLDFAST_RETURN_IF_ERROR(MakeLinks(driver, here, folder));
    return folder.string();
  }
  return NotInstalled(library, files);
}

absl::StatusOr<std::string> FindCudaFolder(CudaLibrary library) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return FindCudaFolder(library, self.parent_path(), CacheFolder());
}

}  // namespace holdfast::cli
