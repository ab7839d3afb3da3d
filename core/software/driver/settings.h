// SPDX-License-Identifier: Apache-2.0
//
// Settings of the software devices, from the environment.
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

// The largest number of devices.
constexpr int kMaxDevices = 16;

struct Settings {
  // HOLDFAST_SOFTWARE_DEVICES, 1 to kMaxDevices: the number of devices of the
  // machine.
  int devices = 1;
  // HOLDFAST_SOFTWARE_VISIBLE_DEVICES: the devices that this process may use,
  // as in CUDA_VISIBLE_DEVICES; see ChooseDevices. Empty: all devices.
  std::string visible_devices;
  // The memory of each device, in bytes. HOLDFAST_SOFTWARE_MEMORY is a list of
  // sizes (ParseSizes), one for each device. The last size also applies to all
  // further devices. Default: equal shares of half of MachineMemory().
  // HOLDFAST_SOFTWARE_MACHINE_MEMORY takes the place of MachineMemory(). The
  // daemon sets it for executors, which cannot read the limits of control
  // groups.
  std::vector<size_t> memory_bytes;
  // HOLDFAST_SOFTWARE_THREADS, 1 to 1024: the number of CPU threads that run
  // kernels. Each counts as a multiprocessor. Default: the number of CPUs that
  // this process may use, at most 1024.
  int threads = 1;
  // HOLDFAST_SOFTWARE_COMPUTE_CAPABILITY, "8.0" or "80". Default: 9.0, which
  // is also the highest.
  int compute_major = 9;
  int compute_minor = 0;
  // 90 for compute capability 9.0.
  uint32_t arch() const {
    return static_cast<uint32_t>(10 * compute_major + compute_minor);
  }
  // HOLDFAST_SOFTWARE_LAUNCH_TIMEOUT: the seconds after which a kernel is
  // cancelled with CUDA_ERROR_LAUNCH_TIMEOUT. Default: 0, which is no limit.
  int launch_timeout_seconds = 0;
  // HOLDFAST_SOFTWARE_MEMCHECK, 0 or 1. 1: a kernel that accesses memory
  // outside of all buffers faults (abi/buffer_table.h). Default: 0.
  bool memcheck = false;
  // HOLDFAST_SOFTWARE_TRACE, 0 to 2. 1: the driver prints each call that fails.
  // 2: the driver prints all calls. Default: 0, no calls.
  Trace trace = Trace::kOff;
};

// Returns the settings, which the first call reads from the environment. A
// malformed value is reported on stderr, and the default is used instead.
// Thread-safe.
const Settings& GetSettings();

// Parses a number of bytes such as "4096", "512M" or "16G". The units are K, M,
// G and T, powers of 1024. Returns false if the text is not a positive size.
bool ParseSize(absl::string_view text, size_t* bytes);

// Parses a list of sizes, such as "4G,1G". Returns false, and does not change
// *bytes, if an entry is not a positive size.
bool ParseSizes(absl::string_view text, std::vector<size_t>* bytes);

// Returns the indices in `names` of the devices that `list` names, in the order
// of the list. An entry is an index ("2,0") or an unambiguous prefix of a name
// ("GPU-b1f6"). As with CUDA_VISIBLE_DEVICES, the list ends at the first entry
// that names no device, or names a device again. An empty list means all
// devices.
std::vector<int> ChooseDevices(absl::string_view list,
                               const std::vector<std::string>& names);

// Parses "9.0" or "90", from 5.0 to 9.0. Returns false for any other text.
bool ParseComputeCapability(absl::string_view text, int* major, int* minor);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_SETTINGS_H_
