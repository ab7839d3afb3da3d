// SPDX-License-Identifier: Apache-2.0
#include "server/executor/supervisor_link.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

// Chunks are unique in the session: by device and the allocator's own number.
uint64_t ChunkId(uint32_t device, const memory::Chunk& chunk) {
  return uint64_t{device} << 32 | chunk.id();
}

}  // namespace

SupervisorLink::SupervisorLink(UniqueFd channel)
    : channel_(std::move(channel)), reader_([this] { ReadMessages(); }) {}

SupervisorLink::~SupervisorLink() {
  {
    absl::MutexLock lock(&mutex_);
    shutdown_ = true;
  }
  channel_.Shutdown();
  reader_.join();
}

void SupervisorLink::Send(const internal::FromExecutor& message, int fd) {
  const absl::Status status = channel_.Send(message, fd);
  if (!status.ok()) LogWarning("to the supervisor: ", status.message());
}

void SupervisorLink::SendReady(const internal::Ready& ready) {
  internal::FromExecutor message;
  *message.mutable_ready() = ready;
  Send(message);
}

void SupervisorLink::SendServing(const absl::Status& status) {
  internal::FromExecutor message;
  message.mutable_serving();
  if (!status.ok()) {
    *message.mutable_serving()->mutable_error() = ToError(status);
  }
  Send(message);
}

void SupervisorLink::SendUsage(const internal::Usage& usage) {
  internal::FromExecutor message;
  *message.mutable_usage() = usage;
  Send(message);
}

void SupervisorLink::OnUsageAsked(
    std::function<void(internal::Usage*)> report) {
  absl::MutexLock lock(&mutex_);
  report_ = std::move(report);
}

void SupervisorLink::AnswerUsage() {
  internal::FromExecutor message;
  internal::Usage& usage = *message.mutable_usage();
  usage.set_asked_for(true);
  if (report_) report_(&usage);
  Send(message);
}

absl::Status SupervisorLink::Reserve(const internal::MemoryPlace& place,
                                     uint64_t bytes) {
  internal::FromExecutor message;
  *message.mutable_reserve()->mutable_place() = place;
  message.mutable_reserve()->set_bytes(bytes);
  absl::MutexLock reserve_lock(&reserve_mutex_);
  HOLDFAST_RETURN_IF_ERROR(channel_.Send(message));
  absl::MutexLock lock(&mutex_);
  const auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return shutdown_ || granted_.has_value();
  };
  mutex_.Await(absl::Condition(&done));
  if (!granted_.has_value()) {
    return absl::UnavailableError("the session is being closed");
  }
  const internal::ReserveReply reply = *std::exchange(granted_, std::nullopt);
  return reply.has_error() ? FromError(reply.error()) : absl::OkStatus();
}

void SupervisorLink::Release(const internal::MemoryPlace& place,
                             uint64_t bytes) {
  internal::FromExecutor message;
  *message.mutable_release()->mutable_place() = place;
  message.mutable_release()->set_bytes(bytes);
  Send(message);
}

void SupervisorLink::SendChunkCreated(uint32_t device,
                                      const memory::Chunk& chunk) {
  internal::FromExecutor message;
  internal::ChunkCreated& created = *message.mutable_chunk_created();
  created.set_chunk(ChunkId(device, chunk));
  created.set_device(device);
  created.set_address(chunk.address());
  created.set_size(chunk.size());
  Send(message, chunk.descriptor());
}

void SupervisorLink::SendChunkReleased(uint32_t device,
                                       const memory::Chunk& chunk) {
  internal::FromExecutor message;
  message.mutable_chunk_released()->set_chunk(ChunkId(device, chunk));
  Send(message);
}

absl::StatusOr<SupervisorLink::Assigned> SupervisorLink::AwaitAssign() {
  absl::MutexLock lock(&mutex_);
  const auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return shutdown_ || assigned_.has_value();
  };
  mutex_.Await(absl::Condition(&done));
  if (assigned_.has_value()) return *std::move(assigned_);
  return absl::UnavailableError("shut down before there was a session");
}

void SupervisorLink::AwaitShutdown() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&shutdown_));
}

absl::StatusOr<FetchedObject> SupervisorLink::FetchObject(
    absl::string_view sha256) {
  internal::FromExecutor message;
  message.mutable_fetch_object()->set_sha256(std::string(sha256));
  HOLDFAST_RETURN_IF_ERROR(channel_.Send(message));
  Reply reply;
  {
    absl::MutexLock lock(&mutex_);
    const auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return shutdown_ || reply_.has_value();
    };
    mutex_.Await(absl::Condition(&done));
    if (!reply_.has_value()) {
      return absl::UnavailableError("the session is being closed");
    }
    reply = *std::move(reply_);
    reply_.reset();
  }
  if (!reply.message.found()) {
    return absl::NotFoundError(absl::StrCat(
        "no object ", absl::BytesToHexString(sha256), " in the object store"));
  }
  FetchedObject object;
  HOLDFAST_ASSIGN_OR_RETURN(
      object.image,
      FileMapping::Map(reply.image.get(), FileMapping::Access::kReadOnly));
  object.symbols.insert(reply.message.symbols().begin(),
                        reply.message.symbols().end());
  return object;
}

void SupervisorLink::ReadMessages() {
  while (true) {
    internal::ToExecutor message;
    absl::StatusOr<UniqueFd> fd = channel_.Receive(&message);
    absl::MutexLock lock(&mutex_);
    if (!fd.ok()) {
      if (shutdown_) return;
      LogError("the supervisor is gone: ", fd.status().message());
      _exit(1);
    }
    switch (message.message_case()) {
      case internal::ToExecutor::kAssign:
        assigned_ = {std::move(*message.mutable_assign()), *std::move(fd)};
        break;
      case internal::ToExecutor::kObject:
        reply_ = {std::move(*message.mutable_object()), *std::move(fd)};
        break;
      case internal::ToExecutor::kReserveReply:
        granted_ = std::move(*message.mutable_reserve_reply());
        break;
      case internal::ToExecutor::kShutdown:
        shutdown_ = true;
        break;
      case internal::ToExecutor::kReportUsage:
        AnswerUsage();
        break;
      case internal::ToExecutor::MESSAGE_NOT_SET:
        break;
    }
  }
}

}  // namespace holdfast::executor
