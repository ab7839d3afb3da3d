// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/backing.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

#include "core/software/abi/window.h"
#include "core/software/driver/trace.h"

namespace holdfast::software {
namespace {

// One page would do for the overruns of a loop that steps by elements; more
// room catches rows of a matrix, too, and costs only addresses.
constexpr size_t kGuardGap = 64 << 10;
constexpr size_t kSmallestAlignment = 256;

UniqueFd CreateFd(const char* name, size_t size) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ftruncate(fd.get(), static_cast<off_t>(size)) != 0) {
    return UniqueFd();
  }
  return fd;
}

void* Pointer(uintptr_t address) { return reinterpret_cast<void*>(address); }

bool MapShared(uintptr_t address, size_t size, int protection, int fd,
               size_t offset) {
  return mmap(Pointer(address), size, protection, MAP_SHARED | MAP_FIXED, fd,
              static_cast<off_t>(offset)) != MAP_FAILED;
}

// Back to what the window was before: reserved, not accessible.
void Unmap(uintptr_t address, size_t size) {
  if (mmap(Pointer(address), size, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
           0) == MAP_FAILED) {
    Print("cannot unmap ", size, " bytes of device memory");
  }
}

}  // namespace

bool MemoryBudget::Take(size_t size) {
  size_t used = used_.load();
  do {
    if (size > total_ || used > total_ - size) return false;
  } while (!used_.compare_exchange_weak(used, used + size));
  return true;
}

UniqueFd Block::CreateMemfd(const char* name) {
  UniqueFd fd = CreateFd(name, GetDeviceWindow().size);
  // See PhysicalMemory::Create.
  if (fd.valid()) {
    fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  }
  return fd;
}

IpcHandle Block::handle(IpcHandle::Kind kind) const {
  IpcHandle handle = IpcHandle::Make(kind);
  handle.descriptor = fd_;
  handle.offset = file_offset();
  handle.pages = mapped_;
  handle.start = address_ - range_->address();
  handle.size = size_;
  return handle;
}

size_t Block::file_offset() const {
  return range_->address() - GetDeviceWindow().base;
}

CUresult Block::Create(size_t size, Place place, MemoryBudget* budget, int fd,
                       std::unique_ptr<Block>* block) {
  static const int shared = CreateMemfd(kMemfdName).Release();
  if (size > GetDeviceWindow().size - kGuardGap)
    return CUDA_ERROR_OUT_OF_MEMORY;
  const size_t mapped = RoundUp(size, kPageSize);
  if (budget != nullptr && !budget->Take(mapped)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::unique_ptr<Block> made(new Block);
  made->fd_ = fd >= 0 ? fd : shared;
  made->budget_ = budget;
  made->mapped_ = mapped;
  made->size_ = size;
  const bool huge = mapped >= kHugePageSize;
  made->range_ = GetAddressSpace().Reserve(mapped + kGuardGap,
                                           huge ? kHugePageSize : kPageSize, 0);
  if (made->range_ == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const uintptr_t start = made->range_->address();
  if (!MapShared(start, mapped, PROT_READ | PROT_WRITE, made->fd_,
                 made->file_offset())) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  // A wish, which many systems do not grant to shared memory.
  if (huge) madvise(Pointer(start), mapped, MADV_HUGEPAGE);
  const size_t room = mapped - RoundUp(size, kSmallestAlignment);
  made->address_ = start + (place == Place::kEnd ? room : 0);
  *block = std::move(made);
  return CUDA_SUCCESS;
}

void Block::Discard() {
  // Best effort: without it the pages stay with the process.
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(file_offset()), static_cast<off_t>(mapped_));
}

Block::~Block() {
  if (address_ != 0) {
    Unmap(range_->address(), mapped_);
    Discard();
  }
  if (budget_ != nullptr) budget_->Return(mapped_);
}

CUresult PhysicalMemory::Create(size_t size,
                                const CUmemAllocationProp& properties,
                                MemoryBudget* budget,
                                std::shared_ptr<PhysicalMemory>* memory) {
  if (!budget->Take(size)) return CUDA_ERROR_OUT_OF_MEMORY;
  std::shared_ptr<PhysicalMemory> made(new PhysicalMemory);
  made->budget_ = budget;
  made->size_ = size;
  made->properties_ = properties;
  made->fd_ = CreateFd("holdfast-physical-memory", size);
  if (!made->fd_.valid()) return CUDA_ERROR_OUT_OF_MEMORY;
  // The importer of a descriptor relies on its size. Not shrinking and not
  // growing is all that can be promised of memory that both sides write.
  fcntl(made->fd_.get(), F_ADD_SEALS,
        F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  *memory = std::move(made);
  return CUDA_SUCCESS;
}

CUresult PhysicalMemory::Import(int fd, CUdevice device, MemoryBudget* budget,
                                std::shared_ptr<PhysicalMemory>* memory) {
  // A file that its owner can shrink would turn our reads into SIGBUS.
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  struct stat status;
  if (fstat(fd, &status) != 0 || status.st_size <= 0 ||
      status.st_size % kPageSize != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::shared_ptr<PhysicalMemory> made(new PhysicalMemory);
  const size_t size = static_cast<size_t>(status.st_size);
  if (!budget->Take(size)) return CUDA_ERROR_OUT_OF_MEMORY;
  made->budget_ = budget;
  made->size_ = size;
  made->fd_ = UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!made->fd_.valid()) return CUDA_ERROR_OPERATING_SYSTEM;
  made->properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  made->properties_.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  made->properties_.requestedHandleTypes =
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  *memory = std::move(made);
  return CUDA_SUCCESS;
}

PhysicalMemory::~PhysicalMemory() {
  if (budget_ != nullptr) budget_->Return(size_);
}

CUresult FileView::Create(uintptr_t address, size_t size, int fd, size_t offset,
                          std::unique_ptr<AddressRange> range,
                          std::shared_ptr<void> keep,
                          std::unique_ptr<FileView>* view) {
  if (!MapShared(address, size, PROT_NONE, fd, offset)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::unique_ptr<FileView> made(new FileView);
  made->address_ = address;
  made->size_ = size;
  made->range_ = std::move(range);
  made->keep_ = std::move(keep);
  *view = std::move(made);
  return CUDA_SUCCESS;
}

FileView::~FileView() { Unmap(address_, size_); }

CUresult FileView::Protect(bool readable, bool writable) {
  const int protection =
      (readable ? PROT_READ : 0) | (writable ? PROT_WRITE : 0);
  return mprotect(Pointer(address_), size_, protection) == 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_OUT_OF_MEMORY;
}

std::unique_ptr<Alias> Alias::Create(uintptr_t address, size_t size) {
  const uintptr_t first = address / kPageSize * kPageSize;
  std::unique_ptr<Alias> made(new Alias);
  const size_t mapped = RoundUp(address + size - first, kPageSize);
  made->range_ = GetAddressSpace().Reserve(mapped + kGuardGap, kPageSize, 0);
  if (made->range_ == nullptr) return nullptr;
  const uintptr_t start = made->range_->address();
  // An old size of 0 leaves the old mapping; it works for shared ones alone.
  if (mremap(Pointer(first), 0, mapped, MREMAP_MAYMOVE | MREMAP_FIXED,
             Pointer(start)) == MAP_FAILED) {
    Unmap(start, mapped);
    return nullptr;
  }
  made->mapped_ = mapped;
  made->address_ = start + (address - first);
  return made;
}

Alias::~Alias() {
  if (mapped_ != 0) Unmap(range_->address(), mapped_);
}

}  // namespace holdfast::software
