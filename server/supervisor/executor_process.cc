// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/executor_process.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "server/rpc/status_conversion.h"
#include "server/supervisor/executor_report.h"

namespace holdfast::supervisor {
namespace {

// A process that has closed its channel is exiting; one that lingers in the
// driver's exit code is killed.
constexpr absl::Duration kExitTime = absl::Seconds(5);

// To answer what takes no work.
constexpr absl::Duration kAnswerTime = absl::Seconds(10);

// To copy a session's device memory, to a slow disk perhaps: one that does not
// answer must not hold up the suspension of others for longer than it needs.
constexpr absl::Duration kSaveLimit = absl::Minutes(10);
constexpr absl::Duration kSaveBase = absl::Seconds(30);
// Assumed: less than any disk in use.
constexpr uint64_t kSavedBytesPerSecond = uint64_t{20} << 20;

absl::Duration SaveTime(uint64_t bytes) {
  return std::min(kSaveLimit,
                  kSaveBase + absl::Seconds(bytes / kSavedBytesPerSecond));
}

// How soon a copy of no session's is given up when nobody wants it any more.
constexpr absl::Duration kCancelTime = absl::Milliseconds(100);

// One that looks after its kernels does so ten times a second.
constexpr absl::Duration kLookTime = absl::Seconds(10);

}  // namespace

absl::StatusOr<std::unique_ptr<ExecutorProcess>> ExecutorProcess::Start(
    Spawner& spawner, const std::vector<std::string>& arguments,
    const SpawnOptions& options, const Services& services) {
  HOLDFAST_ASSIGN_OR_RETURN(auto process, spawner.Spawn(arguments, options));
  return Adopt(std::move(process), services);
}

absl::StatusOr<std::unique_ptr<ExecutorProcess>> ExecutorProcess::Adopt(
    std::unique_ptr<ChildProcess> process, const Services& services) {
  std::unique_ptr<ExecutorProcess> executor(
      new ExecutorProcess(std::move(process), services));
  HOLDFAST_ASSIGN_OR_RETURN(
      executor->reader_,
      StartThread("an executor's messages",
                  [started = executor.get()] { started->ReadMessages(); }));
  return executor;
}

ExecutorProcess::ExecutorProcess(std::unique_ptr<ChildProcess> process,
                                 const Services& services)
    : process_(std::move(process)),
      services_(services),
      work_(services.totals, services.pacer),
      session_({services.store, services.ledger, services.exports,
                services.collections, services.memory, services.kept}),
      answers_({*process_, session_, services.code, services.collections,
                services.suspension}) {}

ExecutorProcess::~ExecutorProcess() {
  OnEnd(nullptr);
  guard_ = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    life_.ExpectExit();
  }
  process_->Kill();
  process_->channel()
      .Shutdown();  // Also if another process holds its other end.
  answers_.End();
  if (reader_.joinable()) reader_.join();
}

absl::StatusOr<ExecutorProcess::Questions::Answer> ExecutorProcess::Ask(
    internal::ToExecutor message, const Wanted& wanted, int fd) {
  const uint64_t question = questions_.Ask(wanted.answer);
  message.set_question(question);
  absl::Status status = process_->channel().Send(message, fd);
  if (status.ok()) status = Await(question, wanted);
  auto answer = questions_.Take(question);
  return status.ok() ? std::move(answer) : status;
}

absl::Status ExecutorProcess::Await(uint64_t question, const Wanted& wanted) {
  const absl::Time end = SteadyNow() + (wanted.deadline - absl::Now());
  while (true) {
    absl::Duration left = end - SteadyNow();
    if (wanted.cancelled) left = std::min(left, kCancelTime);
    if (questions_.Wait(question, absl::Now() + left)) return absl::OkStatus();
    if (SteadyNow() >= end) break;
    if (wanted.cancelled && wanted.cancelled()) {
      return absl::CancelledError("the copy was given up");
    }
  }
  return absl::DeadlineExceededError(absl::StrCat("the executor (pid ", pid(),
                                                  ") is not ", wanted.what,
                                                  " within the time limit"));
}

absl::StatusOr<internal::Ready> ExecutorProcess::AwaitReady(
    absl::Time deadline) {
  HOLDFAST_RETURN_IF_ERROR(
      Await(start_, {.what = "ready", .deadline = deadline}));
  HOLDFAST_ASSIGN_OR_RETURN(const auto answer, questions_.Take(start_));
  return answer.message.ready();
}

absl::Status ExecutorProcess::SendSocket(
    internal::ListeningSocket::Purpose purpose, int socket) {
  internal::ToExecutor message;
  message.mutable_listening_socket()->set_purpose(purpose);
  return process_->channel().Send(message, socket);
}

void ExecutorProcess::Inherit(std::unique_ptr<SessionHoldings> holdings) {
  session_.Inherit(std::move(holdings));
}

std::unique_ptr<SessionHoldings> ExecutorProcess::TakeHoldings() {
  return session_.Take();
}

std::optional<internal::Fault> ExecutorProcess::fault() const {
  absl::MutexLock lock(&mutex_);
  return life_.fault();
}

absl::StatusOr<internal::Serving> ExecutorProcess::Serve(
    const SessionStart& start, absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    work_.Assign(start.tenant, start.execution);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const bool restores,
                            session_.Begin(start, process_->channel()));
  if (start.assign.kernel_time_limit_ns() > 0) GuardKernels();
  HOLDFAST_RETURN_IF_ERROR(
      SendSocket(internal::ListeningSocket::PURPOSE_CALLS, start.calls));
  HOLDFAST_RETURN_IF_ERROR(SendSocket(
      internal::ListeningSocket::PURPOSE_DESCRIPTORS, start.descriptors));
  internal::ToExecutor message;
  *message.mutable_assign() = start.assign;
  HOLDFAST_ASSIGN_OR_RETURN(
      auto answer, Ask(std::move(message), {internal::FromExecutor::kServing,
                                            "serving", deadline}));
  internal::Serving& serving = *answer.message.mutable_serving();
  if (restores) session_.EndRestore(/*whole=*/serving.lost_count() == 0);
  return serving;
}

void ExecutorProcess::UpdateLimits(const internal::AccountLimits& limits) {
  internal::ToExecutor message;
  *message.mutable_update_limits() = limits;
  // Fails if the process has ended; its successor is told, too.
  process_->channel().Send(message).IgnoreError();
}

absl::Status ExecutorProcess::Resume(absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    life_.Resume();
  }
  session_.NoteBusy();
  internal::ToExecutor message;
  message.mutable_resume();
  return Ask(std::move(message),
             {internal::FromExecutor::kServing, "serving again", deadline})
      .status();
}

absl::Status ExecutorProcess::Park(absl::Time deadline) {
  const absl::Status status = Quiesce(/*memory_stays=*/true, deadline);
  if (!status.ok()) {
    // Fails if the process has ended, which is noted elsewhere.
    Resume(absl::Now() + kAnswerTime).IgnoreError();
    return status;
  }
  NoteIdle();
  return absl::OkStatus();
}

void ExecutorProcess::NoteIdle() { session_.NoteIdle(); }

absl::Status ExecutorProcess::Suspend(const std::string& path,
                                      absl::Time deadline) {
  absl::Status status = Quiesce(/*memory_stays=*/false, deadline);
  if (status.ok()) status = SaveMemory(path);
  if (status.ok()) return status;
  session_.CancelSuspension();
  // Fails if the process has ended, which is noted elsewhere.
  Resume(absl::Now() + kAnswerTime).IgnoreError();
  return status;
}

absl::Status ExecutorProcess::Quiesce(bool memory_stays, absl::Time deadline) {
  // Before anybody has to wait.
  HOLDFAST_RETURN_IF_ERROR(session_.CheckMayQuiesce(memory_stays));
  internal::ToExecutor message;
  message.mutable_quiesce()->set_memory_stays(memory_stays);
  message.mutable_quiesce()->set_timeout_ns(
      absl::ToInt64Nanoseconds(deadline - absl::Now()));
  return Ask(std::move(message), {internal::FromExecutor::kQuiesced, "idle",
                                  deadline + kAnswerTime})
      .status();
}

absl::Status ExecutorProcess::SaveMemory(const std::string& path) {
  HOLDFAST_ASSIGN_OR_RETURN(HeldSuspension::Room room,
                            session_.PrepareSuspension(path));
  internal::ToExecutor message;
  *message.mutable_save_memory() = std::move(room.chunks);
  return Ask(std::move(message),
             {internal::FromExecutor::kMemorySaved,
              "done with saving its memory",
              absl::Now() + SaveTime(room.bytes)},
             room.descriptor)
      .status();
}

absl::StatusOr<ExecutorProcess::Questions::Answer> ExecutorProcess::Copy(
    const ChunkCopy& copy, internal::ToExecutor message, int chunk) {
  internal::ToExecutor file;
  file.mutable_copy_file();
  HOLDFAST_RETURN_IF_ERROR(process_->channel().Send(file, copy.file));
  return Ask(std::move(message),
             {internal::FromExecutor::kChunkCopied, "done with copying memory",
              copy.deadline, copy.cancelled},
             chunk);
}

absl::Status ExecutorProcess::SaveChunk(const ChunkCopy& copy, int chunk) {
  internal::ToExecutor message;
  message.mutable_save_chunk()->set_device(copy.device);
  message.mutable_save_chunk()->set_size(copy.size);
  return Copy(copy, std::move(message), chunk).status();
}

absl::StatusOr<UniqueFd> ExecutorProcess::LoadChunk(const ChunkCopy& copy) {
  internal::ToExecutor message;
  message.mutable_load_chunk()->set_device(copy.device);
  message.mutable_load_chunk()->set_size(copy.size);
  HOLDFAST_ASSIGN_OR_RETURN(auto answer,
                            Copy(copy, std::move(message), /*chunk=*/-1));
  return std::move(answer.descriptor);
}

void ExecutorProcess::OnEnd(std::function<void(absl::Status)> callback) {
  absl::MutexLock lock(&callback_mutex_);
  callback_ = std::move(callback);
  const std::optional<absl::Status> reason = ended();
  if (callback_ && reason.has_value()) {
    std::exchange(callback_, nullptr)(*reason);
  }
}

std::optional<absl::Status> ExecutorProcess::ended() const {
  absl::MutexLock lock(&mutex_);
  return life_.reason();
}

void ExecutorProcess::Stop(absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    life_.ExpectExit();
    if (life_.is_frozen()) process_->Kill();
  }
  internal::ToExecutor message;
  message.mutable_shutdown();
  if (!process_->channel().Send(message).ok() ||
      !process_->Wait(deadline).has_value()) {
    process_->Kill();
  }
  process_->Wait();
  session_.Take().reset();
  absl::MutexLock lock(&mutex_);
  usage_.clear_usage();
}

void ExecutorProcess::ReadMessages() {
  absl::Status status;
  while (status.ok()) {
    internal::FromExecutor message;
    absl::StatusOr<UniqueFd> fd = process_->channel().Receive(&message);
    // Fields that no executor of ours has would be kept with the others.
    message.DiscardUnknownFields();
    // Code to keep for later, for which this process has no descriptor left.
    if (absl::IsResourceExhausted(fd.status()) && message.has_store_code()) {
      continue;
    }
    status = fd.ok() ? Handle(std::move(message), *std::move(fd)) : fd.status();
  }
  NoteExit(status);
}

absl::Status ExecutorProcess::Handle(internal::FromExecutor message,
                                     UniqueFd fd) {
  HOLDFAST_RETURN_IF_ERROR(CheckReport(message));
  Shorten(&message);
  switch (message.message_case()) {
    case internal::FromExecutor::kFetchObject:
    case internal::FromExecutor::kReserve:
    case internal::FromExecutor::kLoadCode:
    case internal::FromExecutor::kSharing:
      return answers_.Answer(message, fd.get());
    case internal::FromExecutor::kChunkCreated:
      return session_.HoldChunk(message.chunk_created(), std::move(fd));
    case internal::FromExecutor::kStoreCode:
      return services_.code.Store(session_.owner(), message.store_code().key(),
                                  fd.get());
    case internal::FromExecutor::kFault:
      NoteFault(message.fault());
      return absl::OkStatus();
    case internal::FromExecutor::kUsage:
      if (message.question() == 0) break;  // it was not asked for
      [[fallthrough]];
    case internal::FromExecutor::kReady:
    case internal::FromExecutor::kServing:
    case internal::FromExecutor::kQuiesced:
    case internal::FromExecutor::kMemorySaved:
    case internal::FromExecutor::kChunkCopied:
      return TakeAnswer(std::move(message), std::move(fd));
    default:
      break;
  }
  if (message.has_usage()) {
    absl::MutexLock lock(&mutex_);
    *usage_.mutable_usage()->mutable_device_bytes() =
        message.usage().usage().device_bytes();
  }
  return session_.Note(message, std::move(fd));
}

absl::Status ExecutorProcess::TakeAnswer(internal::FromExecutor answer,
                                         UniqueFd fd) {
  // Before anything is noted.
  HOLDFAST_RETURN_IF_ERROR(questions_.Check(answer));
  if (answer.has_ready()) NoteReady(answer.ready());
  if (answer.has_serving()) NoteServing(fd);
  if (answer.has_quiesced()) {
    HOLDFAST_RETURN_IF_ERROR(NoteQuiesced(answer, fd));
  }
  if (answer.has_usage()) {
    absl::MutexLock lock(&mutex_);
    usage_ = answer.usage();
    usage_asked_.reset();
  }
  questions_.Receive(std::move(answer), std::move(fd));
  return absl::OkStatus();
}

absl::Status ExecutorProcess::NoteQuiesced(internal::FromExecutor& answer,
                                           UniqueFd& variables) {
  const absl::Status held = session_.HoldVariables(std::move(variables));
  if (!absl::IsResourceExhausted(held)) return held;
  // There is no host memory left: the executor goes on, and the suspension or
  // the upgrade is refused.
  *answer.mutable_error() = ToError(held);
  return absl::OkStatus();
}

// One question at a time is on its way, however many ask: an executor that
// stands still must not fill its channel.
internal::Usage ExecutorProcess::AskUsage(absl::Time deadline) {
  internal::ToExecutor message;
  message.mutable_report_usage();
  bool asked = false;
  {
    absl::MutexLock lock(&mutex_);
    if (!life_.is_serving() || life_.reason().has_value()) return usage_;
    asked = usage_asked_.has_value();
    if (!asked) {
      usage_asked_ =
          questions_.Ask(internal::FromExecutor::kUsage, /*taken=*/false);
    }
    message.set_question(*usage_asked_);
  }
  const bool sent = asked || process_->channel().Send(message).ok();
  if (sent) questions_.Wait(message.question(), deadline);
  internal::Usage usage;
  {
    absl::MutexLock lock(&mutex_);
    if (!sent) usage_asked_.reset();
    if (life_.reason().has_value()) return usage_;
    usage = usage_;
  }
  session_.Report(&usage);
  return usage;
}

absl::StatusOr<uint64_t> ExecutorProcess::ReceivedThrough() {
  return session_.ReceivedThrough();
}

void ExecutorProcess::GuardKernels() {
  guard_ = std::make_unique<HangGuard>(HangGuard::Options{
      .journal = session_.DuplicateJournal(),
      .patience = kLookTime,
      .alarm = [this](absl::Duration since) { EndHanging(since); }});
}

void ExecutorProcess::EndHanging(absl::Duration since) {
  internal::Fault fault;
  *fault.mutable_error() = ToError(absl::DeadlineExceededError(absl::StrCat(
      "the executor (pid ", pid(),
      ") hangs: it has not looked for kernels over their limit of time for ",
      absl::FormatDuration(absl::Trunc(since, absl::Milliseconds(1))))));
  absl::MutexLock lock(&mutex_);
  if (life_.NoteHanging(fault)) process_->Kill();
}

void ExecutorProcess::NoteServing(const UniqueFd& counters) {
  const std::vector<uint32_t> devices = session_.devices();
  absl::MutexLock lock(&mutex_);
  if (life_.BeginServing()) work_.Open(counters, devices);
}

void ExecutorProcess::NoteReady(const internal::Ready& ready) {
  services_.ledger.AddDevices(ready);
  for (const v1::Device& device : ready.devices()) {
    if (!device.has_free_memory()) continue;
    services_.memory.NoteMeasured(device.ordinal(), device.free_memory(),
                                  device.total_memory());
  }
}

// The process's last word.
void ExecutorProcess::NoteFault(const internal::Fault& fault) {
  {
    absl::MutexLock lock(&mutex_);
    switch (life_.NoteFault(fault, services_.shares_server)) {
      case ExecutorLife::AfterFault::kNothing:
        return;
      case ExecutorLife::AfterFault::kKill:
        process_->Kill();
        return;
      case ExecutorLife::AfterFault::kFreeze:
        process_->Freeze();
    }
  }
  SetEnded(absl::UnavailableError(
      absl::StrCat("the executor (pid ", pid(), ") has lost its device")));
}

void ExecutorProcess::SetEnded(const absl::Status& reason) {
  absl::MutexLock callback_lock(&callback_mutex_);
  {
    absl::MutexLock lock(&mutex_);
    if (!life_.End(reason)) return;
    questions_.End(reason);
    work_.End(life_.was_lost());
  }
  answers_.End();
  if (callback_) std::exchange(callback_, nullptr)(reason);
}

void ExecutorProcess::NoteExit(const absl::Status& channel_status) {
  // Anything but a closed channel is a fault of the process.
  const bool closed = absl::IsUnavailable(channel_status);
  if (!closed || !process_->Wait(absl::Now() + kExitTime).has_value()) {
    process_->Kill();
  }
  const std::string how =
      closed ? process_->Wait().ToString()
             : absl::StrCat("was ended: ", channel_status.message());
  process_->Wait();
  bool unexpected = false;
  {
    absl::MutexLock lock(&mutex_);
    unexpected = life_.exit_is_unexpected();
  }
  if (unexpected && services_.died) services_.died(session_.devices());
  SetEnded(absl::UnavailableError(
      absl::StrCat("the executor (pid ", pid(), ") ", how)));
  // The holdings stay: a session that recovers takes them, perhaps only now.
  absl::MutexLock lock(&mutex_);
  usage_.clear_usage();
}

}  // namespace holdfast::supervisor
