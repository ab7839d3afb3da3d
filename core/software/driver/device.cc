// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/device.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace holdfast::software {
namespace {

constexpr int kPciDomain = 0xffff;
constexpr int kTextureAlignment = 512;

std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (absl::StartsWith(line, "model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "CPU";
}

std::string MakeName(int threads) {
  return absl::StrCat("Holdfast software device (", ProcessorName(), ", ",
                      threads, threads == 1 ? " thread)" : " threads)");
}

// FNV-1a over the machine's identity, once for each half.
CUuuid MakeUuid(int index) {
  std::ifstream file("/etc/machine-id");
  std::string machine;
  std::getline(file, machine);
  CUuuid uuid;
  for (int half = 0; half < 2; ++half) {
    uint64_t hash = 0xcbf29ce484222325;
    const auto text =
        absl::StrCat("holdfast software device ", index, machine, half);
    for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
    for (int i = 0; i < 8; ++i) {
      uuid.bytes[8 * half + i] = static_cast<char>(hash >> (8 * i));
    }
  }
  return uuid;
}

}  // namespace

Device::Device(int index, CUdevice ordinal, const Settings& settings)
    : index_(index),
      ordinal_(ordinal),
      settings_(settings),
      name_(MakeName(settings.threads)),
      uuid_(MakeUuid(index)),
      memory_(settings.memory_bytes[static_cast<size_t>(index)]) {}

std::string Device::UuidText(int index) {
  const CUuuid uuid = MakeUuid(index);
  const std::string hex =
      absl::BytesToHexString(absl::string_view(uuid.bytes, 16));
  return absl::StrCat("GPU-", hex.substr(0, 8), "-", hex.substr(8, 4), "-",
                      hex.substr(12, 4), "-", hex.substr(16, 4), "-",
                      hex.substr(20));
}

std::string Device::pci_bus_id() const {
  return absl::StrCat(absl::Hex(kPciDomain, absl::kZeroPad4),
                      ":00:", absl::Hex(index_, absl::kZeroPad2), ".0");
}

// An attribute that is not named here is a capability that the device lacks,
// or a limit of textures and surfaces, which it does not have yet.
bool Device::Attribute(CUdevice_attribute attribute, int* value) const {
  using Limits = DeviceLimits;
  if (attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return false;
  const auto answer = [&]() -> int {
    switch (attribute) {
      case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        return Limits::kThreadsPerBlock;
      case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
        return Limits::kBlockDim[0];
      case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
        return Limits::kBlockDim[1];
      case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
        return Limits::kBlockDim[2];
      case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
        return Limits::kGridDim[0];
      case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
        return Limits::kGridDim[1];
      case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
        return Limits::kGridDim[2];
      case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
        return Limits::kSharedPerBlock;
      case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        return Limits::kSharedPerBlockOptIn;
      case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        return Limits::kSharedPerMultiprocessor;
      case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
        return Limits::kSharedReservedPerBlock;
      case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
        return 64 << 10;
      case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
        return Limits::kWarpSize;
      case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
        return 0x7fffffff;
      case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
      case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
        return Limits::kRegisters;
      case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
        return 1'000'000;  // kHz; the clock that %clock counts is 1 GHz
      case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        return 64;
      case CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE:
        return Limits::kAccessPolicyWindow;
      case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        return 1 << 20;
      case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
      case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT:
        return kTextureAlignment;
      case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
        return 32;
      case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        return settings_.threads;
      case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT:
        return settings_.launch_timeout_seconds > 0;
      case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
        return CU_COMPUTEMODE_DEFAULT;
      case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
        return kPciDomain;
      case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
        return index_;
      case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        return Limits::kThreadsPerMultiprocessor;
      case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
        return Limits::kBlocksPerMultiprocessor;
      case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
        return 2;
      case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return settings_.compute_major;
      case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return settings_.compute_minor;
      case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
        return 2;
      case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
        return CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
      case CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT:
        return settings_.compute_major >= 9 ? 4 : 1;
      case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
        return has_clusters();
      case CU_DEVICE_ATTRIBUTE_NUMA_CONFIG:
        return CU_DEVICE_NUMA_CONFIG_NONE;
      case CU_DEVICE_ATTRIBUTE_NUMA_ID:
      case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
        return -1;
      case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
      case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
      case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
      case CU_DEVICE_ATTRIBUTE_INTEGRATED:
      case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
      case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
      case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
      case CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST:
      case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
      case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
      case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
      case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        return 1;
      default:
        return 0;
    }
  };
  *value = answer();
  return true;
}

}  // namespace holdfast::software
