// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/ipc.h"

#include <cstring>
#include <utility>

#include "client/cpp/event.h"
#include "client/cuda/allocate.h"
#include "client/cuda/answer.h"
#include "client/cuda/pinned_memory.h"
#include "client/cuda/token_descriptor.h"
#include "core/base/status_macros.h"

namespace holdfast::libcuda {
namespace {

// The bytes of a handle: its kind, the token, the name of the memory's pool if
// it has one, and zeros.
struct HandleBytes {
  TokenKind kind;
  char token[kTokenBytes];
  char pool[kTokenBytes];
  char unused[24];
};
constexpr TokenKind kMemory = "hf-mem1";
constexpr TokenKind kEvent = "hf-evt1";
constexpr TokenKind kPool = "hf-pol1";
constexpr TokenKind kPoolMemory = "hf-pme1";
constexpr TokenKind kHostPool = "hf-hpl1";
constexpr TokenKind kHostPoolMemory = "hf-hpm1";

// The bytes of CUmemPoolPtrExportData for pinned memory.
struct HostPoolBytes {
  TokenKind kind;
  ArenaReference memory;
  char pool[kTokenBytes];
  uint64_t id;  // of the allocation
  char unused[8];
};
static_assert(sizeof(HostPoolBytes) == sizeof(CUmemPoolPtrExportData));

template <typename Handle>
void Write(const TokenKind& kind, const std::string& token, Handle* handle,
           const std::string& pool = "") {
  static_assert(sizeof(Handle) == sizeof(HandleBytes));
  HandleBytes bytes{};
  std::memcpy(bytes.kind, kind, sizeof kind);
  token.copy(bytes.token, kTokenBytes);
  pool.copy(bytes.pool, kTokenBytes);
  std::memcpy(handle, &bytes, sizeof bytes);
}

// Returns the token; empty: these are no bytes of Write.
template <typename Handle>
std::string Read(const TokenKind& kind, const Handle& handle) {
  HandleBytes bytes;
  std::memcpy(&bytes, &handle, sizeof bytes);
  if (std::memcmp(bytes.kind, kind, sizeof kind) != 0) return "";
  return std::string(bytes.token, kTokenBytes);
}

bool IsHost(const MemoryPool& pool) {
  return pool.kind() == MemoryPool::Kind::kHost;
}

// REQUIRES: the memory is of a shared pool of pinned memory.
void WritePinned(const Allocation& memory, CUmemPoolPtrExportData* data) {
  const PoolSharing& sharing = memory.pool->sharing();
  HostPoolBytes bytes{};
  std::memcpy(bytes.kind, kHostPoolMemory, sizeof bytes.kind);
  bytes.memory = PinnedMemory::Reference(*memory.span);
  sharing.name.copy(bytes.pool, kTokenBytes);
  bytes.id = memory.id;
  std::memcpy(data, &bytes, sizeof bytes);
}

// nullopt: these are no bytes of WritePinned for this pool.
std::optional<ArenaReference> ReadPinned(const MemoryPool& pool,
                                         const CUmemPoolPtrExportData& data) {
  HostPoolBytes bytes;
  std::memcpy(&bytes, &data, sizeof bytes);
  if (std::memcmp(bytes.kind, kHostPoolMemory, sizeof bytes.kind) != 0 ||
      pool.sharing().name != std::string(bytes.pool, kTokenBytes)) {
    return std::nullopt;
  }
  return bytes.memory;
}

CUresult AnswerOfOpen(const absl::Status& status) {
  const CUresult result = Answer(status);
  const bool unknown =
      absl::IsNotFound(status) || absl::IsPermissionDenied(status);
  return unknown && LastFault() == CUDA_SUCCESS ? CUDA_ERROR_INVALID_HANDLE
                                                : result;
}

// REQUIRES: the memory is a buffer.
absl::StatusOr<std::string> TokenOf(Allocation& memory,
                                    const std::string& tenant) {
  return memory.exported.Token(
      *memory.buffer, {.rights = Rights::kReadWrite, .with_neighbours = true},
      tenant);
}

// Gives an allocation the memory that another process has exported.
auto MapToken(Context& context, const std::string& token) {
  return [&](Allocation& memory) -> absl::Status {
    HOLDFAST_ASSIGN_OR_RETURN(memory.buffer, context.device().Import(token));
    memory.size = memory.buffer->size();
    HOLDFAST_ASSIGN_OR_RETURN(memory.address, memory.buffer->address());
    return absl::OkStatus();
  };
}

absl::Status MapPinned(PinnedMemory& pinned, const ArenaReference& reference,
                       Allocation& memory) {
  HOLDFAST_ASSIGN_OR_RETURN(memory.span, pinned.Open(reference));
  memory.size = memory.span->size();
  memory.address = reinterpret_cast<uint64_t>(memory.span->data());
  return absl::OkStatus();
}

// Adds the object of a token, and removes the objects that have ended.
template <typename Object>
void Keep(const std::string& token, const std::shared_ptr<Object>& object,
          std::map<std::string, std::weak_ptr<Object>>* objects) {
  std::erase_if(*objects,
                [](const auto& entry) { return entry.second.expired(); });
  (*objects)[token] = object;
}

// cuMemAlloc's memory alone.
bool CanBeExported(const Allocation& memory) {
  return !memory.is_managed && memory.pool == nullptr && IsFreeable(memory);
}

}  // namespace

Ipc& Ipc::Get() {
  static Ipc& ipc = *new Ipc;
  return ipc;
}

CUresult Ipc::GetMemory(Process& process, CUdeviceptr pointer,
                        CUipcMemHandle* handle) {
  const std::shared_ptr<Allocation> memory = process.memory.Find(pointer);
  if (handle == nullptr || memory == nullptr || !CanBeExported(*memory)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  HOLDFAST_ANSWER_OR_ASSIGN(const std::string tenant,
                            process.connection().Tenant());
  HOLDFAST_ANSWER_OR_ASSIGN(const std::string token, TokenOf(*memory, tenant));
  {
    absl::MutexLock lock(&mutex_);
    Keep(token, memory, &own_);
  }
  Write(kMemory, token, handle);
  return CUDA_SUCCESS;
}

CUresult Ipc::OpenMemory(Process& process, Context& context,
                         const CUipcMemHandle& handle, CUdeviceptr* pointer) {
  const std::string token = Read(kMemory, handle);
  if (token.empty()) return CUDA_ERROR_INVALID_VALUE;
  return Open(process, context, {context.id(), token}, /*pool=*/nullptr,
              MapToken(context, token), pointer);
}

CUresult Ipc::Open(Process& process, Context& context, const Key& key,
                   std::shared_ptr<MemoryPool> pool,
                   absl::FunctionRef<absl::Status(Allocation&)> map,
                   CUdeviceptr* pointer) {
  absl::MutexLock lock(&mutex_);
  if (own_.contains(key.second)) return CUDA_ERROR_INVALID_CONTEXT;
  Opened& opened = opened_[key];
  if (const auto memory = opened.memory.lock()) {
    ++opened.times;
    *pointer = memory->address;
    return CUDA_SUCCESS;
  }
  auto memory = NewAllocation(context, 0);
  memory->context_id = key.first;
  const absl::Status mapped = map(*memory);
  if (!mapped.ok()) {
    opened_.erase(key);
    return AnswerOfOpen(mapped);
  }
  memory->is_borrowed = true;
  if (pool != nullptr) pool->Take(memory->size);
  memory->pool = std::move(pool);
  opened = {memory, 1};
  *pointer = memory->address;
  process.memory.Add(std::move(memory));
  return CUDA_SUCCESS;
}

std::optional<std::shared_ptr<Allocation>> Ipc::Close(Process& process,
                                                      CUdeviceptr pointer) {
  absl::MutexLock lock(&mutex_);
  for (auto entry = opened_.begin(); entry != opened_.end(); ++entry) {
    const auto memory = entry->second.memory.lock();
    if (memory == nullptr || memory->address != pointer) continue;
    if (--entry->second.times > 0) return nullptr;
    opened_.erase(entry);
    return process.memory.Remove(pointer, [&](const Allocation& found) {
      return &found == memory.get();
    });
  }
  return std::nullopt;
}

CUresult Ipc::CloseMemory(Process& process, CUdeviceptr pointer) {
  return Close(process, pointer).has_value() ? CUDA_SUCCESS
                                             : CUDA_ERROR_INVALID_VALUE;
}

CUresult Ipc::ExportPool(const MemoryPool& pool, int* fd) {
  if (pool.sharing().name.empty() || pool.sharing().is_imported) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  HOLDFAST_ANSWER_OR_ASSIGN(
      UniqueFd descriptor, MakeTokenDescriptor(IsHost(pool) ? kHostPool : kPool,
                                               pool.sharing().name));
  *fd = descriptor.Release();
  return CUDA_SUCCESS;
}

CUresult Ipc::ImportPool(Process& process, int fd, CUmemoryPool* pool) {
  PoolSharing sharing{.name = ReadToken(kHostPool, fd), .is_imported = true};
  auto kind = MemoryPool::Kind::kHost;
  int ordinal = 0;
  if (!sharing.name.empty()) {
    sharing.pinned =
        std::make_unique<PinnedMemory>(process.connection().session());
  } else {
    sharing.name = ReadToken(kPool, fd);
    if (sharing.name.empty()) return CUDA_ERROR_INVALID_VALUE;
    kind = MemoryPool::Kind::kDevice;
    const auto context = process.contexts().Find(CurrentContext());
    if (context != nullptr) ordinal = context->ordinal();
  }
  *pool = process.pools().Add(std::make_shared<MemoryPool>(
      kind, ordinal, /*max_size=*/0, std::move(sharing)));
  return CUDA_SUCCESS;
}

CUresult Ipc::ExportPoolMemory(Process& process, CUdeviceptr pointer,
                               CUmemPoolPtrExportData* data) {
  const std::shared_ptr<Allocation> memory = process.memory.Find(pointer);
  if (memory == nullptr || memory->pool == nullptr || memory->is_borrowed ||
      memory->pool->sharing().name.empty()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (IsHost(*memory->pool)) {
    WritePinned(*memory, data);
    return CUDA_SUCCESS;
  }
  HOLDFAST_ANSWER_OR_ASSIGN(const std::string tenant,
                            process.connection().Tenant());
  HOLDFAST_ANSWER_OR_ASSIGN(const std::string token, TokenOf(*memory, tenant));
  Write(kPoolMemory, token, data, memory->pool->sharing().name);
  return CUDA_SUCCESS;
}

CUresult Ipc::ImportPoolMemory(Process& process, Context& context,
                               std::shared_ptr<MemoryPool> pool,
                               const CUmemPoolPtrExportData& data,
                               CUdeviceptr* pointer) {
  if (!pool->sharing().is_imported) return CUDA_ERROR_INVALID_VALUE;
  if (IsHost(*pool)) {
    const std::optional<ArenaReference> reference = ReadPinned(*pool, data);
    if (!reference.has_value()) return CUDA_ERROR_INVALID_VALUE;
    PinnedMemory& pinned = *pool->sharing().pinned;
    const auto map = [&](Allocation& memory) {
      return MapPinned(pinned, *reference, memory);
    };
    const std::string name(reinterpret_cast<const char*>(&data), sizeof data);
    return Open(process, context, {0, name}, std::move(pool), map, pointer);
  }
  const std::string token = Read(kPoolMemory, data);
  HandleBytes bytes;
  std::memcpy(&bytes, &data, sizeof bytes);
  if (token.empty() ||
      pool->sharing().name != std::string(bytes.pool, kTokenBytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Open(process, context, {context.id(), token}, std::move(pool),
              MapToken(context, token), pointer);
}

CUresult Ipc::FreePoolMemory(Process& process, CUdeviceptr pointer,
                             std::shared_ptr<Allocation>* ended) {
  auto closed = Close(process, pointer);
  if (!closed.has_value()) return CUDA_ERROR_INVALID_VALUE;
  *ended = *std::move(closed);
  return CUDA_SUCCESS;
}

CUresult Ipc::GetEvent(Process& process,
                       const std::shared_ptr<ProgramEvent>& event,
                       CUipcEventHandle* handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (event->is_imported || !event->is_interprocess) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  HOLDFAST_ANSWER_OR_ASSIGN(const std::string tenant,
                            process.connection().Tenant());
  HOLDFAST_ANSWER_OR_ASSIGN(const std::string token,
                            event->exported.Token(event->event, {}, tenant));
  {
    absl::MutexLock lock(&mutex_);
    Keep(token, event, &own_events_);
  }
  Write(kEvent, token, handle);
  return CUDA_SUCCESS;
}

CUresult Ipc::OpenEvent(Process& process, Context& context,
                        const CUipcEventHandle& handle, CUevent* event) {
  const std::string token = Read(kEvent, handle);
  if (token.empty()) return CUDA_ERROR_INVALID_HANDLE;
  {
    absl::MutexLock lock(&mutex_);
    const auto own = own_events_.find(token);
    if (own != own_events_.end() && !own->second.expired()) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
  }
  absl::StatusOr<Event> imported = context.device().ImportEvent(token);
  if (!imported.ok()) return AnswerOfOpen(imported.status());
  auto opened = std::make_shared<ProgramEvent>(
      *std::move(imported), context.id(), context.device().ordinal());
  opened->is_imported = true;
  *event = process.events.Add(std::move(opened));
  return CUDA_SUCCESS;
}

}  // namespace holdfast::libcuda
