// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compiler_worker.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "core/base/utf8.h"
#include "core/compile/compiler_error.h"
#include "server/compile/compiler_main.h"
#include "server/compile/program_request.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {
namespace {

constexpr absl::Duration kStartLimit = absl::Minutes(1);
constexpr size_t kMaxLastWords = 4096;

// A process that has closed its channel is exiting; one that stays is killed.
constexpr absl::Duration kExitTime = absl::Seconds(1);

absl::Status OverTime(absl::string_view what, absl::Duration limit) {
  return absl::DeadlineExceededError(
      absl::StrCat("the compilation took more than ", what, " of ",
                   absl::FormatDuration(limit), " (--compile-timeout)"));
}

absl::Status OutOfMemory() {
  return absl::ResourceExhaustedError(
      "the compiler needed more memory than it may have (--compile-memory)");
}

// Why a worker has no more memory, which it does not know itself.
absl::Status Explained(const absl::Status& error) {
  return absl::IsResourceExhausted(error)
             ? WithPrefix(OutOfMemory().message(), error)
             : error;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CompilerWorker>> CompilerWorker::Create(
    std::unique_ptr<ChildProcess> process) {
  internal::FromCompiler message;
  absl::StatusOr<UniqueFd> stderr_memory =
      process->channel().Receive(&message, absl::Now() + kStartLimit);
  if (!stderr_memory.ok()) {
    process->Kill();
    return absl::UnavailableError(
        absl::StrCat("the compiler worker could not start: it ",
                     process->Wait().ToString()));
  }
  const internal::CompilerReady& ready = message.ready();
  if (ready.has_error()) return FromError(ready.error());
  return std::unique_ptr<CompilerWorker>(
      new CompilerWorker(std::move(process), *std::move(stderr_memory), ready));
}

absl::StatusOr<CompilerWorker::Result> CompilerWorker::Run(
    const internal::ToCompiler& job, int fd, absl::Duration time_limit,
    const CompileCaller& caller) {
  ++jobs_;
  const absl::Status sent = process_->channel().Send(job, fd);
  if (!sent.ok()) {
    return WithPrefix(Describe(job), NotSent(sent, time_limit));
  }
  internal::FromCompiler reply;
  absl::StatusOr<UniqueFd> object = Await(&reply, time_limit, caller);
  // The daemon has no descriptor left for what the worker has sent.
  if (absl::IsResourceExhausted(object.status())) {
    return WithPrefix(Describe(job), object.status());
  }
  if (!object.ok()) {
    return WithPrefix(Describe(job), Failure(object.status(), time_limit));
  }
  if (reply.compiled().retires()) usable_ = false;
  if (reply.compiled().has_error()) {
    return Explained(FromError(reply.compiled().error()));
  }
  return Result{std::move(*reply.mutable_compiled()->mutable_response()),
                *std::move(object), installation_.identity()};
}

absl::StatusOr<UniqueFd> CompilerWorker::Await(internal::FromCompiler* reply,
                                               absl::Duration time_limit,
                                               const CompileCaller& caller) {
  const absl::Time end = SteadyNow() + time_limit;
  while (true) {
    caller.report(CompileStage());
    const absl::Duration left = end - SteadyNow();
    absl::StatusOr<UniqueFd> object = process_->channel().Receive(
        reply, absl::Now() + std::min(kCallerInterval, left));
    if (!absl::IsDeadlineExceeded(object.status()) || left <= kCallerInterval) {
      return object;
    }
    if (caller.gone()) return absl::CancelledError("the caller has gone");
  }
}

absl::Status CompilerWorker::NotSent(const absl::Status& sent,
                                     absl::Duration time_limit) {
  if (absl::IsUnavailable(sent)) return Failure(sent, time_limit);
  if (!absl::IsDeadlineExceeded(sent)) return sent;
  usable_ = false;
  lost_ = true;
  process_->Kill();
  return absl::UnavailableError(
      absl::StrCat("the compiler worker (pid ", process_->pid(),
                   ") did not take the job and was killed: ", sent.message()));
}

absl::Status CompilerWorker::Failure(const absl::Status& received,
                                     absl::Duration time_limit) {
  usable_ = false;
  lost_ = true;
  if (!absl::IsUnavailable(received) ||
      !process_->Wait(absl::Now() + kExitTime).has_value()) {
    process_->Kill();
  }
  const TerminationReport report = process_->Wait();
  if (absl::IsCancelled(received)) return received;
  if (absl::IsDeadlineExceeded(received)) {
    return OverTime("its time limit", time_limit);
  }
  using Cause = TerminationReport::Cause;
  if (report.cause == Cause::kSignaled && report.code == SIGXCPU) {
    return OverTime("its processor time limit", time_limit);
  }
  if (report.cause == Cause::kExited && report.code == kOutOfMemoryExit) {
    return OutOfMemory();
  }
  return Crash(report);
}

// The compilers' optimizer aborts where it has no memory, and says so.
absl::Status CompilerWorker::Crash(const TerminationReport& report) const {
  ErrorDetail detail;
  detail.log = LastWords();
  if (compile::SaysOutOfMemory(detail.log)) return OutOfMemory();
  absl::Status status = absl::AbortedError(
      absl::StrCat("the compiler crashed: its process ", report.ToString(),
                   detail.log.empty() ? "" : "; it said last: ", detail.log));
  SetErrorDetail(detail, &status);
  return status;
}

std::string CompilerWorker::LastWords() const {
  struct stat info = {};
  if (fstat(stderr_memory_.get(), &info) != 0) return "";
  std::string words(kMaxLastWords, '\0');
  const ssize_t n = pread(
      stderr_memory_.get(), words.data(), words.size(),
      std::max<off_t>(0, info.st_size - static_cast<off_t>(words.size())));
  words.resize(n < 0 ? 0 : static_cast<size_t>(n));
  return ToValidUtf8(absl::StripAsciiWhitespace(words));
}

}  // namespace holdfast
