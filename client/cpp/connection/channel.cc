// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/channel.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/connection/bearer_token.h"
#include "client/cpp/connection/failed_connection.h"
#include "client/cpp/connection/forked_process.h"
#include "core/base/malloc_tuning.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "core/base/unique_fd.h"
#include "core/base/unix_connection.h"
#include "grpc/grpc.h"
#include "grpc/support/log.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/create_channel_posix.h"
#include "grpcpp/security/credentials.h"
#include "proto/transport.h"

namespace holdfast {
namespace {

constexpr absl::Duration kSecondTry = absl::Milliseconds(100);

// For each step of looking for the reason of a failure.
constexpr absl::Duration kExplaining = absl::Seconds(3);

// Above the most severe of gRPC's messages.
constexpr auto kNoGrpcLog =
    static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1);

absl::StatusOr<std::string> ReadOption(const Address& address,
                                       const char* name) {
  const auto option = address.options.find(name);
  if (option == address.options.end()) return std::string();
  std::ifstream file(option->second, std::ios::binary);
  std::ostringstream text;
  if (!file.is_open() || !(text << file.rdbuf())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "address \"", address.text, "\": cannot read ", option->second));
  }
  return text.str();
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const Address& address) {
  if (address.kind != Address::Kind::kTls) {
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions options;
  HOLDFAST_ASSIGN_OR_RETURN(options.pem_root_certs, ReadOption(address, "ca"));
  HOLDFAST_ASSIGN_OR_RETURN(options.pem_cert_chain,
                            ReadOption(address, "cert"));
  HOLDFAST_ASSIGN_OR_RETURN(options.pem_private_key,
                            ReadOption(address, "key"));
  return grpc::SslCredentials(options);
}

grpc::ChannelArguments MakeArguments(const Address& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  for (const auto& [name, value] : kTransportArguments) {
    arguments.SetInt(name, value);
  }
  // A compiler's whole log comes in the trailer.
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, 4 << 20);
  // A new channel tries at once, whatever happened to others before.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // No proxy of the environment: an address means what it says.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (address.kind != Address::Kind::kUnix) {
    // Finds out within a minute that the other machine is gone.
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
    // Tries again soon when a connection could not be made: a network that
    // breaks comes back, and nobody is served by a pause of two minutes.
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  }
  if (auto name = address.options.find("name"); name != address.options.end()) {
    arguments.SetSslTargetNameOverride(name->second);
  }
  return arguments;
}

// Once a process. gRPC's full shutdown, when its last object goes, may wait 10
// s for a poller that a large write has left behind; kept up, the process just
// ends. Distributions build Abseil with its deadlock detector on, which makes
// every lock of gRPC's several times dearer. And of
// gRPC's ways to wait, this is the one where the thread that waits for a
// message is the one that is woken when it comes: by default one thread waits
// for all, and wakes the others in turn.
void PrepareGrpc() {
  static const bool once = [] {
    NoteConnection();
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    KeepFreedMemory();
    setenv("GRPC_POLL_STRATEGY", "poll", /*overwrite=*/0);
    grpc_init();
    RefusingChannel();
    // Without it gRPC writes of each failed handshake to standard error, beside
    // the error that the caller gets.
    if (std::getenv("GRPC_VERBOSITY") == nullptr) {
      gpr_set_log_verbosity(kNoGrpcLog);
    }
    return true;
  }();
  static_cast<void>(once);
}

// Says why a connection was refused: gRPC does not tell.
absl::Status NotConnected(const Address& address) {
  if (address.kind == Address::Kind::kUnix &&
      access(address.target.c_str(), W_OK) != 0 && errno == EACCES) {
    return absl::PermissionDeniedError(
        absl::StrCat("permission denied for this user at ", address.text,
                     ": the daemon's operator says who may use its socket"));
  }
  return NoDaemonError(address, "nobody answers");
}

std::shared_ptr<grpc::Channel> MakeChannel(
    const Address& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const std::string& bearer_token) {
  const std::string target = address.kind == Address::Kind::kUnix
                                 ? absl::StrCat("unix:", address.target)
                                 : address.target;
  const grpc::ChannelArguments arguments = MakeArguments(address);
  if (bearer_token.empty()) {
    return grpc::CreateCustomChannel(target, credentials, arguments);
  }
  std::vector<
      std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
      interceptors;
  interceptors.push_back(SendToken(bearer_token));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      target, credentials, arguments, std::move(interceptors));
}

}  // namespace

const std::shared_ptr<grpc::Channel>& RefusingChannel() {
  // That is what gRPC makes where there are no credentials.
  static const auto& channel = *new std::shared_ptr<grpc::Channel>(
      grpc::CreateCustomChannel("forked", nullptr, {}));
  return channel;
}

absl::Status NoDaemonError(const Address& address, absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("no Holdfast daemon at ", address.text, " (", why,
                   "): start one with `", CommandToStart(address),
                   "`, or let the address be embedded:, a private one"));
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(
    const Address& address, absl::Duration timeout,
    const std::string& bearer_token) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  PrepareGrpc();
  HOLDFAST_ASSIGN_OR_RETURN(const auto credentials, MakeCredentials(address));
  const auto channel = MakeChannel(address, credentials, bearer_token);
  const auto deadline = absl::ToChronoTime(absl::Now() + timeout);
  for (;;) {
    const grpc_connectivity_state state = channel->GetState(true);
    if (state == GRPC_CHANNEL_READY) return channel;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
      return NotConnected(address);
    }
    if (!channel->WaitForStateChange(state, deadline)) {
      return NoDaemonError(
          address,
          absl::StrCat("no answer within ", absl::FormatDuration(timeout)));
    }
  }
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToDaemon(
    const Address& address, absl::Duration timeout,
    const std::string& bearer_token) {
  const absl::Time deadline = SteadyNow() + timeout;
  auto channel = Connect(address, timeout, bearer_token);
  if (!absl::IsUnavailable(channel.status()) ||
      SteadyNow() + kSecondTry > deadline) {
    return channel;
  }
  absl::SleepFor(kSecondTry);
  channel = Connect(address, deadline - SteadyNow(), bearer_token);
  const bool is_of_network = address.kind == Address::Kind::kTcp ||
                             address.kind == Address::Kind::kTls;
  if (absl::IsUnavailable(channel.status()) && is_of_network) {
    return ExplainFailedConnection(address, kExplaining);
  }
  return channel;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectOnce(
    const std::string& path, absl::Duration limit) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  PrepareGrpc();
  HOLDFAST_ASSIGN_OR_RETURN(UniqueFd socket,
                            ConnectToUnixSocket(path, SOCK_STREAM, limit));
  return grpc::CreateCustomInsecureChannelFromFd(
      "localhost", socket.Release(),
      MakeArguments({.kind = Address::Kind::kUnix}));
}

}  // namespace holdfast
