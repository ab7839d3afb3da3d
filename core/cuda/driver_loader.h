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

// "auto", "cuda" or "cpu"; INVALID_ARGUMENT for anything else.
absl::StatusOr<DriverChoice> ParseDriverChoice(absl::string_view text);

struct DriverOptions {
  // The driver to look for. An explicit choice never falls back to the other.
  DriverChoice choice = DriverChoice::kAuto;

  // The software driver's file. Empty: $HOLDFAST_SOFTWARE_DRIVER, else
  // libholdfast_software.so beside the executable, in ../lib or in
  // ../core/software.
  std::string software_driver_path;

  // For tests: the name under which libcuda is opened.
  std::string cuda_library = "libcuda.so.1";
};

// The software driver's file that LoadDriver would open, without links; empty
// if there is none.
std::string FindSoftwareDriver(const DriverOptions& options);

// An opened driver on which cuInit has succeeded. The library stays open until
// the process ends: drivers leave threads behind that cannot be unloaded.
struct Driver {
  // Every driver function in use; optional ones may be null.
  DriverApi api;
  // It is Holdfast's, and its devices are the CPU.
  bool software = false;
  // The library's file, as the loader found it.
  std::string path;
  // At least 1.
  int device_count = 0;
  // Null unless it is the software driver: has the machine code that
  // it generates kept by this program.
  void (*set_code_store)(const CodeStore* store) = nullptr;
  // It is the software driver, and has reserved the addresses of arenas
  // (core/base/arena_range.h) for this program to map over.
  bool has_arena_range = false;
};

// UNAVAILABLE: no driver, or none with a device; the message lists what was
// tried and why each failed. The result's address is stable: references to
// `api` are handed to every object made with it, and it must outlive them.
// Tries libcuda first, unless the software driver was chosen. Expensive:
// initializes the driver. Call it once in a process.
absl::StatusOr<std::unique_ptr<const Driver>> LoadDriver(
    const DriverOptions& options);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_DRIVER_LOADER_H_
