// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/attach/resuming_relay.h"
#include "client/cpp/attach/unacknowledged.h"
#include "client/cpp/connection/bearer_token.h"
#include "client/cpp/connection/channel.h"
#include "client/cpp/connection/daemon_stubs.h"
#include "client/cpp/connection/forked_process.h"
#include "client/cpp/connection/keep_alive.h"
#include "client/cpp/connection/restart_grace.h"
#include "client/cpp/connection/rpc_status.h"
#include "client/cpp/connection/session_loss.h"
#include "client/cpp/fault.h"
#include "client/cpp/payload_text.h"
#include "client/cpp/state/session_state.h"
#include "client/cpp/transfer/staging_ring.h"
#include "client/cpp/transfer/transfer_stream.h"
#include "core/base/descriptor_socket.h"
#include "core/base/fault_epoch.h"
#include "core/base/ring_pair.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "core/base/utf8.h"
#include "holdfast/v1/sessions.grpc.pb.h"
#include "proto/metadata.h"
#include "proto/protocol_limits.h"

namespace holdfast {
namespace {

constexpr absl::Duration kCloseTimeout = absl::Seconds(10);

// For an executor to notice that its client has gone.
constexpr absl::Duration kLeaveTime = absl::Seconds(5);
constexpr absl::Duration kLeavePause = absl::Milliseconds(20);

// For the next daemon to begin, where one has made way for it.
constexpr absl::Duration kRestartTime = absl::Seconds(60);
constexpr absl::Duration kConnectTime = absl::Seconds(10);
constexpr absl::Duration kConnectLocallyTime = absl::Seconds(2);
constexpr absl::Duration kRestartPause = absl::Milliseconds(100);

// For a channel to learn that its connection has ended.
constexpr absl::Duration kEndTime = absl::Milliseconds(50);

// Results come in batches of a megabyte or so, unless a single one is larger.
constexpr size_t kMaxResultBytes = size_t{64} << 20;

// For LaunchLimits. What outlives the session does not keep the daemon.
std::function<absl::StatusOr<v1::Device>(uint32_t)> DescribeBy(
    const std::shared_ptr<Daemon>& daemon) {
  return [weak = std::weak_ptr<Daemon>(daemon)](
             uint32_t device) -> absl::StatusOr<v1::Device> {
    const std::shared_ptr<Daemon> asked = weak.lock();
    if (asked == nullptr) {
      return absl::FailedPreconditionError("the session was closed");
    }
    HOLDFAST_ASSIGN_OR_RETURN(auto described, asked->DescribeDevice(device));
    return std::move(*described.mutable_device());
  };
}

// A daemon refuses more than 256 bytes.
std::string DescribeProgram() {
  std::string name = ToValidUtf8(program_invocation_short_name);
  if (name.size() > 240) name = ToValidUtf8(name.substr(0, 240));
  return name;
}

v1::ClientInfo DescribeClient() {
  v1::ClientInfo info;
  info.set_program(DescribeProgram());
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, sizeof host - 1);
  info.set_host(host);
  info.set_pid(getpid());
  return info;
}

google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration proto;
  proto.set_seconds(absl::ToInt64Seconds(duration));
  proto.set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(duration % absl::Seconds(1))));
  return proto;
}

v1::RecoveryPolicy ToProto(RecoveryPolicy policy) {
  switch (policy) {
    case RecoveryPolicy::kNever:
      return v1::RECOVERY_POLICY_NEVER;
    case RecoveryPolicy::kAlways:
      return v1::RECOVERY_POLICY_ALWAYS;
    case RecoveryPolicy::kAsk:
      return v1::RECOVERY_POLICY_ASK;
  }
  return v1::RECOVERY_POLICY_UNSPECIFIED;
}

v1::OpenSessionRequest MakeRequest(const SessionOptions& options) {
  v1::OpenSessionRequest request;
  request.set_protocol_version(1);
  request.set_name(options.name);
  *request.mutable_client() = DescribeClient();
  request.mutable_reconnect_grace()->set_seconds(
      absl::ToInt64Seconds(options.reconnect_grace));
  request.mutable_devices()->Add(options.devices.begin(),
                                 options.devices.end());
  request.mutable_device_choices()->Add(options.device_choices.begin(),
                                        options.device_choices.end());
  request.set_memory_limit(options.memory_limit);
  *request.mutable_kernel_time_limit() = ToProto(options.kernel_time_limit);
  request.set_recover(ToProto(options.recover));
  *request.mutable_detached_lifetime() = ToProto(options.detached_lifetime);
  return request;
}

using SessionCall = absl::FunctionRef<grpc::Status(
    v1::SessionService::Stub& sessions, grpc::ClientContext* context)>;

// UNAVAILABLE by an end of the connection, and not by an answer. The channel
// may learn of it after the call.
bool IsBroken(const grpc::Status& status, grpc::Channel& channel) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
         channel.WaitForStateChange(GRPC_CHANNEL_READY,
                                    absl::ToChronoTime(absl::Now() + kEndTime));
}

// Makes `call` until a daemon has answered it, but not again after `deadline`.
// A daemon that makes way for another says so, or is gone before it can; the
// next one is asked then. Where there is none, nobody listens. Sets `tries` to
// the number of calls, since one that broke may have been carried out.
absl::Status CallAnyDaemon(Daemon& daemon, absl::Time deadline,
                           SessionCall call, int* tries) {
  const absl::Time end = SteadyNow() + (deadline - absl::Now());
  std::shared_ptr<grpc::Channel> channel = daemon.channel();
  for (*tries = 1;; ++*tries) {
    grpc::ClientContext context;
    const grpc::Status status =
        call(*v1::SessionService::NewStub(channel), &context);
    if (status.ok()) return absl::OkStatus();
    const bool told =
        context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms") > 0;
    if ((!told && !IsBroken(status, *channel)) || SteadyNow() > end) {
      return daemon.Explain(status);
    }
    absl::SleepFor(kRestartPause);
    HOLDFAST_ASSIGN_OR_RETURN(const std::string token, DefaultToken());
    auto next = ConnectToDaemon(daemon.address(),
                                std::min(kConnectTime, end - SteadyNow()),
                                daemon.is_embedded() ? "" : token);
    if (!next.ok()) return daemon.Explain(status);
    channel = *std::move(next);
  }
}

absl::StatusOr<v1::OpenSessionResponse> CallOpen(
    Daemon& daemon, const v1::OpenSessionRequest& request) {
  v1::OpenSessionResponse response;
  int tries = 0;
  HOLDFAST_RETURN_IF_ERROR(CallAnyDaemon(
      daemon, absl::Now() + kRestartTime,
      [&](v1::SessionService::Stub& sessions, grpc::ClientContext* context) {
        return sessions.OpenSession(context, request, &response);
      },
      &tries));
  return response;
}

// A session that its daemon has closed before it could say so is not known to
// the next one.
absl::Status CallClose(Daemon& daemon, const std::string& token) {
  const absl::Time deadline = absl::Now() + kCloseTimeout;
  v1::CloseSessionResponse response;
  int tries = 0;
  const absl::Status status = CallAnyDaemon(
      daemon, deadline,
      [&](v1::SessionService::Stub& sessions, grpc::ClientContext* context) {
        context->AddMetadata(kSessionTokenKey.name, token);
        context->set_deadline(absl::ToChronoTime(deadline));
        return sessions.CloseSession(context, {}, &response);
      },
      &tries);
  if (tries > 1 && absl::IsNotFound(status)) return absl::OkStatus();
  return status;
}

// How commands and bytes go.
struct Route {
  Address address;
  std::shared_ptr<grpc::Channel> channel;
  std::string descriptor_path;  // empty: the daemon forwards
};

// The executor's own sockets if there are any and they can be reached from
// here; else the daemon forwards.
Route RouteToExecutor(const Daemon& daemon,
                      const v1::OpenSessionResponse& response) {
  const Route forwarded = {daemon.address(), daemon.channel(), ""};
  if (response.local_address().empty()) return forwarded;
  absl::StatusOr<Address> address = Address::Parse(response.local_address());
  if (!address.ok() || address->kind != Address::Kind::kUnix) return forwarded;
  const auto descriptors = Address::Parse(response.descriptor_address());
  if (!descriptors.ok() || descriptors->kind != Address::Kind::kUnix) {
    return forwarded;
  }
  auto channel = ConnectOnce(address->target, kConnectLocallyTime);
  if (!channel.ok()) return forwarded;
  return {*std::move(address), *std::move(channel), descriptors->target};
}

CommandQueue::Options QueueOptions(const v1::SessionLimits& limits) {
  CommandQueue::Options options;
  options.batch_commands =
      std::min(options.batch_commands, limits.max_batch_commands());
  // A batch may be over by one command.
  options.max_command_bytes = limits.max_message_bytes() * 3 / 4;
  options.batch_bytes =
      std::min<size_t>(options.batch_bytes, limits.max_message_bytes() / 8);
  return options;
}

bool IsBlockingByEnvironment() {
  const char* const value = std::getenv("HOLDFAST_BLOCKING");
  return value != nullptr && *value != '\0' && std::string(value) != "0";
}

void Print(absl::string_view text, std::FILE* file) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

std::string LossOf(const v1::KernelOutput& output) {
  if (output.lost_bytes() == 0) return "";
  return absl::StrCat("\n[", output.lost_bytes(),
                      " bytes that kernels printed are lost]\n");
}

// Prints to the streams that CUDA prints to.
void PrintOutput(const v1::KernelOutput& output) {
  Print(output.text(), stdout);
  Print(LossOf(output), stdout);
  Print(output.assertions(), stderr);
}

// Where the output of kernels goes: to `take`, if the program has set it.
std::function<void(const v1::KernelOutput&)> OutputTaker(
    std::function<void(absl::string_view)> take) {
  if (take == nullptr) return PrintOutput;
  return [take = std::move(take)](const v1::KernelOutput& output) {
    take(absl::StrCat(output.text(), LossOf(output), output.assertions()));
  };
}

// Offers rings to an executor of this machine; without them gRPC does it all.
ExecuteStream::Options OfferRings(const Route& route,
                                  const std::string& session_token) {
  ExecuteStream::Options options;
  options.session_token = absl::BytesToHexString(session_token);
  if (route.descriptor_path.empty()) return options;
  const auto memory = RingPair::CreateMemory();
  if (!memory.ok()) return options;
  auto rings =
      RingPair::Map(memory->get(), RingPair::End::kClient, kMaxResultBytes);
  const auto token =
      SendFd(route.descriptor_path, session_token, memory->get());
  if (!rings.ok() || !token.ok()) return options;
  options.rings = *std::move(rings);
  options.ring_token = absl::BytesToHexString(*token);
  return options;
}

// Reconnects a remote session that outlives its connection. Lives as long as
// the queue; its rings are `stream`'s. Null: the session ends with its
// connection.
absl::StatusOr<std::shared_ptr<ResumingRelay>> ResumeOver(
    const Route& route, absl::Duration grace, ExecuteStream::Options* stream) {
  if (!route.descriptor_path.empty() || grace <= absl::ZeroDuration()) {
    return nullptr;
  }
  const auto memory = RingPair::CreateMemory();
  if (!memory.ok()) return nullptr;
  auto mine =
      RingPair::Map(memory->get(), RingPair::End::kClient, kMaxResultBytes);
  auto relays =
      RingPair::Map(memory->get(), RingPair::End::kExecutor, kMaxResultBytes);
  if (!mine.ok() || !relays.ok()) return nullptr;
  stream->rings = *std::move(mine);
  return ResumingRelay::Start(
      ResumingRelay::Options{
          .session_token = stream->session_token,
          .grace = grace,
          .connect = [address = route.address] { return Connect(address); }},
      *std::move(relays), route.channel);
}

// Opens the stream of a session that goes on, and replaces *relay.
absl::StatusOr<std::unique_ptr<ExecuteStream>> OpenStream(
    const Route& route, const std::string& session_token, absl::Duration grace,
    std::shared_ptr<ResumingRelay>* relay) {
  ExecuteStream::Options options = OfferRings(route, session_token);
  HOLDFAST_ASSIGN_OR_RETURN(*relay, ResumeOver(route, grace, &options));
  return ExecuteStream::Open(route.channel, std::move(options));
}

absl::StatusOr<std::unique_ptr<KeepAlive>> KeepAliveOf(
    const Session& session, absl::Duration grace,
    std::shared_ptr<RestartGrace> restart) {
  return KeepAlive::Start(
      [address = session.daemon().address()] { return Connect(address); },
      session.token(), grace, std::move(restart),
      [state = session.state(), id = session.id()](const std::string& reason) {
        state->queue.Fail(LostSession(id, absl::UnavailableError(reason)));
      });
}

// Why the command stream has ended, and how the session goes on, if it does.
absl::StatusOr<CommandQueue::Recovery> Recover(
    Daemon& daemon, const v1::OpenSessionResponse& session,
    absl::Duration grace, const RestartGrace& restart,
    std::shared_ptr<ResumingRelay>* relay, const absl::Status& ended,
    absl::FunctionRef<bool()> await_work) {
  const std::string& id = session.session_id();
  const std::string token = absl::BytesToHexString(session.token());
  const absl::Status reason = ExplainLoss(daemon, id, token, restart, ended);
  const uint64_t epoch = FaultEpochOf(reason);
  if (epoch == 0) return reason;
  std::deque<Unacknowledged::Batch> unacknowledged;
  if (IsSuspended(reason)) {
    if (*relay != nullptr) unacknowledged = (*relay)->Stop();
    if (!await_work()) return absl::CancelledError("the session was closed");
  }
  const auto acknowledged = AcknowledgeFault(daemon, token, restart, epoch);
  if (!acknowledged.ok()) return LostSession(id, acknowledged.status());
  const Route route = RouteToExecutor(daemon, session);
  CommandQueue::Recovery recovery;
  recovery.fault = FaultStatus(id, acknowledged->fault());
  recovery.submitted_through = acknowledged->fault().submitted_through();
  recovery.suspended = acknowledged->fault().suspended();
  for (Unacknowledged::Batch& batch : unacknowledged) {
    if (batch.first_sequence <= recovery.submitted_through) continue;
    recovery.unsent.push_back(std::move(batch.bytes));
  }
  auto stream = OpenStream(route, session.token(), grace, relay);
  if (!stream.ok()) return LostSession(id, stream.status());
  recovery.stream = *std::move(stream);
  return recovery;
}

// OK, or the fault for whose recovery the session waits; see
// CommandQueue::Options.ask.
absl::Status FaultToAskFor(Daemon& daemon, const std::string& id,
                           const std::string& token,
                           const RestartGrace& restart,
                           const absl::Status& ended) {
  const absl::Status reason = ExplainLoss(daemon, id, token, restart, ended);
  if (FaultEpochOf(reason) == 0 || IsSuspended(reason)) return absl::OkStatus();
  const auto sessions = daemon.Sessions();
  if (!sessions.ok()) return reason;
  for (const v1::SessionInfo& info : *sessions) {
    if (info.session_id() != id || !info.has_last_fault()) continue;
    return FaultStatus(id, info.last_fault(), AfterFault::kWaits);
  }
  return reason;
}

// The last command of the session that has arrived.
absl::StatusOr<uint64_t> ReceivedThrough(
    Daemon& daemon, const v1::OpenSessionResponse& session) {
  grpc::ClientContext context;
  context.AddMetadata(kSessionTokenKey.name,
                      absl::BytesToHexString(session.token()));
  v1::AttachSessionResponse response;
  HOLDFAST_RETURN_IF_ERROR(daemon.Explain(daemon.stubs().sessions.AttachSession(
      &context, v1::AttachSessionRequest(), &response)));
  return response.received_through();
}

// Those of the protocol where the daemon says nothing.
v1::SessionLimits WithDefaults(v1::SessionLimits limits) {
  const auto value = [](uint64_t given, uint64_t otherwise) {
    return given == 0 ? otherwise : given;
  };
  limits.set_max_batch_commands(
      value(limits.max_batch_commands(), kMaxBatchCommands));
  limits.set_max_message_bytes(
      value(limits.max_message_bytes(), kMaxMessageBytes));
  limits.set_max_inline_bytes(
      value(limits.max_inline_bytes(), kMaxInlineBytes));
  limits.set_max_chunk_bytes(value(limits.max_chunk_bytes(), kMaxChunkBytes));
  limits.set_max_handles(value(limits.max_handles(), kMaxHandles));
  return limits;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Open(
    const SessionOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  return Open(std::move(daemon), options);
}

absl::StatusOr<std::unique_ptr<Session>> Session::Open(
    std::shared_ptr<Daemon> daemon, const SessionOptions& options) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  HOLDFAST_ASSIGN_OR_RETURN(const v1::OpenSessionResponse response,
                            CallOpen(*daemon, MakeRequest(options)));
  auto session = Start(daemon, response, options, 0);
  if (!session.ok()) {
    // Nobody can use it.
    CallClose(*daemon, absl::BytesToHexString(response.token())).IgnoreError();
    return session;
  }
  (*session)->detachable_ = options.detached_lifetime > absl::ZeroDuration();
  return session;
}

absl::StatusOr<std::unique_ptr<Session>> Session::Attach(
    std::shared_ptr<Daemon> daemon, const std::string& session_id,
    const SessionOptions& options) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  grpc::ClientContext context;
  v1::AttachSessionRequest request;
  request.set_session_id(session_id);
  v1::AttachSessionResponse response;
  HOLDFAST_RETURN_IF_ERROR(daemon->Explain(
      daemon->stubs().sessions.AttachSession(&context, request, &response)));
  absl::Status fault;
  if (response.has_fault()) {
    // A client that attaches wants the session to go on.
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto acknowledged,
        AcknowledgeFault(*daemon,
                         absl::BytesToHexString(response.session().token()),
                         RestartGrace(), response.fault().epoch()));
    if (!acknowledged.fault().suspended()) {
      fault = FaultStatus(session_id, acknowledged.fault());
    }
  }
  // The results of the clients before cannot be had, so that there is no coming
  // back over a connection that broke: another attachment does that.
  SessionOptions own = options;
  own.reconnect_grace = absl::ZeroDuration();
  // The executor may not have noticed yet that the client before has gone, and
  // takes commands of one at a time.
  const absl::Time end = SteadyNow() + kLeaveTime;
  uint64_t received = response.received_through();
  while (true) {
    HOLDFAST_ASSIGN_OR_RETURN(auto session,
                              Start(daemon, response.session(), own, received));
    session->detachable_ = true;
    const absl::Status begun = session->SkipUsedHandles();
    if (begun.ok()) {
      if (!fault.ok()) session->state_->queue.SetFault(fault);
      return session;
    }
    session->Leave();
    if (SteadyNow() > end) return begun;
    absl::SleepFor(kLeavePause);
    // Commands of the client before may have been on their way when their
    // number was told.
    received = ReceivedThrough(*daemon, response.session()).value_or(received);
  }
}

absl::StatusOr<std::unique_ptr<Session>> Session::Start(
    std::shared_ptr<Daemon> daemon, const v1::OpenSessionResponse& response,
    const SessionOptions& options, uint64_t received_through) {
  PrintPayloadsAsText();
  const v1::SessionLimits limits = WithDefaults(response.limits());
  Route route = RouteToExecutor(*daemon, response);
  ExecuteStream::Options stream = OfferRings(route, response.token());
  CommandQueue::Options queue = QueueOptions(limits);
  queue.received_through = received_through;
  queue.blocking = options.blocking || IsBlockingByEnvironment();
  const auto relay = std::make_shared<std::shared_ptr<ResumingRelay>>();
  HOLDFAST_ASSIGN_OR_RETURN(
      *relay, ResumeOver(route, options.reconnect_grace, &stream));
  const auto restart = std::make_shared<RestartGrace>();
  queue.recover = [daemon = daemon, response, grace = options.reconnect_grace,
                   restart, relay](const absl::Status& status,
                                   absl::FunctionRef<bool()> await_work) {
    return holdfast::Recover(*daemon, response, grace, *restart, relay.get(),
                             status, await_work);
  };
  if (options.recover == RecoveryPolicy::kAsk) {
    queue.ask = [daemon = daemon, id = response.session_id(),
                 token = absl::BytesToHexString(response.token()),
                 restart](const absl::Status& status) {
      return FaultToAskFor(*daemon, id, token, *restart, status);
    };
  }
  queue.take_output = OutputTaker(options.kernel_output);
  queue.take_times = options.step_times;
  stream.step_times = options.step_times != nullptr;
  const std::string token = stream.session_token;
  HOLDFAST_ASSIGN_OR_RETURN(
      auto commands,
      CommandQueue::Create(route.channel, std::move(stream), std::move(queue)));
  const auto state = KeepIfForked(new SessionState(
      limits, token, std::move(commands),
      [address = route.address] { return Connect(address); },
      options.transfer_calls == 0 ? UsefulTransferCalls()
                                  : options.transfer_calls,
      std::move(route.descriptor_path)));
  if (!response.devices().empty()) state->first_device = response.devices(0);
  state->launch_limits.SetDescribe(DescribeBy(daemon));
  std::unique_ptr<Session> session(new Session(
      std::move(daemon), response.session_id(),
      {response.devices().begin(), response.devices().end()}, state));
  HOLDFAST_ASSIGN_OR_RETURN(
      session->keep_alive_,
      KeepAliveOf(*session, options.reconnect_grace, restart));
  return session;
}

absl::Status Session::SkipUsedHandles() {
  HOLDFAST_ASSIGN_OR_RETURN(const v1::Result result,
                            state_->queue.Call([](v1::Command& command) {
                              command.mutable_list_buffers();
                            }));
  for (const auto& used : result.buffers().used()) {
    if (used.kind() < 0 || used.kind() > UINT8_MAX) continue;
    state_->handles.Skip(static_cast<HandleKind>(used.kind()),
                         used.unused_from());
  }
  return absl::OkStatus();
}

Session::Session(std::shared_ptr<Daemon> daemon, std::string id,
                 std::vector<uint32_t> devices,
                 std::shared_ptr<SessionState> state)
    : daemon_(std::move(daemon)),
      id_(std::move(id)),
      devices_(std::move(devices)),
      state_(std::move(state)) {}

Session::~Session() {
  if (IsForked()) {
    Abandon(std::move(keep_alive_));
    return;
  }
  Close().IgnoreError();
}

const std::string& Session::token() const { return state_->token; }

absl::Status Session::Close() {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  if (keep_alive_ == nullptr) return absl::OkStatus();
  state_->queue.Close();
  const absl::Status status = CallClose(*daemon_, state_->token);
  keep_alive_.reset();
  // One that is still being made may wait for a device, until the session ends.
  StagingRing::Close(*state_);
  return status;
}

absl::Status Session::Detach() {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  if (keep_alive_ == nullptr) {
    return absl::FailedPreconditionError("the session is closed");
  }
  if (!detachable_ || daemon_->is_embedded()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "session ", id_, " would not outlive its client: ",
        detachable_ ? "its daemon ends with this process"
                    : "it was opened without a detached_lifetime"));
  }
  StagingRing::Close(*state_);
  HOLDFAST_RETURN_IF_ERROR(
      state_->queue.Call([](v1::Command& command) { command.mutable_fence(); })
          .status());
  HOLDFAST_RETURN_IF_ERROR(state_->queue.TakeFailure());
  if (!keep_alive_->AwaitOpen(absl::Now() + kCloseTimeout)) {
    return absl::UnavailableError(absl::StrCat(
        "session ", id_, " is not left: the daemon does not answer"));
  }
  Leave();
  return absl::OkStatus();
}

void Session::Leave() {
  if (IsForked()) return;
  StagingRing::Close(*state_);
  state_->queue.Close();
  keep_alive_.reset();
}

absl::StatusOr<std::vector<BufferInfo>> Session::Buffers() const {
  std::vector<BufferInfo> infos;
  bool more = true;
  while (more) {
    const uint64_t after = infos.empty() ? 0 : infos.back().handle;
    HOLDFAST_ASSIGN_OR_RETURN(
        const v1::Result result,
        state_->queue.Call([after](v1::Command& command) {
          command.mutable_list_buffers()->set_after(after);
        }));
    for (const auto& buffer : result.buffers().buffers()) {
      const v1::BufferDescription& description = buffer.description();
      infos.push_back({.handle = buffer.buffer(),
                       .name = buffer.name(),
                       .size = description.size(),
                       .host = description.host(),
                       .device = description.device()});
    }
    more = result.buffers().more() && !result.buffers().buffers().empty();
  }
  return infos;
}

absl::Status Session::Recover() const { return state_->queue.Consent(); }

absl::StatusOr<Buffer> Session::AllocateHost(uint64_t size) const {
  return Buffer::Allocate(state_, -1, size, nullptr);
}

absl::StatusOr<std::shared_ptr<Arena>> Session::CreateArena(
    uint64_t size, const ArenaOptions& options) const {
  return Arena::Create(state_, size, options);
}

absl::StatusOr<Module> Session::Load(const ObjectCode& object) const {
  return Module::Load(state_, object);
}

absl::StatusOr<Fence> Session::Fence(
    std::initializer_list<const Stream*> streams) const {
  return holdfast::Fence::Create(
      state_, std::span<const Stream* const>(streams.begin(), streams.size()),
      /*all_streams=*/false);
}

absl::Status Session::Synchronize() const {
  if (state_->captures.any()) {
    HOLDFAST_RETURN_IF_ERROR(
        state_->captures.RefuseOnAny("waiting for all streams"));
  }
  HOLDFAST_RETURN_IF_ERROR(state_->queue
                               .Call([](v1::Command& command) {
                                 command.mutable_fence()->set_all_streams(true);
                               })
                               .status());
  return state_->queue.TakeFailure();
}

}  // namespace holdfast
