// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/executor_process.h"

#include <fcntl.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/error_detail.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "server/holdings/assigned_devices.h"
#include "server/journal/journal_reader.h"
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
      work_(services.totals, services.pacer) {
  {
    absl::MutexLock lock(&later_->mutex);
    later_->process = this;
  }
}

ExecutorProcess::~ExecutorProcess() {
  OnEnd(nullptr);
  guard_ = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    end_.Want();
  }
  process_->Kill();
  process_->channel()
      .Shutdown();  // Also if another process holds its other end.
  {
    absl::MutexLock lock(&later_->mutex);
    later_->process = nullptr;
  }
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
  absl::MutexLock lock(&mutex_);
  holdings_ = std::move(holdings);
  succeeds_ = true;
}

std::unique_ptr<SessionHoldings> ExecutorProcess::TakeHoldings() {
  absl::MutexLock lock(&mutex_);
  return std::move(holdings_);
}

std::optional<internal::Fault> ExecutorProcess::fault() const {
  absl::MutexLock lock(&mutex_);
  return end_.fault();
}

absl::StatusOr<internal::Serving> ExecutorProcess::Serve(
    const SessionStart& start, absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    owner_ = start.tenant->code_owner();
    devices_ = DevicesOf(start.assign);
    work_.Assign(start.tenant, start.execution);
    if (holdings_ == nullptr) {
      holdings_ = std::make_unique<SessionHoldings>(SessionHoldings::Services{
          services_.store, services_.ledger, services_.exports,
          services_.collections, services_.memory, services_.kept});
      HOLDFAST_RETURN_IF_ERROR(holdings_->Open(start.assign, start.tenant));
    } else {
      HOLDFAST_RETURN_IF_ERROR(holdings_->BeginRestore(start.assign.epoch()));
    }
    HOLDFAST_RETURN_IF_ERROR(holdings_->SendTo(process_->channel()));
    if (start.assign.kernel_time_limit_ns() > 0) {
      GuardKernels(holdings_->journal());
    }
  }
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
  absl::MutexLock lock(&mutex_);
  if (!succeeds_ || holdings_ == nullptr) return serving;
  // Else another executor may still bring back the whole.
  const bool whole = serving.lost_count() == 0;
  if (whole || !holdings_->suspension().suspended()) holdings_->EndRestore();
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
    serving_ = false;
    if (holdings_ != nullptr) holdings_->NoteBusy();
  }
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

void ExecutorProcess::NoteIdle() {
  absl::MutexLock lock(&mutex_);
  if (holdings_ != nullptr) holdings_->NoteIdle();
}

absl::Status ExecutorProcess::Suspend(const std::string& path,
                                      absl::Time deadline) {
  absl::Status status = Quiesce(/*memory_stays=*/false, deadline);
  if (status.ok()) status = SaveMemory(path);
  if (status.ok()) return status;
  {
    absl::MutexLock lock(&mutex_);
    if (holdings_ != nullptr) holdings_->suspension().Drop();
  }
  // Fails if the process has ended, which is noted elsewhere.
  Resume(absl::Now() + kAnswerTime).IgnoreError();
  return status;
}

absl::Status ExecutorProcess::Quiesce(bool memory_stays, absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    if (holdings_ == nullptr) {
      return absl::FailedPreconditionError("the executor has no session");
    }
    // Before anybody has to wait.
    if (!memory_stays) {
      HOLDFAST_RETURN_IF_ERROR(holdings_->memory().CheckAlone());
    }
  }
  internal::ToExecutor message;
  message.mutable_quiesce()->set_memory_stays(memory_stays);
  message.mutable_quiesce()->set_timeout_ns(
      absl::ToInt64Nanoseconds(deadline - absl::Now()));
  return Ask(std::move(message), {internal::FromExecutor::kQuiesced, "idle",
                                  deadline + kAnswerTime})
      .status();
}

absl::Status ExecutorProcess::SaveMemory(const std::string& path) {
  internal::ToExecutor message;
  int file = -1;
  absl::Duration limit;
  {
    absl::MutexLock lock(&mutex_);
    if (holdings_ == nullptr) {
      return absl::FailedPreconditionError("the executor has no session");
    }
    HOLDFAST_ASSIGN_OR_RETURN(HeldSuspension::Room room,
                              holdings_->suspension().Prepare(path));
    *message.mutable_save_memory() = std::move(room.chunks);
    file = room.descriptor;
    limit = SaveTime(room.bytes);
  }
  return Ask(std::move(message),
             {internal::FromExecutor::kMemorySaved,
              "done with saving its memory", absl::Now() + limit},
             file)
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
  return end_.reason();
}

void ExecutorProcess::Stop(absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    end_.Want();
    if (end_.is_frozen()) process_->Kill();
  }
  internal::ToExecutor message;
  message.mutable_shutdown();
  if (!process_->channel().Send(message).ok() ||
      !process_->Wait(deadline).has_value()) {
    process_->Kill();
  }
  process_->Wait();
  absl::MutexLock lock(&mutex_);
  holdings_ = nullptr;
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
      return AnswerFetch(message);
    case internal::FromExecutor::kChunkCreated:
      return HoldChunk(message.chunk_created(), std::move(fd));
    case internal::FromExecutor::kReserve:
      return AnswerReserve(message);
    case internal::FromExecutor::kLoadCode:
      return AnswerLoadCode(message);
    case internal::FromExecutor::kStoreCode:
      return services_.code.Store(owner(), message.store_code().key(),
                                  fd.get());
    case internal::FromExecutor::kSharing:
      return AnswerSharing(message, fd.get());
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
  absl::MutexLock lock(&mutex_);
  if (message.has_usage()) {
    *usage_.mutable_usage()->mutable_device_bytes() =
        message.usage().usage().device_bytes();
  }
  if (holdings_ == nullptr) return absl::OkStatus();
  return NoteHoldings(message, std::move(fd));
}

absl::Status ExecutorProcess::TakeAnswer(internal::FromExecutor answer,
                                         UniqueFd fd) {
  // Before anything is noted.
  HOLDFAST_RETURN_IF_ERROR(questions_.Check(answer));
  {
    absl::MutexLock lock(&mutex_);
    if (answer.has_ready()) NoteReady(answer.ready());
    if (answer.has_serving()) NoteServing(fd);
    if (answer.has_quiesced()) {
      HOLDFAST_RETURN_IF_ERROR(NoteQuiesced(answer, fd));
    }
    if (answer.has_usage()) {
      usage_ = answer.usage();
      usage_asked_.reset();
    }
  }
  questions_.Receive(std::move(answer), std::move(fd));
  return absl::OkStatus();
}

absl::Status ExecutorProcess::NoteQuiesced(internal::FromExecutor& answer,
                                           UniqueFd& variables) {
  if (holdings_ == nullptr || !variables.valid()) return absl::OkStatus();
  const absl::Status held = holdings_->variables().Hold(std::move(variables));
  if (!absl::IsResourceExhausted(held)) return held;
  // There is no host memory left: the executor goes on, and the suspension or
  // the upgrade is refused.
  *answer.mutable_error() = ToError(held);
  return absl::OkStatus();
}

absl::Status ExecutorProcess::NoteHoldings(
    const internal::FromExecutor& message, UniqueFd fd) {
  if (message.has_chunk_released()) {
    holdings_->ReleaseChunk(message.chunk_released().chunk());
  }
  if (message.has_import_released()) {
    holdings_->ReleaseImport(message.import_released().import());
  }
  if (message.has_host_memory_created()) {
    const internal::HostMemoryCreated& arena = message.host_memory_created();
    return holdings_->arenas().Hold(arena.handle(), arena.size(),
                                    std::move(fd));
  }
  if (message.has_host_memory_released()) {
    holdings_->ReleaseArena(message.host_memory_released().handle());
  }
  if (message.has_release()) {
    return holdings_->grants().Release(message.release().place(),
                                       message.release().bytes());
  }
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
    if (!serving_ || end_.reason().has_value()) return usage_;
    asked = usage_asked_.has_value();
    if (!asked) {
      usage_asked_ =
          questions_.Ask(internal::FromExecutor::kUsage, /*taken=*/false);
    }
    message.set_question(*usage_asked_);
  }
  const bool sent = asked || process_->channel().Send(message).ok();
  if (sent) questions_.Wait(message.question(), deadline);
  absl::MutexLock lock(&mutex_);
  if (!sent) usage_asked_.reset();
  if (end_.reason().has_value() || holdings_ == nullptr) return usage_;
  internal::Usage usage = usage_;
  // Known here, whatever the executor says.
  holdings_->grants().ReportReserved(
      usage.mutable_usage()->mutable_reserved_bytes());
  holdings_->memory().Report(usage.mutable_usage());
  return usage;
}

absl::StatusOr<uint64_t> ExecutorProcess::ReceivedThrough() {
  absl::MutexLock lock(&mutex_);
  if (holdings_ == nullptr) {
    return absl::UnavailableError("the executor has no session");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const journal::Progress progress,
                            journal::ReadProgress(holdings_->journal()));
  return progress.received;
}

std::string ExecutorProcess::owner() const {
  absl::MutexLock lock(&mutex_);
  return owner_;
}

void ExecutorProcess::GuardKernels(int journal) {
  guard_ = std::make_unique<HangGuard>(HangGuard::Options{
      .journal = UniqueFd(fcntl(journal, F_DUPFD_CLOEXEC, 0)),
      .patience = kLookTime,
      .alarm = [this](absl::Duration since) { EndHanging(since); }});
}

void ExecutorProcess::EndHanging(absl::Duration since) {
  absl::MutexLock lock(&mutex_);
  if (end_.reason().has_value() || end_.fault().has_value()) return;
  internal::Fault fault;
  *fault.mutable_error() = ToError(absl::DeadlineExceededError(absl::StrCat(
      "the executor (pid ", pid(),
      ") hangs: it has not looked for kernels over their limit of time for ",
      absl::FormatDuration(absl::Trunc(since, absl::Milliseconds(1))))));
  end_.NoteFault(fault);
  process_->Kill();
}

void ExecutorProcess::NoteServing(const UniqueFd& counters) {
  if (!serving_) work_.Open(counters, devices_);
  serving_ = true;
}

void ExecutorProcess::NoteReady(const internal::Ready& ready) {
  services_.ledger.AddDevices(ready);
  for (const v1::Device& device : ready.devices()) {
    if (!device.has_free_memory()) continue;
    services_.memory.NoteMeasured(device.ordinal(), device.free_memory(),
                                  device.total_memory());
  }
}

// The process's last word. One that CUDA has given up runs no kernel any more.
// Its end takes the driver's lock for a tenth of a second, which its successor
// would wait for: so it only stops, until the session has recovered and lets go
// of this object. Any other is killed: an endless kernel, or a driver that does
// not let go of the device, must not keep it, and a client that has faulted
// must not keep an MPS server.
void ExecutorProcess::NoteFault(const internal::Fault& fault) {
  {
    absl::MutexLock lock(&mutex_);
    if (end_.reason().has_value()) return;
    end_.NoteFault(fault);
    const auto detail = GetErrorDetail(FromError(end_.fault()->error()));
    const bool of_cuda = detail.has_value() && detail->result != 0;
    if (!of_cuda || !serving_ || end_.is_wanted() || services_.shares_server) {
      process_->Kill();
      return;
    }
    end_.Freeze();
    process_->Freeze();
  }
  SetEnded(absl::UnavailableError(
      absl::StrCat("the executor (pid ", pid(), ") has lost its device")));
}

void ExecutorProcess::SetEnded(const absl::Status& reason) {
  absl::MutexLock callback_lock(&callback_mutex_);
  {
    absl::MutexLock lock(&mutex_);
    if (!end_.End(reason)) return;
    questions_.End(reason);
    work_.End(/*lost=*/serving_ && !end_.is_wanted());
  }
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
  bool unasked = false;
  std::vector<uint32_t> devices;
  {
    absl::MutexLock lock(&mutex_);
    // One that is frozen ends when its session has recovered.
    unasked = !end_.is_wanted() || end_.is_frozen();
    devices = devices_;
  }
  if (unasked && services_.died) services_.died(devices);
  SetEnded(absl::UnavailableError(
      absl::StrCat("the executor (pid ", pid(), ") ", how)));
  // The holdings stay: a session that recovers takes them, perhaps only now.
  absl::MutexLock lock(&mutex_);
  usage_.clear_usage();
}

}  // namespace holdfast::supervisor
