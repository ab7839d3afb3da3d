// SPDX-License-Identifier: Apache-2.0
//
// Finds and opens a CUDA driver: libcuda.so.1, or Holdfast's software driver,
// which has the same C ABI and runs PTX on the CPU.
#ifndef HOLDFAST_CORE_CUDA_DRIVER_LOADER_H_
#define HOLDFAST_CORE_CUDA_DRIVER_LOADER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/code_store.h"
#include "core/cuda/driver_api.h"

namespace holdfast::cuda {

enum class DriverChoice {
  kAuto,  // libcuda if it has at least one device, else the software driver
  kCuda,
  kSoftware,
};

// Parses "auto", "cuda" or "cpu". INVALID_ARGUMENT: another text.
absl::StatusOr<DriverChoice> ParseDriverChoice(absl::string_view text);

struct DriverOptions {
  // The driver to load. An explicit choice never falls back to the other.
  DriverChoice choice = DriverChoice::kAuto;

  // The software driver's file. Empty: $HOLDFAST_SOFTWARE_DRIVER, else
  // libholdfast_software.so beside the executable, in ../lib or in
  // ../core/software.
  std::string software_driver_path;

  // The name to open libcuda by; tests change it.
  std::string cuda_library = "libcuda.so.1";
};

// Returns the software driver's file that LoadDriver would open, with links
// resolved; empty if there is none.
std::string FindSoftwareDriver(const DriverOptions& options);

// An opened driver on which cuInit has succeeded. The library stays open until
// the process ends: drivers leave threads behind that cannot be unloaded.
struct Driver {
  // Every driver function in use; optional ones may be null.
  DriverApi api;
  // True for Holdfast's software driver, whose devices are the CPU.
  bool software = false;
  // The library's file, as the loader found it.
  std::string path;
  // At least 1.
  int device_count = 0;
  // Sets the store for machine code that the software driver generates. Null
  // for any other driver.
  void (*set_code_store)(const CodeStore* store) = nullptr;
  // True if the software driver has reserved the range of arenas
  // (core/base/arena_range.h), for this program to map over.
  bool has_arena_range = false;
};

// Loads and initializes a driver: libcuda first, unless the software driver was
// chosen. Expensive; call it once in a process. The result's address is stable:
// objects made with `api` refer to it, and it must outlive them. UNAVAILABLE:
// no driver, or none with a device; the message lists each attempt with its
// error.
absl::StatusOr<std::unique_ptr<const Driver>> LoadDriver(
    const DriverOptions& options);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_DRIVER_LOADER_H_
