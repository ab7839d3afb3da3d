// SPDX-License-Identifier: Apache-2.0
#include "client/cli/cuda_path_command.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/json_writer.h"
#include "client/cli/usage_error.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kDriver[] = "libholdfast_software.so";
// The name that programs are linked with, and the name that some look for
// first.
constexpr const char* kNames[] = {"libcuda.so.1", "libcuda.so"};

constexpr char kFooter[] = R"(
Example, on a machine without a GPU:
  LD_LIBRARY_PATH=$(holdfast cuda-path --cpu) hashcat -b -m 0

The program then runs its kernels on the processor. NVIDIA's compilers and
libraries come from the CUDA toolkit, as ever.)";

// $HOLDFAST_SOFTWARE_DRIVER, else the daemon's places: beside the program, and
// where packages, the bundle and the build tree have it.
std::vector<fs::path> DriverPlaces(const fs::path& here) {
  const char* named = std::getenv("HOLDFAST_SOFTWARE_DRIVER");
  if (named != nullptr && *named != '\0') return {named};
  return {here / kDriver, here / "../lib/holdfast" / kDriver,
          here / "../lib" / kDriver, here / "../../core/software" / kDriver};
}

absl::StatusOr<fs::path> FindDriver(const fs::path& here) {
  const std::vector<fs::path> places = DriverPlaces(here);
  std::error_code error;
  for (const fs::path& place : places) {
    if (fs::exists(place, error)) return fs::canonical(place);
  }
  return absl::NotFoundError(absl::StrCat(
      "cannot find the software driver (package holdfast-cpu); looked for ",
      absl::StrJoin(places, ", ", [](std::string* out, const fs::path& place) {
        out->append(place.lexically_normal());
      })));
}

// The caches of several drivers, as of two versions, are apart. A link is made
// beside its place and moved there, since others may do the same.
absl::Status MakeLinks(const fs::path& driver, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  for (const char* name : kNames) {
    const fs::path link = folder / name;
    if (fs::read_symlink(link, error) == driver) continue;
    const fs::path made = folder / absl::StrCat(name, ".", getpid());
    fs::remove(made, error);
    fs::create_symlink(driver, made, error);
    if (!error) fs::rename(made, link, error);
    if (error) {
      return absl::UnknownError(
          absl::StrCat("cannot make ", link.string(), ": ", error.message()));
    }
  }
  return absl::OkStatus();
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

absl::Status Print(bool cpu, bool json) {
  if (!cpu) {
    return UsageError(absl::InvalidArgumentError(
        "cuda-path needs --cpu, for the driver that runs on the processor"));
  }
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  HOLDFAST_ASSIGN_OR_RETURN(const std::string folder,
                            FindCpuDriver(here, CacheFolder()));
  if (json) {
    JsonWriter writer;
    writer.BeginObject().Member("path", folder).EndObject();
    std::puts(writer.text().c_str());
  } else {
    std::puts(folder.c_str());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> FindCpuDriver(const std::string& here,
                                          const std::string& cache) {
  HOLDFAST_ASSIGN_OR_RETURN(const fs::path driver, FindDriver(here));
  const fs::path beside = driver.parent_path() / "cpu";
  std::error_code error;
  if (fs::exists(beside / kNames[0], error)) return beside.string();
  const fs::path folder =
      fs::path(cache) / absl::StrCat("cpu-", absl::Hex(fs::hash_value(driver)));
  HOLDFAST_RETURN_IF_ERROR(MakeLinks(driver, folder));
  return folder.string();
}

void AddCudaPathCommand(CLI::App* app, CommonOptions* options,
                        absl::Status* status) {
  const auto cpu = std::make_shared<bool>(false);
  CLI::App* command = AddCommand(
      app, options, "cuda-path",
      "Print the folder of a libcuda.so.1 that runs unchanged CUDA programs",
      [cpu, options] { return Print(*cpu, options->json); }, status);
  command->add_flag("--cpu", *cpu,
                    "The software driver, which needs no GPU and no daemon");
  command->footer(kFooter);
}

}  // namespace holdfast::cli
