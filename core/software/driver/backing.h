// SPDX-License-Identifier: Apache-2.0
//
// The memory behind addresses of the device window. All device memory is in
// memfds, so that another process can map the same bytes.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_BACKING_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_BACKING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/unique_fd.h"
#include "core/software/abi/window.h"
#include "core/software/driver/ipc.h"
#include "cuda.h"

namespace holdfast::software {

constexpr size_t RoundUp(size_t size, size_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// Counts the bytes of the device's memory that are in use. The callers map the
// memory themselves. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(size_t total) : total_(total) {}

  // Takes `size` bytes. Returns false, and takes nothing, if less is free.
  bool Take(size_t size);
  // REQUIRES: the bytes were taken.
  void Return(size_t size) { used_ -= size; }

  size_t total() const { return total_; }
  size_t free() const { return total_ - used_; }

 private:
  const size_t total_;
  std::atomic<size_t> used_{0};
};

// The base class of mappings that a Region keeps alive. The destructor unmaps
// the memory.
class Backing {
 public:
  virtual ~Backing() = default;
};

// Memory for cuMemAlloc and similar functions. A guard gap of 64 KiB follows
// it, so that a kernel that runs over the end faults.
//
// All blocks are in one memfd, each at its offset in the window, so that they
// need only one descriptor. A pool that is exported has its own such memfd.
class Block : public Backing {
 public:
  enum class Place {
    kStart,  // begins at a page, as host memory does
    kEnd,    // ends within 256 bytes of the gap, to find small overruns, too
  };

  // The name of the memfd of all blocks, as other processes see it.
  static constexpr char kMemfdName[] = "holdfast-device-memory";
  // Returns a memfd for blocks, as large as the window; empty on failure.
  static UniqueFd CreateMemfd(const char* name);

  // `fd` is a memfd of CreateMemfd; -1: the memfd of all blocks. `budget` may
  // be null. Both must outlive the block. The bytes are zero. Memory of 2 MiB
  // and more is aligned for huge pages. The only error is
  // CUDA_ERROR_OUT_OF_MEMORY.
  static CUresult Create(size_t size, Place place, MemoryBudget* budget, int fd,
                         std::unique_ptr<Block>* block);
  ~Block() override;

  // Gives the pages back to the system. They stay mapped and become zeros.
  void Discard();

  // The first byte of the allocation, aligned to 256 bytes.
  uintptr_t address() const { return address_; }
  // The requested bytes.
  size_t size() const { return size_; }

  // Returns a handle for another process. It has the block's descriptor, its
  // whole pages and the place of the allocation in them.
  IpcHandle handle(IpcHandle::Kind kind) const;
  // The bytes that the budget was charged.
  size_t mapped_size() const { return mapped_; }

 private:
  Block() = default;

  size_t file_offset() const;

  int fd_ = -1;
  std::unique_ptr<AddressRange> range_;  // pages and gap
  MemoryBudget* budget_ = nullptr;
  uintptr_t address_ = 0;
  size_t size_ = 0;
  size_t mapped_ = 0;  // bytes, whole pages, without the gap
};

// Physical memory in the sense of cuMemCreate: a memfd of its own, which this
// object does not map. Immutable, thread-safe.
//
// The memfd is sealed against shrinking, since an importer relies on its size.
class PhysicalMemory {
 public:
  // `size` is a multiple of the page size. CUDA_ERROR_OUT_OF_MEMORY: the budget
  // or the system has no more. The budget must outlive the memory.
  static CUresult Create(size_t size, const CUmemAllocationProp& properties,
                         MemoryBudget* budget,
                         std::shared_ptr<PhysicalMemory>* memory);
  // Duplicates a descriptor that came from another process. The memory counts
  // as memory of `device`. CUDA_ERROR_INVALID_VALUE: the file is not sealed
  // against shrinking, or its size is not a multiple of the page size.
  // CUDA_ERROR_OUT_OF_MEMORY: the budget has no more.
  static CUresult Import(int fd, CUdevice device, MemoryBudget* budget,
                         std::shared_ptr<PhysicalMemory>* memory);
  ~PhysicalMemory();

  // Owned by this object.
  int fd() const { return fd_.get(); }
  size_t size() const { return size_; }
  const CUmemAllocationProp& properties() const { return properties_; }

 private:
  PhysicalMemory() = default;

  UniqueFd fd_;
  size_t size_ = 0;
  CUmemAllocationProp properties_{};
  MemoryBudget* budget_ = nullptr;
};

// A mapping of a part of a file, at an address that the caller has reserved.
class FileView : public Backing {
 public:
  // Replaces an earlier mapping. There are no access rights until Protect.
  // `address`, `size` and `offset` are multiples of the page size. The view
  // owns `range`, which may be null, and keeps `keep` alive.
  // CUDA_ERROR_OUT_OF_MEMORY: the system refuses.
  static CUresult Create(uintptr_t address, size_t size, int fd, size_t offset,
                         std::unique_ptr<AddressRange> range,
                         std::shared_ptr<void> keep,
                         std::unique_ptr<FileView>* view);
  ~FileView() override;

  // Sets the access rights of the whole view, for kernels and the host alike.
  CUresult Protect(bool readable, bool writable);

 private:
  FileView() = default;

  uintptr_t address_ = 0;
  size_t size_ = 0;
  std::unique_ptr<AddressRange> range_;
  std::shared_ptr<void> keep_;
};

// A second mapping, in the device window, of memory that this process shares
// with another, so that kernels can access it.
class Alias : public Backing {
 public:
  // Maps the pages of the bytes. Returns null if they are not one shared
  // mapping, because private memory cannot be mapped twice, or if the window
  // has no room.
  static std::unique_ptr<Alias> Create(uintptr_t address, size_t size);
  ~Alias() override;

  // The address of the first byte in the window.
  uintptr_t address() const { return address_; }

 private:
  Alias() = default;

  std::unique_ptr<AddressRange> range_;
  uintptr_t address_ = 0;
  size_t mapped_ = 0;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_BACKING_H_
