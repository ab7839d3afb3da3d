// SPDX-License-Identifier: Apache-2.0
//
// What the environment says about the simulated device.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_SETTINGS_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_SETTINGS_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace holdfast::software {

// Which calls the driver names on stderr.
enum class Trace { kOff, kFailures, kAll };

struct Settings {
  // HOLDFAST_SOFTWARE_MEMORY: bytes, or a number with K, M, G or T. Default:
  // half of the machine's memory.
  size_t memory_bytes = 0;
  // HOLDFAST_SOFTWARE_THREADS: CPU threads that run kernels; each counts as a
  // multiprocessor. Default: the CPUs that this process may use.
  int threads = 1;
  // HOLDFAST_SOFTWARE_COMPUTE_CAPABILITY, "8.0" or "80". Default: 9.0, which
  // is also the highest.
  int compute_major = 9;
  int compute_minor = 0;
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

// "9.0" or "90", from 5.0 to 9.0. False for anything else.
bool ParseComputeCapability(absl::string_view text, int* major, int* minor);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_SETTINGS_H_
