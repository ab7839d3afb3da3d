// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_GRPC_ECHO_H_
#define HOLDFAST_CLIENT_BENCH_GRPC_ECHO_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/bench/bench_process.h"
#include "client/bench/summary.h"
#include "holdfast/v1/commands.grpc.pb.h"

namespace holdfast::bench {

// gRPC and nothing else, between two processes: the messages of Execute over a
// Unix socket, and those of Upload and Download over TCP and TLS, as generated
// code sends them, answered by a thread that does no work.
class GrpcEcho {
 public:
  static absl::StatusOr<std::unique_ptr<GrpcEcho>> Start();
  GrpcEcho(const GrpcEcho&) = delete;
  GrpcEcho& operator=(const GrpcEcho&) = delete;

  // One batch there, one back; microseconds.
  absl::StatusOr<Summary> PingPong(int count);

  enum class Network { kTcp, kTls };
  // The same over a network, with so many bytes in either message.
  absl::StatusOr<Summary> PingPong(Network network, int count,
                                   uint64_t bytes_there, uint64_t bytes_back);

  // An empty unary call; microseconds.
  absl::StatusOr<Summary> UnaryCall(int count);

  // Commands a second, one way, with so many a message.
  absl::StatusOr<Summary> CommandRate(int commands_a_message, int messages);

  enum class Direction { kIn, kOut };
  // `size` bytes in messages of 1 MiB, by so many calls at once, each on a
  // connection of its own; GB/s.
  absl::StatusOr<Summary> ByteRate(Network network, Direction direction,
                                   uint64_t size, int calls);

 private:
  using Stream =
      grpc::ClientReaderWriterInterface<v1::CommandBatch, v1::ResultBatch>;

  explicit GrpcEcho(std::unique_ptr<BenchProcess> server)
      : server_(std::move(server)) {}
  // A connection that no other call uses.
  std::shared_ptr<grpc::Channel> Connect(Network network) const;
  // Opens a stream, calls `measure` with it and closes it.
  template <typename Measure>
  static absl::StatusOr<Summary> OnStream(v1::CommandService::Stub& stub,
                                          Measure measure);
  static absl::StatusOr<Summary> PingPong(v1::CommandService::Stub& stub,
                                          const v1::CommandBatch& ping,
                                          int count);

  const std::unique_ptr<BenchProcess> server_;
  std::string tcp_address_;
  std::string tls_address_;
  std::string certificate_;  // the server's, in PEM
  std::unique_ptr<v1::CommandService::Stub> stub_;
};

// The other process: `PROGRAM bench --echo`. Prints its three addresses, a line
// each, and its certificate, serves, and returns when its stdin ends.
absl::Status ServeGrpcEcho();

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_GRPC_ECHO_H_
