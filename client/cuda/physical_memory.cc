// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/physical_memory.h"

#include <utility>

#include "client/cuda/answer.h"
#include "client/cuda/token_descriptor.h"
#include "core/cuda/allocation_properties.h"
#include "core/cuda/handle_value.h"

namespace holdfast::libcuda {
namespace {

constexpr TokenKind kKind = "hf-vmm1";

holdfast::Device DeviceOf(Process& process, int ordinal) {
  return process.connection().session().device(
      process.connection().devices()[static_cast<size_t>(ordinal)].ordinal());
}

}  // namespace

PhysicalMemoryTable& PhysicalMemoryTable::Get() {
  static PhysicalMemoryTable& table = *new PhysicalMemoryTable;
  return table;
}

CUresult PhysicalMemoryTable::CheckProperties(Process& process,
                                              const CUmemAllocationProp& p) {
  return cuda::CheckAllocationProperties(
      p, static_cast<int>(process.connection().devices().size()));
}

CUresult PhysicalMemoryTable::Create(Process& process, uint64_t size,
                                     const CUmemAllocationProp& properties,
                                     Handle* handle) {
  const CUresult result = CheckProperties(process, properties);
  if (result != CUDA_SUCCESS) return result;
  HOLDFAST_ANSWER_OR_ASSIGN(
      Buffer buffer,
      DeviceOf(process, properties.location.id).AllocateShared(size));
  // Tells whether there was memory.
  HOLDFAST_ANSWER_IF_ERROR(buffer.address().status());
  auto memory = std::make_shared<PhysicalMemory>(std::move(buffer));
  memory->properties = properties;
  *handle = Add(std::move(memory));
  return CUDA_SUCCESS;
}

PhysicalMemoryTable::Handle PhysicalMemoryTable::Add(
    std::shared_ptr<PhysicalMemory> memory) {
  const Handle handle = cuda::NewHandleValue();
  absl::MutexLock lock(&mutex_);
  memories_[handle] = {std::move(memory), 1};
  return handle;
}

void PhysicalMemoryTable::Retain(Handle handle,
                                 std::shared_ptr<PhysicalMemory> memory) {
  absl::MutexLock lock(&mutex_);
  Entry& entry = memories_[handle];
  entry.memory = std::move(memory);
  ++entry.references;
}

std::shared_ptr<PhysicalMemory> PhysicalMemoryTable::Find(Handle handle) {
  absl::MutexLock lock(&mutex_);
  const auto found = memories_.find(handle);
  return found == memories_.end() ? nullptr : found->second.memory;
}

bool PhysicalMemoryTable::Remove(Handle handle) {
  absl::MutexLock lock(&mutex_);
  const auto found = memories_.find(handle);
  if (found == memories_.end()) return false;
  if (--found->second.references == 0) memories_.erase(found);
  return true;
}

CUresult PhysicalMemoryTable::Export(Process& process, Handle handle, int* fd) {
  const std::shared_ptr<PhysicalMemory> memory = Find(handle);
  if (memory == nullptr || (memory->properties.requestedHandleTypes &
                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  HOLDFAST_ANSWER_OR_ASSIGN(const std::string tenant,
                            process.connection().Tenant());
  HOLDFAST_ANSWER_OR_ASSIGN(
      const std::string token,
      memory->exported.Token(memory->buffer, {.rights = Rights::kReadWrite},
                             tenant));
  HOLDFAST_ANSWER_OR_ASSIGN(UniqueFd descriptor,
                            MakeTokenDescriptor(kKind, token));
  {
    absl::MutexLock lock(&mutex_);
    std::erase_if(exported_,
                  [](const auto& entry) { return entry.second.expired(); });
    exported_[token] = memory;
  }
  *fd = descriptor.Release();
  return CUDA_SUCCESS;
}

CUresult PhysicalMemoryTable::Import(Process& process, int fd, Handle* handle) {
  const std::string token = ReadToken(kKind, fd);
  if (token.empty()) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<PhysicalMemory> memory;
  {
    absl::MutexLock lock(&mutex_);
    const auto own = exported_.find(token);
    if (own != exported_.end()) memory = own->second.lock();
  }
  if (memory == nullptr) {
    const auto context = process.contexts().Find(CurrentContext());
    const int ordinal = context == nullptr ? 0 : context->ordinal();
    HOLDFAST_ANSWER_OR_ASSIGN(Buffer buffer,
                              DeviceOf(process, ordinal).Import(token));
    memory = std::make_shared<PhysicalMemory>(std::move(buffer));
    memory->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    memory->properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  }
  *handle = Add(std::move(memory));
  return CUDA_SUCCESS;
}

}  // namespace holdfast::libcuda
