// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_SERVICE_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_SERVICE_H_

#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "server/executor/attach/upload_tries.h"
#include "server/executor/service/fd_receiver.h"
#include "server/executor/session.h"
#include "server/relay/shared_blocks.h"
#include "server/rpc/stall_guard.h"

namespace holdfast::executor {

// TransferService of one session; that and the inbox must outlive it. Messages
// with bytes come and go as gRPC's own slices: uploads are copied once, into
// page-locked staging blocks, and downloads are sent from there. Bytes
// that the daemon relays for a remote client are in blocks of memory that both
// share instead.
class TransferService final : public grpc::Service {
 public:
  // Calls at a time; more are refused.
  static constexpr int kMaxTransfers = 256;

  // `blocks` are shared with the daemon, for the calls that it relays; nullptr:
  // it relays none. `stall_limit` is what a client may take for one message.
  TransferService(Session& session, FdReceiver& inbox,
                  std::shared_ptr<SharedBlocks> blocks,
                  absl::Duration stall_limit);

 private:
  using Chunk = grpc::ByteBuffer;

  grpc::Status Upload(grpc::ServerContext* context,
                      grpc::ServerReader<Chunk>* reader,
                      v1::UploadResponse* response);
  grpc::Status Download(grpc::ServerContext* context,
                        const v1::DownloadRequest* request,
                        grpc::ServerWriter<Chunk>* writer);
  grpc::Status RegisterArena(grpc::ServerContext* context,
                             const v1::RegisterArenaRequest* request,
                             v1::RegisterArenaResponse* response);

  // The blocks that the call's messages may name; nullptr: it is no relayed
  // one.
  std::shared_ptr<SharedBlocks> BlocksOf(
      const grpc::ServerContext& context) const;
  absl::StatusOr<uint64_t> ReceiveAll(grpc::ServerContext& context,
                                      grpc::ServerReader<Chunk>& reader);
  absl::Status SendAll(grpc::ServerContext& context,
                       const v1::TransferRange& range,
                       grpc::ServerWriter<Chunk>& writer);
  bool Receive(grpc::ServerContext& context, grpc::ServerReader<Chunk>& reader,
               Chunk* message);

  // Counts a call until it is dropped.
  std::shared_ptr<void> Count();
  // Is it one of this session's, and not one too many? Waits while the session
  // takes no work in; it does not get suspended before the pass is dropped.
  absl::StatusOr<SessionGate::Pass> Admit(
      const grpc::ServerContext& context) const;

  Session& session_;
  FdReceiver& inbox_;
  const std::shared_ptr<SharedBlocks> blocks_;
  StallGuard stall_guard_;
  std::atomic<int> transfers_{0};
  UploadTries tries_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_SERVICE_H_
