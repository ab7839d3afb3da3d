// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_DEVICE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_DEVICE_H_

#include <atomic>
#include <string>

#include "core/software/driver/backing.h"
#include "core/software/driver/settings.h"
#include "cuda.h"

namespace holdfast::software {

// The limits of the simulated device, for attributes, launches and occupancy.
// They are the limits of compute capability 9.0, even if the settings choose
// another compute capability.
struct DeviceLimits {
  static constexpr int kWarpSize = 32;
  static constexpr int kThreadsPerBlock = 1024;
  static constexpr unsigned kBlockDim[3] = {1024, 1024, 64};
  static constexpr unsigned kGridDim[3] = {0x7fffffff, 65535, 65535};
  static constexpr int kThreadsPerMultiprocessor = 2048;
  static constexpr int kBlocksPerMultiprocessor = 32;
  static constexpr int kRegisters = 65536;  // per block, per multiprocessor
  // Bytes of shared memory: of a block without and with opting in, of a
  // multiprocessor, and reserved for the system in addition to the memory of
  // each block.
  static constexpr int kSharedPerBlock = 48 << 10;
  static constexpr int kSharedPerBlockOptIn = 227 << 10;
  static constexpr int kSharedPerMultiprocessor = 228 << 10;
  static constexpr int kSharedReservedPerBlock = 1 << 10;
  // The maximum of the bytes of an access policy window, which has no effect.
  static constexpr int kAccessPolicyWindow = 128 << 20;
  // The maximum of the blocks of a cluster, without and with
  // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED of the kernel.
  static constexpr int kClusterBlocks = 8;
  static constexpr int kLargeClusterBlocks = 16;
};

// The CPU as a CUDA device. All devices of the process run kernels on the same
// threads; each device has memory of its own. Only the budget and the pools
// change. Thread-safe.
class Device {
 public:
  // `index` is the device's number among all devices of the machine, and
  // `ordinal` among the devices that are visible to this process.
  //
  // REQUIRES: settings.memory_bytes has an entry for `index`.
  Device(int index, CUdevice ordinal, const Settings& settings);

  // Returns "GPU-" and the UUID in the form that CUDA_VISIBLE_DEVICES takes.
  // The UUID is derived from /etc/machine-id.
  static std::string UuidText(int index);

  CUdevice ordinal() const { return ordinal_; }
  // "Holdfast software device (AMD EPYC, 2 threads)".
  const std::string& name() const { return name_; }
  // The UUID, which is the same at each start on one machine.
  const CUuuid& uuid() const { return uuid_; }
  // Returns "ffff:00:02.0" for index 2: an address in a domain that no real
  // device has.
  std::string pci_bus_id() const;
  // The number of threads that run kernels; each counts as a multiprocessor.
  int multiprocessors() const { return settings_.threads; }
  bool has_clusters() const { return settings_.compute_major >= 9; }
  // The budget of the device's memory, whose size the settings determine.
  MemoryBudget& memory() { return memory_; }

  // The handle of the pool of cuDeviceGetDefaultMemPool. set_default_pool also
  // sets current_pool. REQUIRES: it is called once, before other threads use
  // the device.
  CUmemoryPool default_pool() const { return default_pool_; }
  void set_default_pool(CUmemoryPool pool) {
    current_pool = default_pool_ = pool;
  }
  // The pool of cuMemAllocAsync and cuDeviceGetMemPool; the application may set
  // another pool.
  std::atomic<CUmemoryPool> current_pool{nullptr};

  // Sets *value to the value of an attribute; 0 for a capability that the
  // device lacks. Returns false if there is no such attribute.
  bool Attribute(CUdevice_attribute attribute, int* value) const;

 private:
  const int index_;
  const CUdevice ordinal_;
  const Settings settings_;
  const std::string name_;
  const CUuuid uuid_;
  MemoryBudget memory_;
  CUmemoryPool default_pool_ = nullptr;  // set before others see the device
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_DEVICE_H_
