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
  // The driver to load. kCuda and kSoftware never fall back to the other
  // driver.
  DriverChoice choice = DriverChoice::kAuto;

  // The software driver's file. Empty: $HOLDFAST_SOFTWARE_DRIVER, else
  // libholdfast_software.so beside the executable, in ../lib or in
  // ../core/software.
  std::string software_driver_path;

  // The file name of libcuda; tests change it.
  std::string cuda_library = "libcuda.so.1";
};

// Returns the software driver's file that LoadDriver would open, with links
// resolved; empty if there is none.
std::string FindSoftwareDriver(const DriverOptions& options);

// An opened driver on which cuInit has succeeded. The library stays open until
// the process ends, because drivers start threads that never end.
struct Driver {
  // The driver's functions; optional functions may be null.
  DriverApi api;
  // True for Holdfast's software driver, whose devices are the CPU.
  bool software = false;
  // The path of the library, as the dynamic loader found it.
  std::string path;
  // At least 1.
  int device_count = 0;
  // Sets the store for machine code that the software driver generates, and
  // copies *store. REQUIRES: called once, before the first launch. Null for any
  // other driver.
  void (*set_code_store)(const CodeStore* store) = nullptr;
  // True if the software driver has reserved the range of arenas
  // (core/base/arena_range.h). The program then maps arenas over the
  // reservation.
  bool has_arena_range = false;
};

// Loads and initialises a driver, libcuda or the software driver, as
// `options.choice` says. May take long; call it once in a process. The result
// must outlive all objects that are made with its `api`. UNAVAILABLE: no driver
// was found, or none that has a device; the message lists each attempt with its
// error.
absl::StatusOr<std::unique_ptr<const Driver>> LoadDriver(
    const DriverOptions& options);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_DRIVER_LOADER_H_
