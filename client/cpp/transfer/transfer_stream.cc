// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/transfer_stream.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/connection/rpc_status.h"
#include "client/cpp/transfer/background_copy.h"
#include "client/cpp/transfer/borrowed_memory.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "proto/chunk.h"
#include "proto/metadata.h"

namespace holdfast {
namespace {

using grpc::internal::RpcMethod;

// Below this a call more costs more time than it saves.
constexpr uint64_t kBytesPerCall = 8 << 20;

// The calls of one transfer: the first that fails cancels the others.
class CallGroup {
 public:
  void Add(grpc::ClientContext* context) {
    absl::MutexLock lock(&mutex_);
    contexts_.insert(context);
    if (!status_.ok()) context->TryCancel();
  }
  void Remove(grpc::ClientContext* context) {
    absl::MutexLock lock(&mutex_);
    contexts_.erase(context);
  }
  void Finish(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    if (status.ok() || !status_.ok()) return;
    status_ = std::move(status);
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
  }
  absl::Status status() const {
    absl::MutexLock lock(&mutex_);
    return status_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// One call with the session's token.
class Call {
 public:
  Call(const TransferRoute& route, CallGroup& group) : group_(group) {
    context_.AddMetadata(kSessionTokenKey.name, route.token);
    if (!route.which_try.empty()) {
      context_.AddMetadata(kTransferKey.name, route.which_try);
    }
    group_.Add(&context_);
  }
  ~Call() { group_.Remove(&context_); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  grpc::ClientContext& context() { return context_; }

 private:
  CallGroup& group_;
  grpc::ClientContext context_;
};

absl::Status UploadOne(const TransferRoute& route,
                       const v1::TransferRange& part, const char* data,
                       CallGroup& group) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto channel, route.channels.Take());
  const RpcMethod method("/holdfast.v1.TransferService/Upload",
                         RpcMethod::CLIENT_STREAMING, channel);
  BorrowedMemory memory;
  Call call(route, group);
  v1::UploadResponse response;
  const std::unique_ptr<grpc::ClientWriter<grpc::ByteBuffer>> writer(
      grpc::internal::ClientWriterFactory<grpc::ByteBuffer>::Create(
          channel.get(), method, &call.context(), &response));
  bool open = writer->Write(MakeUploadHeader(part));
  for (uint64_t sent = 0; open && sent < part.size();) {
    const uint64_t size = std::min(route.max_chunk_bytes, part.size() - sent);
    open = writer->Write(MakeUploadData(memory.Lend(data + sent, size)));
    sent += size;
  }
  writer->WritesDone();
  return ToStatus(writer->Finish());
}

// With `apart`, another thread copies what this one receives.
absl::Status DownloadOne(const TransferRoute& route,
                         const v1::TransferRange& part, char* data, bool apart,
                         CallGroup& group) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto channel, route.channels.Take());
  const RpcMethod method("/holdfast.v1.TransferService/Download",
                         RpcMethod::SERVER_STREAMING, channel);
  Call call(route, group);
  v1::DownloadRequest request;
  *request.mutable_range() = part;
  const std::unique_ptr<grpc::ClientReader<grpc::ByteBuffer>> reader(
      grpc::internal::ClientReaderFactory<grpc::ByteBuffer>::Create(
          channel.get(), method, &call.context(), request));
  std::optional<BackgroundCopy> copy;
  if (apart) copy.emplace(data);
  uint64_t received = 0;
  for (grpc::ByteBuffer message; reader->Read(&message);) {
    auto chunk = ReadDownloadResponse(message);
    if (!chunk.ok() || chunk->size() > part.size() - received) {
      call.context().TryCancel();
      return absl::InternalError(
          chunk.ok()
              ? "the daemon sent more bytes than asked for"
              : absl::StrCat("the daemon sent ", chunk.status().message()));
    }
    const size_t size = chunk->size();
    if (copy.has_value()) {
      copy->Append(*std::move(chunk));
    } else {
      chunk->CopyTo(data + received);
    }
    received += size;
  }
  HOLDFAST_RETURN_IF_ERROR(ToStatus(reader->Finish()));
  if (received == part.size()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the daemon sent ", received, " of ",
                                          part.size(), " bytes"));
}

uint64_t CallsFor(const TransferRoute& route, const v1::TransferRange& range) {
  return std::clamp<uint64_t>(range.size() / kBytesPerCall, 1, route.max_calls);
}

// Calls `transfer(part, offset, group)` for each part of the range, at once.
template <typename TransferPart>
absl::Status InParts(const TransferRoute& route, const v1::TransferRange& range,
                     TransferPart transfer) {
  CallGroup group;
  const uint64_t calls = CallsFor(route, range);
  // Whole messages, but for the last.
  const uint64_t messages = (range.size() / calls + route.max_chunk_bytes - 1) /
                            route.max_chunk_bytes;
  const uint64_t part_size = messages * route.max_chunk_bytes;
  const auto run = [&](uint64_t begin) {
    v1::TransferRange part = range;
    part.set_offset(range.offset() + begin);
    part.set_size(std::min(part_size, range.size() - begin));
    group.Finish(transfer(part, begin, group));
  };
  std::vector<std::function<void()>> parts;
  uint64_t begin = 0;
  do {
    parts.emplace_back([&run, begin] { run(begin); });
    begin += part_size;
  } while (begin < range.size());
  RunSideBySide(std::move(parts));
  return group.status();
}

}  // namespace

uint32_t UsefulTransferCalls() {
  // At either end a call keeps about one processor busy.
  return std::clamp(std::thread::hardware_concurrency() / 2, 1u, 8u);
}

absl::Status UploadStream(const TransferRoute& route,
                          const v1::TransferRange& range, const char* data) {
  return InParts(
      route, range,
      [&](const v1::TransferRange& part, uint64_t begin, CallGroup& group) {
        return UploadOne(route, part, data + begin, group);
      });
}

absl::Status DownloadStream(const TransferRoute& route,
                            const v1::TransferRange& range, char* data) {
  // Few calls leave processors for a second thread each, of which short ones
  // would see little.
  const bool apart = range.size() >= kBytesPerCall &&
                     2 * CallsFor(route, range) <= UsefulTransferCalls();
  return InParts(
      route, range,
      [&](const v1::TransferRange& part, uint64_t begin, CallGroup& group) {
        return DownloadOne(route, part, data + begin, apart, group);
      });
}

}  // namespace holdfast
