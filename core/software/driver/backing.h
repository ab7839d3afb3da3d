// SPDX-License-Identifier: Apache-2.0
//
// The memory at the addresses of the device window (abi/window.h). All device
// memory is in memfds, so that another process can map the same bytes.
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

// Counts the used bytes of a device's memory. Does not map memory. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(size_t total) : total_(total) {}

  // Takes `size` bytes. Returns false, and takes nothing, if fewer bytes are
  // free.
  bool Take(size_t size);
  // Makes `size` bytes free again. REQUIRES: they were taken.
  void Return(size_t size) { used_ -= size; }

  size_t total() const { return total_; }
  size_t free() const { return total_ - used_; }

 private:
  const size_t total_;
  std::atomic<size_t> used_{0};
};

// The base class of mappings that a Region (memory_map.h) keeps alive. The
// destructor unmaps the memory.
class Backing {
 public:
  virtual ~Backing() = default;
};

// Memory for cuMemAlloc and similar functions. A guard gap of 64 KiB follows
// it, so that a kernel that runs over the end faults.
//
// All blocks are in one memfd, each at its offset in the device window, so that
// they need only one descriptor. The blocks of a pool that can be exported are
// in a memfd of the pool.
class Block : public Backing {
 public:
  enum class Place {
    kStart,  // begins at a page boundary, as host memory does
    kEnd,    // ends less than 256 bytes before the gap, to find small overruns
  };

  // The name of the memfd of all blocks in /proc.
  static constexpr char kMemfdName[] = "holdfast-device-memory";
  // Returns a memfd for blocks, as large as the device window; an empty
  // UniqueFd on failure.
  static UniqueFd CreateMemfd(const char* name);

  // Makes a block of `size` zero bytes, readable and writable. `fd` is a memfd
  // of CreateMemfd; -1: the memfd of all blocks. The block takes its bytes from
  // `budget`, which may be null. `fd` and `budget` must outlive the block.
  // Memory of 2 MiB and more is aligned for huge pages. The only error is
  // CUDA_ERROR_OUT_OF_MEMORY.
  static CUresult Create(size_t size, Place place, MemoryBudget* budget, int fd,
                         std::unique_ptr<Block>* block);
  ~Block() override;

  // Frees the pages. They stay mapped, and their bytes become zero.
  void Discard();

  // The address of the first byte of the allocation, a multiple of 256.
  uintptr_t address() const { return address_; }
  // The requested bytes.
  size_t size() const { return size_; }

  // Returns a handle with which another process can map the block. The handle
  // has the descriptor, the whole pages of the block, and the place of the
  // allocation in them.
  IpcHandle handle(IpcHandle::Kind kind) const;
  // The bytes that the block has taken from the budget.
  size_t mapped_size() const { return mapped_; }

 private:
  Block() = default;

  size_t file_offset() const;

  int fd_ = -1;
  std::unique_ptr<AddressRange> range_;  // of the pages and the gap
  MemoryBudget* budget_ = nullptr;
  uintptr_t address_ = 0;
  size_t size_ = 0;
  size_t mapped_ = 0;  // bytes, whole pages, without the gap
};

// The physical memory of cuMemCreate: a memfd, which this object owns and does
// not map. Immutable, thread-safe.
//
// The memfd is sealed against shrinking, because importers rely on its size.
class PhysicalMemory {
 public:
  // Makes memory of `size` zero bytes, a multiple of the page size. Takes the
  // bytes from the budget, which must outlive the memory.
  // CUDA_ERROR_OUT_OF_MEMORY: the budget or the system has no more memory.
  static CUresult Create(size_t size, const CUmemAllocationProp& properties,
                         MemoryBudget* budget,
                         std::shared_ptr<PhysicalMemory>* memory);
  // Imports memory of another process. Duplicates `fd`, which is untrusted. The
  // memory counts as memory of `device`, and takes its bytes from the budget.
  // CUDA_ERROR_INVALID_VALUE: the file is not sealed against shrinking, or its
  // size is 0 or not a multiple of the page size. CUDA_ERROR_OUT_OF_MEMORY: the
  // budget has no more memory. CUDA_ERROR_OPERATING_SYSTEM: the process has no
  // free descriptor.
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
  // Maps `size` bytes of the file from `offset` on at `address`, in place of an
  // earlier mapping. The bytes are not accessible before Protect. `address`,
  // `size` and `offset` are multiples of the page size. `fd` is borrowed for
  // the call. The view takes `range` over, which may be null, and keeps `keep`
  // alive. CUDA_ERROR_OUT_OF_MEMORY: the system refuses the mapping.
  static CUresult Create(uintptr_t address, size_t size, int fd, size_t offset,
                         std::unique_ptr<AddressRange> range,
                         std::shared_ptr<void> keep,
                         std::unique_ptr<FileView>* view);
  ~FileView() override;

  // Sets the access rights of the whole view, for kernels and for the host.
  // CUDA_ERROR_OUT_OF_MEMORY: the system refuses.
  CUresult Protect(bool readable, bool writable);

 private:
  FileView() = default;

  uintptr_t address_ = 0;
  size_t size_ = 0;
  std::unique_ptr<AddressRange> range_;
  std::shared_ptr<void> keep_;
};

// A second mapping of shared memory of this process. It lies in the device
// window, so that kernels can access the memory.
class Alias : public Backing {
 public:
  // Maps the pages of [address, address + size) a second time. Returns null if
  // they are not one shared mapping (private memory cannot be mapped twice), or
  // if the device window has no room.
  static std::unique_ptr<Alias> Create(uintptr_t address, size_t size);
  ~Alias() override;

  // The address of the first byte in the device window.
  uintptr_t address() const { return address_; }

 private:
  Alias() = default;

  std::unique_ptr<AddressRange> range_;
  uintptr_t address_ = 0;
  size_t mapped_ = 0;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_BACKING_H_
