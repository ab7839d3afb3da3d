// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/ipc.h"

#include <cstring>
#include <utility>

#include "client/cpp/event.h"
#include "client/cuda/allocate.h"
#include "client/cuda/answer.h"

namespace holdfast::libcuda {
namespace {

constexpr size_t kTokenBytes = 16;

// The bytes of a handle: its kind, the token, and zeros.
struct HandleBytes {
  char kind[8];
  char token[kTokenBytes];
  char unused[40];
};
constexpr char kMemory[8] = "hf-mem1";
constexpr char kEvent[8] = "hf-evt1";

template <typename Handle>
void Write(const char (&kind)[8], const std::string& token, Handle* handle) {
  static_assert(sizeof(Handle) == sizeof(HandleBytes));
  HandleBytes bytes{};
  std::memcpy(bytes.kind, kind, sizeof kind);
  token.copy(bytes.token, kTokenBytes);
  std::memcpy(handle, &bytes, sizeof bytes);
}

// Returns the token; empty: these are no bytes of Write.
template <typename Handle>
std::string Read(const char (&kind)[8], const Handle& handle) {
  HandleBytes bytes;
  std::memcpy(&bytes, &handle, sizeof bytes);
  if (std::memcmp(bytes.kind, kind, sizeof kind) != 0) return "";
  return std::string(bytes.token, kTokenBytes);
}

CUresult AnswerOfOpen(const absl::Status& status) {
  const CUresult result = Answer(status);
  const bool unknown =
      absl::IsNotFound(status) || absl::IsPermissionDenied(status);
  return unknown && LastFault() == CUDA_SUCCESS ? CUDA_ERROR_INVALID_HANDLE
                                                : result;
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
  HOLDFAST_ANSWER_OR_ASSIGN(const std::string tenant, process.Tenant());
  HOLDFAST_ANSWER_OR_ASSIGN(
      const std::string token,
      memory->exported.Token(
          *memory->buffer,
          {.rights = Rights::kReadWrite, .with_neighbours = true}, tenant));
  {
    absl::MutexLock lock(&mutex_);
    std::erase_if(own_,
                  [](const auto& entry) { return entry.second.expired(); });
    own_[token] = memory;
  }
  Write(kMemory, token, handle);
  return CUDA_SUCCESS;
}

CUresult Ipc::OpenMemory(Process& process, Context& context,
                         const CUipcMemHandle& handle, CUdeviceptr* pointer) {
  const std::string token = Read(kMemory, handle);
  if (token.empty()) return CUDA_ERROR_INVALID_HANDLE;
  absl::MutexLock lock(&mutex_);
  if (own_.contains(token)) return CUDA_ERROR_INVALID_CONTEXT;
  Opened& opened = opened_[{context.id(), token}];
  if (const auto memory = opened.memory.lock()) {
    ++opened.times;
    *pointer = memory->address;
    return CUDA_SUCCESS;
  }
  absl::StatusOr<Buffer> imported = context.device().Import(token);
  if (!imported.ok()) {
    opened_.erase({context.id(), token});
    return AnswerOfOpen(imported.status());
  }
  auto memory = NewAllocation(context, imported->size());
  HOLDFAST_ANSWER_OR_ASSIGN(memory->address, imported->address());
  memory->buffer = *std::move(imported);
  memory->is_borrowed = true;
  opened = {memory, 1};
  *pointer = memory->address;
  process.memory.Add(std::move(memory));
  return CUDA_SUCCESS;
}

CUresult Ipc::CloseMemory(Process& process, CUdeviceptr pointer) {
  absl::MutexLock lock(&mutex_);
  for (auto entry = opened_.begin(); entry != opened_.end(); ++entry) {
    const auto memory = entry->second.memory.lock();
    if (memory == nullptr || memory->address != pointer) continue;
    if (--entry->second.times > 0) return CUDA_SUCCESS;
    opened_.erase(entry);
    process.memory.Remove(pointer, [&](const Allocation& found) {
      return &found == memory.get();
    });
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult Ipc::GetEvent(Process& process, ProgramEvent& event,
                       CUipcEventHandle* handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (event.is_imported) return CUDA_ERROR_INVALID_HANDLE;
  HOLDFAST_ANSWER_OR_ASSIGN(const std::string tenant, process.Tenant());
  HOLDFAST_ANSWER_OR_ASSIGN(const std::string token,
                            event.exported.Token(event.event, {}, tenant));
  Write(kEvent, token, handle);
  return CUDA_SUCCESS;
}

CUresult Ipc::OpenEvent(Process& process, Context& context,
                        const CUipcEventHandle& handle, CUevent* event) {
  const std::string token = Read(kEvent, handle);
  if (token.empty()) return CUDA_ERROR_INVALID_HANDLE;
  absl::StatusOr<Event> imported = context.device().ImportEvent(token);
  if (!imported.ok()) return AnswerOfOpen(imported.status());
  auto opened = std::make_shared<ProgramEvent>(
      *std::move(imported), context.id(), context.device().ordinal());
  opened->is_imported = true;
  *event = process.events.Add(std::move(opened));
  return CUDA_SUCCESS;
}

}  // namespace holdfast::libcuda
