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

// Measures bare gRPC between two processes. Generated code sends the messages
// of Execute over a Unix socket, and the messages of Upload and Download over
// TCP and TLS. The server answers without any work.
class GrpcEcho {
 public:
  static absl::StatusOr<std::unique_ptr<GrpcEcho>> Start();
  GrpcEcho(const GrpcEcho&) = delete;
  GrpcEcho& operator=(const GrpcEcho&) = delete;

  // Measures the round trip of one batch, in microseconds.
  absl::StatusOr<Summary> PingPong(int count);

  enum class Network { kTcp, kTls };
  // Measures the same over a network, with `bytes_there` and `bytes_back` bytes
  // in the two messages.
  absl::StatusOr<Summary> PingPong(Network network, int count,
                                   uint64_t bytes_there, uint64_t bytes_back);

  // Measures an empty unary call, in microseconds.
  absl::StatusOr<Summary> UnaryCall(int count);

  // Measures the commands per second in one direction.
  absl::StatusOr<Summary> CommandRate(int commands_a_message, int messages);

  enum class Direction { kIn, kOut };
  // Measures the transfer of `size` bytes in messages of 1 MiB, in GB/s.
  // `calls` calls run at once, each on its own connection.
  absl::StatusOr<Summary> ByteRate(Network network, Direction direction,
                                   uint64_t size, int calls);

 private:
  using Stream =
      grpc::ClientReaderWriterInterface<v1::CommandBatch, v1::ResultBatch>;

  explicit GrpcEcho(std::unique_ptr<BenchProcess> server)
      : server_(std::move(server)) {}
  // Opens a connection that no other call uses.
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

// Runs in the other process, `PROGRAM bench --echo`. Prints its three
// addresses, one per line, and its certificate. Serves until its stdin ends.
absl::Status ServeGrpcEcho();

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_GRPC_ECHO_H_
