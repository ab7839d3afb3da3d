// SPDX-License-Identifier: Apache-2.0
//
// The memory behind addresses of the device window. Everything device-like is
// a memfd, so that another process can map the same bytes.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_BACKING_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_BACKING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/unique_fd.h"
#include "core/software/driver/ipc.h"
#include "core/software/runtime/window.h"
#include "cuda.h"

namespace holdfast::software {

constexpr size_t RoundUp(size_t size, size_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// How much of the device's memory is taken. Thread-safe. Counts bytes only;
// those who take them map the memory.
class MemoryBudget {
 public:
  explicit MemoryBudget(size_t total) : total_(total) {}

  // False, and nothing taken, if less is free.
  bool Take(size_t size);
  // REQUIRES: taken.
  void Return(size_t size) { used_ -= size; }

  size_t total() const { return total_; }
  size_t free() const { return total_ - used_; }

 private:
  const size_t total_;
  std::atomic<size_t> used_{0};
};

// Keeps a stretch of memory mapped; the destructor unmaps it. The base of
// everything that a Region may keep alive.
class Backing {
 public:
  virtual ~Backing() = default;
};

// Memory of its own with a guard gap after it, for cuMemAlloc and the like.
// All blocks share one memfd, in which a block lies at its offset in the
// window: as many blocks as wanted, one descriptor. A pool that is exported
// has such a memfd of its own.
//
// The gap of 64 KiB makes a kernel fault that runs over the end.
class Block : public Backing {
 public:
  enum class Place {
    kStart,  // begins at a page, as host memory does
    kEnd,    // ends within 256 bytes of the gap: small overruns are found, too
  };

  // The name of the memfd of all blocks, as other processes see it.
  static constexpr char kMemfdName[] = "holdfast-device-memory";
  // A memfd for blocks, as large as the window.
  static UniqueFd CreateMemfd(const char* name);

  // `budget` may be null. The block must not outlive it, nor `fd`, a memfd of
  // CreateMemfd; -1: that of all blocks. CUDA_SUCCESS or
  // CUDA_ERROR_OUT_OF_MEMORY. Memory of 2 MiB and more is aligned for huge
  // pages. The bytes are zero.
  static CUresult Create(size_t size, Place place, MemoryBudget* budget, int fd,
                         std::unique_ptr<Block>* block);
  ~Block() override;

  // Gives the pages back to the system. They stay mapped and become zeros.
  void Discard();

  // The first byte of the allocation, aligned to 256 bytes.
  uintptr_t address() const { return address_; }
  // Bytes that were asked for.
  size_t size() const { return size_; }

  // For another process. It names the whole pages and the allocation's place in
  // them.
  IpcHandle handle(IpcHandle::Kind kind) const;
  // Bytes that the budget was charged.
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

// Physical memory in the sense of cuMemCreate: a memfd of its own, mapped
// nowhere by itself. Immutable, thread-safe.
//
// The memfd is sealed against shrinking, since an importer relies on its size.
class PhysicalMemory {
 public:
  // `size` is a multiple of the page size. CUDA_ERROR_OUT_OF_MEMORY: the budget
  // or the system has no more. The budget must outlive the memory.
  static CUresult Create(size_t size, const CUmemAllocationProp& properties,
                         MemoryBudget* budget,
                         std::shared_ptr<PhysicalMemory>* memory);
  // Takes a duplicate of a descriptor that came from another process, after
  // checking that it is a memfd made by Create. It counts as memory of
  // `device`. CUDA_ERROR_INVALID_VALUE: it is not sealed, or no whole number of
  // pages.
  static CUresult Import(int fd, CUdevice device, MemoryBudget* budget,
                         std::shared_ptr<PhysicalMemory>* memory);
  ~PhysicalMemory();

  // Stays owned by this object.
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

// Part of a descriptor's bytes mapped at a place that the caller reserved.
class FileView : public Backing {
 public:
  // All arguments in whole pages. Maps without access rights, see Protect. If
  // `range` is given, the view owns it. `keep` lives as long as the view. Takes
  // the place of an earlier mapping. CUDA_ERROR_OUT_OF_MEMORY: the system
  // refuses.
  static CUresult Create(uintptr_t address, size_t size, int fd, size_t offset,
                         std::unique_ptr<AddressRange> range,
                         std::shared_ptr<void> keep,
                         std::unique_ptr<FileView>* view);
  ~FileView() override;

  // For the whole view. The rights hold for kernels and the host alike.
  CUresult Protect(bool readable, bool writable);

 private:
  FileView() = default;

  uintptr_t address_ = 0;
  size_t size_ = 0;
  std::unique_ptr<AddressRange> range_;
  std::shared_ptr<void> keep_;
};

// Memory of this process mapped once more, in the device window, so that
// kernels reach bytes that somebody else shares with it.
class Alias : public Backing {
 public:
  // Null if the bytes from `address` on, in whole pages, are no single shared
  // mapping (ordinary memory of the process cannot be mapped twice), or the
  // window has no room.
  static std::unique_ptr<Alias> Create(uintptr_t address, size_t size);
  ~Alias() override;

  // The alias of the first byte.
  uintptr_t address() const { return address_; }

 private:
  Alias() = default;

  std::unique_ptr<AddressRange> range_;
  uintptr_t address_ = 0;
  size_t mapped_ = 0;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_BACKING_H_
