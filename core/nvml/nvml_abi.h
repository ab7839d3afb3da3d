// SPDX-License-Identifier: Apache-2.0
//
// The part of NVML's C interface that Holdfast uses. NVML's header is in the
// driver's development packages, not in the toolkit, so the types are declared
// here. NVML never changes a type; new types get new names.
#ifndef HOLDFAST_CORE_NVML_NVML_ABI_H_
#define HOLDFAST_CORE_NVML_NVML_ABI_H_

#include <cstdint>

namespace holdfast::nvml {

using Return = int;  // nvmlReturn_t
using Device = struct OpaqueDevice*;
using EventSet = struct OpaqueEventSet*;

constexpr Return kSuccess = 0;
constexpr Return kInsufficientSize = 7;
constexpr Return kTimeout = 10;

constexpr unsigned kUuidBytes = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE
constexpr int kGpuTemperature = 0;
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kCorrected = 0;
constexpr int kUncorrected = 1;
constexpr int kSinceDriverLoad = 0;  // NVML_VOLATILE_ECC
constexpr uint64_t kXidEvents = 8;   // nvmlEventTypeXidCriticalError

struct Memory {
  uint64_t total;
  uint64_t free;
  uint64_t used;
};

struct Utilization {
  unsigned gpu;  // percent
  unsigned memory;
};

// nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3.
struct ProcessInfo {
  unsigned pid;
  uint64_t used_memory;  // all ones: not known
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct EventData {
  Device device;
  uint64_t type;
  uint64_t data;  // the Xid
  unsigned gpu_instance;
  unsigned compute_instance;
};

}  // namespace holdfast::nvml

#endif  // HOLDFAST_CORE_NVML_NVML_ABI_H_
