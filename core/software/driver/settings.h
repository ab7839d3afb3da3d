// SPDX-License-Identifier: Apache-2.0
//
// Settings of the simulated devices, from the environment.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_SETTINGS_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast::software {

// The calls that the driver reports on stderr.
enum class Trace { kOff, kFailures, kAll };

// The most devices that the driver shows.
constexpr int kMaxDevices = 16;

struct Settings {
  // HOLDFAST_SOFTWARE_DEVICES, 1 to kMaxDevices: devices of the machine.
  int devices = 1;
  // HOLDFAST_SOFTWARE_VISIBLE_DEVICES: the devices that this process sees, like
  // CUDA_VISIBLE_DEVICES; see ChooseDevices. Empty: all.
  std::string visible_devices;
  // The memory of each device. HOLDFAST_SOFTWARE_MEMORY: bytes, or a number
  // with K, M, G or T; or a list with one entry a device, of which the last
  // also holds for all further devices. Default: equal shares of half of
  // MachineMemory().
  // HOLDFAST_SOFTWARE_MACHINE_MEMORY takes the place of MachineMemory(): the
  // daemon sets it for executors, which do not see the limits of control
  // groups.
  std::vector<size_t> memory_bytes;
  // HOLDFAST_SOFTWARE_THREADS: CPU threads that run kernels; each counts as a
  // multiprocessor. Default: the CPUs that this process may use.
  int threads = 1;
  // HOLDFAST_SOFTWARE_COMPUTE_CAPABILITY, "8.0" or "80". Default: 9.0, which
  // is also the highest.
  int compute_major = 9;
  int compute_minor = 0;
  // 90 for compute capability 9.0.
  uint32_t arch() const {
    return static_cast<uint32_t>(10 * compute_major + compute_minor);
  }
  // HOLDFAST_SOFTWARE_LAUNCH_TIMEOUT: seconds after which a kernel is
  // cancelled with CUDA_ERROR_LAUNCH_TIMEOUT. Default: 0, never.
  int launch_timeout_seconds = 0;
  // HOLDFAST_SOFTWARE_MEMCHECK, 0 or 1: kernels that leave their buffers fault
  // (abi/buffer_table.h). Default: 0.
  bool memcheck = false;
  // HOLDFAST_SOFTWARE_TRACE: 1 names calls that fail, 2 names all.
  Trace trace = Trace::kOff;
};

// Returns the settings, which the first call reads from the environment. A
// malformed value is reported on stderr, and the default is used instead.
// Thread-safe.
const Settings& GetSettings();

// Parses "4096", "512M" or "16G". Returns false if the text is not a positive
// size.
bool ParseSize(absl::string_view text, size_t* bytes);

// Parses a list of sizes, such as "4G,1G". Returns false, and leaves *bytes, if
// an entry is not a positive size.
bool ParseSizes(absl::string_view text, std::vector<size_t>* bytes);

// Returns the indices in `names` of the devices that `list` names, in the order
// of the list. An entry is an index ("2,0") or an unambiguous prefix of a name
// ("GPU-b1f6"). As with CUDA_VISIBLE_DEVICES, the list ends at the first entry
// that names no device, or a device again. An empty list means all devices.
std::vector<int> ChooseDevices(absl::string_view list,
                               const std::vector<std::string>& names);

// Parses "9.0" or "90", from 5.0 to 9.0. Returns false for any other text.
bool ParseComputeCapability(absl::string_view text, int* major, int* minor);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_SETTINGS_H_
