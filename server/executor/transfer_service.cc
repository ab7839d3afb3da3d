// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer_service.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "server/executor/buffer_commands.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

using Block = std::shared_ptr<Staging::Block>;

absl::Status Closing() {
  return absl::UnavailableError("the session is being closed");
}

// One piece of a transfer: set once, by the submission or the watcher thread.
class Completion {
 public:
  void Set(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    if (set_) return;
    status_ = std::move(status);
    set_ = true;
  }
  absl::Status Wait() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&set_));
    return status_;
  }

 private:
  absl::Mutex mutex_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// Between a staging block and a buffer, in stream order.
struct Piece {
  bool upload = true;
  uint64_t buffer = 0;
  uint64_t stream = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  Block block;
};

absl::Status StartPiece(Resources& resources, const Piece& piece,
                        const std::shared_ptr<Completion>& completion) {
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.streams.Find(piece.stream));
  HOLDFAST_ASSIGN_OR_RETURN(
      const CUdeviceptr address,
      ResolveRange(resources, piece.buffer, piece.offset, piece.size));
  const CUdeviceptr staged = piece.block->device_address();
  HOLDFAST_RETURN_IF_ERROR(
      cuda::CopyAsync(*stream->stream, piece.upload ? address : staged,
                      piece.upload ? staged : address, piece.size));
  resources.copies().Add(v1::COPY_PATH_STREAM, piece.size);
  return resources.watcher().Watch(
      *stream->stream, [completion, block = piece.block](
                           const absl::Status& s) { completion->Set(s); });
}

// Queues the piece; what it returns is set in any case.
std::shared_ptr<Completion> Start(Session& session, Piece piece) {
  auto completion = std::make_shared<Completion>();
  auto started = std::make_shared<bool>(false);
  // Work is dropped when the session is being closed.
  std::shared_ptr<void> dropped(nullptr, [completion, started](void*) {
    if (!*started) completion->Set(Closing());
  });
  (void)session.Post([piece = std::move(piece), completion, started,
                      dropped = std::move(dropped)](Resources& resources) {
    *started = true;
    const absl::Status status = StartPiece(resources, piece, completion);
    if (!status.ok()) completion->Set(status);
  });
  return completion;
}

// Checks the range as a whole and finds the staging blocks.
absl::StatusOr<Staging*> Prepare(Session& session,
                                 const v1::TransferRange& range) {
  absl::StatusOr<Staging*> staging = Closing();
  (void)session.Run([&](Resources& resources) {
    const absl::Status stream = resources.streams.Find(range.stream()).status();
    const absl::Status address =
        ResolveRange(resources, range.buffer(), range.offset(), range.size())
            .status();
    if (!stream.ok()) {
      staging = stream;
    } else if (!address.ok()) {
      staging = address;
    } else {
      staging = resources.TransferStaging();
    }
  });
  return staging;
}

// The pieces of one transfer that are on their way, oldest first.
class Pipeline {
 public:
  // One message that is read or written and a few for the device.
  static constexpr size_t kDepth = 4;

  void Add(std::shared_ptr<Completion> piece) {
    pieces_.push_back(std::move(piece));
  }
  bool full() const { return pieces_.size() >= kDepth; }
  absl::Status WaitForOldest() {
    const absl::Status status = pieces_.front()->Wait();
    pieces_.pop_front();
    return status;
  }
  absl::Status WaitForAll() {
    absl::Status first;
    while (!pieces_.empty()) {
      const absl::Status status = WaitForOldest();
      if (first.ok()) first = status;
    }
    return first;
  }

 private:
  std::deque<std::shared_ptr<Completion>> pieces_;
};

absl::Status UploadPieces(Session& session, Staging& staging,
                          const v1::TransferRange& range,
                          grpc::ServerReader<v1::UploadRequest>& reader,
                          Pipeline& pipeline) {
  uint64_t done = 0;
  v1::UploadRequest message;
  while (reader.Read(&message)) {
    const std::string& data = message.data();
    if (message.part_case() != v1::UploadRequest::kData) {
      return absl::InvalidArgumentError("an upload with a second header");
    }
    if (data.size() > staging.block_bytes()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a message of ", data.size(), " bytes: at most ",
                       staging.block_bytes()));
    }
    if (data.size() > range.size() - done) {
      return absl::InvalidArgumentError(
          absl::StrCat("more bytes than the ", range.size(), " announced"));
    }
    if (data.empty()) continue;
    if (pipeline.full()) HOLDFAST_RETURN_IF_ERROR(pipeline.WaitForOldest());
    HOLDFAST_ASSIGN_OR_RETURN(Block block, staging.Acquire());
    std::memcpy(block->data(), data.data(), data.size());
    pipeline.Add(
        Start(session, {true, range.buffer(), range.stream(),
                        range.offset() + done, data.size(), std::move(block)}));
    done += data.size();
  }
  if (done == range.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(done, " bytes came, ", range.size(), " were announced"));
}

absl::Status DownloadPieces(Session& session, Staging& staging,
                            const v1::TransferRange& range,
                            grpc::ServerWriter<v1::DownloadResponse>& writer) {
  struct Started {
    std::shared_ptr<Completion> completion;
    Block block;
    uint64_t size;
  };
  std::deque<Started> pieces;
  uint64_t started = 0;
  while (started < range.size() || !pieces.empty()) {
    Block block;
    if (started < range.size() && pieces.empty()) {
      HOLDFAST_ASSIGN_OR_RETURN(block, staging.Acquire());
    } else if (started < range.size() && pieces.size() < Pipeline::kDepth) {
      HOLDFAST_ASSIGN_OR_RETURN(block, staging.TryAcquire());
    }
    if (block != nullptr) {
      const uint64_t size =
          std::min<uint64_t>(staging.block_bytes(), range.size() - started);
      auto completion = Start(session, {false, range.buffer(), range.stream(),
                                        range.offset() + started, size, block});
      pieces.push_back({std::move(completion), std::move(block), size});
      started += size;
      continue;
    }
    HOLDFAST_RETURN_IF_ERROR(pieces.front().completion->Wait());
    v1::DownloadResponse response;
    response.set_data(pieces.front().block->data(), pieces.front().size);
    if (!writer.Write(response)) return absl::CancelledError("given up");
    pieces.pop_front();
  }
  return absl::OkStatus();
}

// Page-locking takes long, so it does not happen on the submission thread.
absl::Status MakeArena(Session& session,
                       const v1::RegisterArenaRequest& request,
                       UniqueFd descriptor) {
  std::shared_ptr<const cuda::Context> context;
  std::shared_ptr<ArenaBudget> budget;
  absl::Status status = Closing();
  (void)session.Run([&](Resources& resources) {
    status = resources.arenas.CheckNew(request.arena());
    const auto device = resources.FirstDevice();
    if (status.ok()) status = device.status();
    if (!status.ok()) return;
    context = (*device)->context;
    budget = resources.arena_budget();
  });
  HOLDFAST_RETURN_IF_ERROR(status);
  HOLDFAST_ASSIGN_OR_RETURN(
      std::shared_ptr<const Arena> arena,
      Arena::Create(std::move(context), std::move(descriptor), request.size(),
                    std::move(budget)));
  status = Closing();
  (void)session.Run([&](Resources& resources) {
    // Another call may have taken the handle meanwhile.
    status = resources.arenas.CheckNew(request.arena());
    if (status.ok()) resources.arenas.Put(request.arena(), {std::move(arena)});
  });
  return status;
}

}  // namespace

grpc::Status TransferService::Upload(
    grpc::ServerContext* context, grpc::ServerReader<v1::UploadRequest>* reader,
    v1::UploadResponse* response) {
  absl::Status status = session_.Authenticate(*context);
  if (!status.ok()) return ToGrpcStatus(status);
  v1::UploadRequest first;
  if (!reader->Read(&first) || !first.has_header()) {
    return ToGrpcStatus(
        absl::InvalidArgumentError("an upload begins with its header"));
  }
  const v1::TransferRange& range = first.header();
  status = session_.AwaitSequence(range.after_sequence(), *context);
  if (!status.ok()) return ToGrpcStatus(status);
  const auto staging = Prepare(session_, range);
  if (!staging.ok()) return ToGrpcStatus(staging.status());
  Pipeline pipeline;
  status = UploadPieces(session_, **staging, range, *reader, pipeline);
  const absl::Status device_status = pipeline.WaitForAll();
  response->set_size(range.size());
  response->set_path(v1::COPY_PATH_STREAM);
  return ToGrpcStatus(status.ok() ? device_status : status);
}

grpc::Status TransferService::Download(
    grpc::ServerContext* context, const v1::DownloadRequest* request,
    grpc::ServerWriter<v1::DownloadResponse>* writer) {
  absl::Status status = session_.Authenticate(*context);
  if (!status.ok()) return ToGrpcStatus(status);
  const v1::TransferRange& range = request->range();
  status = session_.AwaitSequence(range.after_sequence(), *context);
  if (!status.ok()) return ToGrpcStatus(status);
  const auto staging = Prepare(session_, range);
  if (!staging.ok()) return ToGrpcStatus(staging.status());
  return ToGrpcStatus(DownloadPieces(session_, **staging, range, *writer));
}

grpc::Status TransferService::RegisterArena(
    grpc::ServerContext* context, const v1::RegisterArenaRequest* request,
    v1::RegisterArenaResponse* response) {
  absl::Status status = session_.Authenticate(*context);
  if (status.ok()) {
    auto descriptor = inbox_.Claim(request->descriptor_token());
    status = descriptor.ok()
                 ? MakeArena(session_, *request, *std::move(descriptor))
                 : descriptor.status();
  }
  return ToGrpcStatus(status);
}

}  // namespace holdfast::executor
