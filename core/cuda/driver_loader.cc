// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/driver_loader.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/cuda/refusal.h"
#include "core/cuda/result.h"

namespace holdfast::cuda {
namespace {

constexpr char kSoftwareFile[] = "libholdfast_software.so";
constexpr char kSoftwareAdvice[] =
    "; the software device comes with the package holdfast-cpu, the archive "
    "holdfast-software-driver.tar.gz and the Python wheel";

// Directory of this executable, with a slash at its end; empty if unknown.
std::string ExecutableDirectory() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0) return "";
  const absl::string_view text(path, static_cast<size_t>(n));
  return std::string(text.substr(0, text.rfind('/') + 1));
}

std::vector<std::string> SoftwareCandidates(const DriverOptions& options) {
  if (!options.software_driver_path.empty()) {
    return {options.software_driver_path};
  }
  const char* named = getenv("HOLDFAST_SOFTWARE_DRIVER");
  if (named != nullptr && *named != '\0') return {named};
  const std::string here = ExecutableDirectory();
  return {absl::StrCat(here, kSoftwareFile),
          absl::StrCat(here, "../lib/", kSoftwareFile),
          absl::StrCat(here, "../core/software/", kSoftwareFile)};
}

// The file that `symbol` comes from, which dlopen may have found elsewhere
// than its argument says.
std::string PathOf(void* symbol, const std::string& fallback) {
  Dl_info info;
  return dladdr(symbol, &info) != 0 ? info.dli_fname : fallback;
}

// A function beyond CUDA, which only the software driver has; else null.
void* FindExtra(decltype(&::cuGetProcAddress) get, const char* name) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult found{};
  const CUresult result =
      get(name, &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &found);
  return result == CUDA_SUCCESS ? function : nullptr;
}

// The driver's own account of faults and of refused calls: where there is none,
// codes must do.
void FindDescriptions(decltype(&::cuGetProcAddress) get) {
  using Describe = const char* (*)();
  if (void* const fault = FindExtra(get, "holdfastSoftwareLastFault")) {
    SetFaultDescription(reinterpret_cast<Describe>(fault));
  }
  if (void* const leave = FindExtra(get, "holdfastSoftwareLeaveFaults")) {
    reinterpret_cast<void (*)()>(leave)();
  }
  if (void* const refusal = FindExtra(get, "holdfastSoftwareLastRefusal")) {
    SetRefusalDescription(reinterpret_cast<Describe>(refusal));
  }
}

absl::StatusOr<std::unique_ptr<const Driver>> Open(const std::string& path,
                                                   bool software) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::UnavailableError(dlerror());
  void* entry = dlsym(library, "cuGetProcAddress_v2");
  if (entry == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        path, " has no cuGetProcAddress_v2; needs driver 12.0 or newer"));
  }
  auto driver = std::make_unique<Driver>();
  const auto get = reinterpret_cast<decltype(&::cuGetProcAddress)>(entry);
  HOLDFAST_ASSIGN_OR_RETURN(driver->api, DriverApi::Resolve(get));
  FindDescriptions(get);
  driver->software = software;
  driver->set_code_store = reinterpret_cast<decltype(Driver::set_code_store)>(
      FindExtra(get, "holdfastSoftwareSetCodeStore"));
  const auto has_arena_range = reinterpret_cast<bool (*)()>(
      FindExtra(get, "holdfastSoftwareHasArenaRange"));
  driver->has_arena_range = has_arena_range != nullptr && has_arena_range();
  driver->api.add_buffer = reinterpret_cast<decltype(DriverApi::add_buffer)>(
      FindExtra(get, "holdfastSoftwareAddBuffer"));
  driver->api.remove_buffer =
      reinterpret_cast<decltype(DriverApi::remove_buffer)>(
          FindExtra(get, "holdfastSoftwareRemoveBuffer"));
  driver->path = PathOf(entry, path);
  const DriverApi& api = driver->api;
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuInit(0));
  // Some drivers know their version only from here on.
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuDriverGetVersion(&driver->api.version));
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuDeviceGetCount(&driver->device_count));
  if (driver->device_count == 0) {
    return absl::UnavailableError("the driver has no device");
  }
  return driver;
}

}  // namespace

absl::StatusOr<DriverChoice> ParseDriverChoice(absl::string_view text) {
  if (text == "auto") return DriverChoice::kAuto;
  if (text == "cuda") return DriverChoice::kCuda;
  if (text == "cpu") return DriverChoice::kSoftware;
  return absl::InvalidArgumentError(absl::StrCat(
      "device \"", text, "\" is none of \"auto\", \"cuda\", \"cpu\""));
}

std::string FindSoftwareDriver(const DriverOptions& options) {
  for (const std::string& candidate : SoftwareCandidates(options)) {
    char path[PATH_MAX];
    if (realpath(candidate.c_str(), path) != nullptr) return path;
  }
  return "";
}

absl::StatusOr<std::unique_ptr<const Driver>> LoadDriver(
    const DriverOptions& options) {
  std::vector<std::string> tried;
  const auto attempt = [&](const std::string& path, bool software) {
    auto driver = Open(path, software);
    if (!driver.ok()) {
      tried.push_back(absl::StrCat(path, ": ", driver.status().message()));
      LogDebug("driver not usable: ", tried.back());
    }
    return driver;
  };
  if (options.choice != DriverChoice::kSoftware) {
    auto driver = attempt(options.cuda_library, false);
    if (driver.ok()) return driver;
  }
  if (options.choice != DriverChoice::kCuda) {
    for (const std::string& path : SoftwareCandidates(options)) {
      auto driver = attempt(path, true);
      if (driver.ok()) return driver;
    }
  }
  const bool lacks_software = options.choice != DriverChoice::kCuda &&
                              FindSoftwareDriver(options).empty();
  return absl::UnavailableError(
      absl::StrCat("no usable CUDA driver; tried ", absl::StrJoin(tried, "; "),
                   lacks_software ? kSoftwareAdvice : ""));
}

}  // namespace holdfast::cuda
