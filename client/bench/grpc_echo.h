// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_GRPC_ECHO_H_
#define HOLDFAST_CLIENT_BENCH_GRPC_ECHO_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/bench/bench_process.h"
#include "client/bench/summary.h"
#include "holdfast/v1/commands.grpc.pb.h"

namespace holdfast::bench {

// gRPC and nothing else, between two processes over a Unix socket: the same
// messages as Execute, answered by a thread that does no work.
class GrpcEcho {
 public:
  static absl::StatusOr<std::unique_ptr<GrpcEcho>> Start();
  GrpcEcho(const GrpcEcho&) = delete;
  GrpcEcho& operator=(const GrpcEcho&) = delete;

  // One batch there, one back; microseconds.
  absl::StatusOr<Summary> PingPong(int count);

  // An empty unary call; microseconds.
  absl::StatusOr<Summary> UnaryCall(int count);

  // Commands a second, one way, with so many a message.
  absl::StatusOr<Summary> CommandRate(int commands_a_message, int messages);

 private:
  using Stream =
      grpc::ClientReaderWriterInterface<v1::CommandBatch, v1::ResultBatch>;

  explicit GrpcEcho(std::unique_ptr<BenchProcess> server)
      : server_(std::move(server)) {}
  // Opens a stream, calls `measure` with it and closes it.
  template <typename Measure>
  absl::StatusOr<Summary> OnStream(Measure measure);

  const std::unique_ptr<BenchProcess> server_;
  std::unique_ptr<v1::CommandService::Stub> stub_;
};

// The other process: `PROGRAM bench --echo`. Prints its address, serves, and
// returns when its stdin ends.
absl::Status ServeGrpcEcho();

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_GRPC_ECHO_H_
