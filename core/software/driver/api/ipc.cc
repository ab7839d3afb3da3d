// SPDX-License-Identifier: Apache-2.0
//
// Entry points: memory, events and pools between processes.
#include "core/software/driver/ipc.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <utility>

#include "core/software/driver/call.h"

using namespace holdfast::software;
using holdfast::UniqueFd;

namespace {

// As behind memory of one's own.
constexpr size_t kImportGap = 64 << 10;

template <typename To>
To Export(const IpcHandle& handle) {
  return std::bit_cast<To>(handle);
}

template <typename From>
IpcHandle Import(const From& bytes) {
  return std::bit_cast<IpcHandle>(bytes);
}

// Maps what the handle says lies in the memfd, as memory of this context.
CUresult Map(Driver& driver, Context& context, const IpcHandle& handle,
             UniqueFd fd, MemoryKind kind, CUmemoryPool pool,
             CUdeviceptr* pointer) {
  std::unique_ptr<AddressRange> range =
      GetAddressSpace().Reserve(handle.pages + kImportGap, kPageSize, 0);
  if (range == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const uintptr_t start = range->address();
  std::unique_ptr<FileView> view;
  CUresult result =
      FileView::Create(start, handle.pages, fd.get(), handle.offset,
                       std::move(range), nullptr, &view);
  if (result == CUDA_SUCCESS) result = view->Protect(true, true);
  if (result != CUDA_SUCCESS) return result;
  Region region;
  region.address = start + handle.start;
  region.size = handle.size;
  region.kind = kind;
  region.context_id = context.id();
  region.device = context.device().ordinal();
  region.pool = pool;
  region.backing = std::move(view);
  *pointer = region.address;
  driver.memory.Insert(std::move(region));
  return CUDA_SUCCESS;
}

// The kind of the memory of an exported pool; nullopt: `fd` is no pool.
std::optional<MemoryKind> KindOfPool(int fd) {
  for (const MemoryKind kind : {MemoryKind::kPool, MemoryKind::kHostPool}) {
    if (IsMemfd(fd, MemoryPool::MemfdName(kind), 0)) return kind;
  }
  return std::nullopt;
}

}  // namespace

extern "C" {

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
  return WithContext([&](Driver& driver, Context&) {
    const std::optional<Region> region = driver.memory.Find(pointer);
    if (handle == nullptr || !region.has_value() ||
        region->kind != MemoryKind::kDevice) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const auto& block = static_cast<const Block&>(*region->backing);
    *handle = Export<CUipcMemHandle>(block.handle(IpcHandle::Kind::kMemory));
    return CUDA_SUCCESS;
  });
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle bytes,
                               unsigned flags) {
  return WithContext([&](Driver& driver, Context& context) {
    const IpcHandle handle = Import(bytes);
    if (pointer == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS ||
        !handle.Valid(IpcHandle::Kind::kMemory)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // A process cannot open its own handles.
    if (handle.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
    const auto alive = [&](CUdeviceptr address) {
      const std::optional<Region> region = driver.memory.Find(address);
      return region.has_value() && region->kind == MemoryKind::kImported;
    };
    return driver.imports.Open(bytes, pointer, alive, [&](CUdeviceptr* opened) {
      UniqueFd fd = OpenMemfd(handle.process, handle.descriptor,
                              Block::kMemfdName, handle.offset + handle.pages);
      if (!fd.valid()) return CUDA_ERROR_INVALID_VALUE;
      return Map(driver, context, handle, std::move(fd), MemoryKind::kImported,
                 nullptr, opened);
    });
  });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) {
  return WithContext([&](Driver& driver, Context&) {
    return driver.imports.Close(pointer, [&] {
      const auto region =
          driver.memory.Remove(pointer, {MemoryKind::kImported});
      driver.DrainAll();
    });
  });
}

CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event_handle) {
  return WithEvent(event_handle, [&](Event& event) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (event.shared() == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *handle = Export<CUipcEventHandle>(event.shared()->handle());
    return CUDA_SUCCESS;
  });
}

CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle bytes) {
  return WithContext([&](Driver& driver, Context& context) {
    const IpcHandle handle = Import(bytes);
    if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (handle.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
    auto progress = SharedProgress::Open(handle);
    if (progress == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *event = driver.events.Add(std::make_shared<Event>(
        context.id(), CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING,
        std::move(progress)));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolExportToShareableHandle(void* shareable,
                                          CUmemoryPool pool_handle,
                                          CUmemAllocationHandleType type,
                                          unsigned long long flags) {
  return WithDriver([&](Driver& driver) {
    const std::shared_ptr<MemoryPool> pool = driver.pools.Find(pool_handle);
    if (shareable == nullptr || pool == nullptr || pool->fd() < 0 ||
        type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const int fd = fcntl(pool->fd(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *static_cast<int*>(shareable) = fd;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* shareable,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  return WithDriver([&](Driver& driver) {
    // The descriptor stands in the pointer itself.
    const int fd = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
    if (pool == nullptr || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::optional<MemoryKind> kind = KindOfPool(fd);
    if (!kind.has_value()) return CUDA_ERROR_INVALID_VALUE;
    UniqueFd own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!own.valid()) return CUDA_ERROR_OPERATING_SYSTEM;
    *pool = driver.pools.Add(
        MemoryPool::Imported(driver.CurrentDevice(), *kind, std::move(own)));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* data,
                                CUdeviceptr pointer) {
  return WithContext([&](Driver& driver, Context&) {
    const std::optional<Region> region = driver.memory.Find(pointer);
    if (data == nullptr || !region.has_value() || region->pool == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::shared_ptr<MemoryPool> pool = driver.pools.Find(region->pool);
    const Block* block =
        pool == nullptr ? nullptr : pool->BlockOf(region->backing);
    if (block == nullptr || pool->fd() < 0) return CUDA_ERROR_INVALID_VALUE;
    *data = Export<CUmemPoolPtrExportData>(
        block->handle(IpcHandle::Kind::kPoolPointer));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolImportPointer(CUdeviceptr* pointer, CUmemoryPool pool_handle,
                                CUmemPoolPtrExportData* data) {
  return WithContext([&](Driver& driver, Context& context) {
    const std::shared_ptr<MemoryPool> pool = driver.pools.Find(pool_handle);
    if (AnyNull(pointer, data) || pool == nullptr || !pool->imported()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const IpcHandle handle = Import(*data);
    if (!handle.Valid(IpcHandle::Kind::kPoolPointer) ||
        !IsMemfd(pool->fd(), MemoryPool::MemfdName(pool->kind()),
                 handle.offset + handle.pages)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    UniqueFd fd(fcntl(pool->fd(), F_DUPFD_CLOEXEC, 0));
    if (!fd.valid()) return CUDA_ERROR_OPERATING_SYSTEM;
    return Map(driver, context, handle, std::move(fd), pool->kind(),
               pool_handle, pointer);
  });
}

}  // extern "C"
