// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/executor/hosted_executor.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "proto/metadata.h"
#include "proto/protocol_limits.h"
#include "server/rpc/malformed_request.h"
#include "server/rpc/unix_socket.h"

namespace holdfast::fuzz {
namespace {

constexpr absl::Duration kStallLimit = absl::Minutes(1);

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
    std::abort();
  }
  return *std::move(value);
}

}  // namespace

HostedExecutor::HostedExecutor() : session_(std::make_unique<HostedSession>()) {
  // gRPC stays up between executions, as it does in an executor: its shutdown
  // may take seconds.
  static const bool kept = (grpc_init(), true);
  static_cast<void>(kept);
  directory_ = std::filesystem::temp_directory_path() / "executor-XXXXXX";
  if (mkdtemp(directory_.data()) == nullptr) std::abort();
  inbox_ = OrDie(executor::FdReceiver::Serve(
      OrDie(ListenOnUnixSocket(descriptor_path(), SOCK_SEQPACKET, 0600)),
      HostedSession::token()));
  transfers_ = std::make_unique<executor::TransferService>(
      session_->session(), *inbox_, kStallLimit);
  const std::string address = "unix:" + directory_ + "/socket";
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  std::vector<
      std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      interceptors;
  interceptors.push_back(std::make_unique<MalformedRequestFactory>());
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  builder.RegisterService(transfers_.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) std::abort();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  channel_ = grpc::CreateCustomChannel(
      address, grpc::InsecureChannelCredentials(), arguments);
}

HostedExecutor::~HostedExecutor() {
  static_cast<void>(End());
  std::filesystem::remove_all(directory_);
}

void HostedExecutor::Authorize(grpc::ClientContext* context) {
  context->AddMetadata(kSessionTokenKey.name,
                       absl::BytesToHexString(HostedSession::token()));
}

absl::Status HostedExecutor::End() {
  if (session_ == nullptr) return absl::OkStatus();
  channel_.reset();
  session_->session().Stop();
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
  transfers_.reset();
  inbox_.reset();
  const absl::Status status = session_->End();
  session_.reset();
  return status;
}

}  // namespace holdfast::fuzz
