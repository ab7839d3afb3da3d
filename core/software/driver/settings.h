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

// Which calls the driver names on stderr.
enum class Trace { kOff, kFailures, kAll };

// The most devices that the driver shows.
constexpr int kMaxDevices = 16;

struct Settings {
  // HOLDFAST_SOFTWARE_DEVICES, 1 to kMaxDevices: devices of the machine.
  int devices = 1;
  // HOLDFAST_SOFTWARE_VISIBLE_DEVICES: those that this process sees, as
  // CUDA_VISIBLE_DEVICES does for a GPU; see ChooseDevices. Empty: all.
  std::string visible_devices;
  // HOLDFAST_SOFTWARE_MEMORY: bytes, or a number with K, M, G or T; the same
  // for each device, or a list with one entry a device, the last of which
  // holds for all that follow. Default: half of MachineMemory(), in equal
  // shares. As many entries as there are devices.
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
  // HOLDFAST_SOFTWARE_TRACE: 1 names calls that fail, 2 names all.
  Trace trace = Trace::kOff;
};

// Read at the first call. A value that cannot be understood is reported on
// stderr and its default is taken.
const Settings& GetSettings();

// "4096", "512M", "16G". False if the text is not a positive size.
bool ParseSize(absl::string_view text, size_t* bytes);

// "4G" or "4G,1G", as many sizes as there are commas, and one. False, and
// nothing changed, if one of them is not a positive size.
bool ParseSizes(absl::string_view text, std::vector<size_t>* bytes);

// Which of the devices with these names a list like "2,0" or "GPU-b1f6..."
// chooses, by number or by the unambiguous beginning of a name, in the order
// of the list. As with CUDA, the list ends at the first entry that names none
// of them or one a second time. An empty list chooses all.
std::vector<int> ChooseDevices(absl::string_view list,
                               const std::vector<std::string>& names);

// "9.0" or "90", from 5.0 to 9.0. False for anything else.
bool ParseComputeCapability(absl::string_view text, int* major, int* minor);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_SETTINGS_H_
