// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/engine/fuzzer.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace holdfast::fuzz {
namespace {

// A run with more findings than this has been seen enough of.
constexpr uint64_t kMaxFindings = 20;
constexpr absl::Duration kHang = absl::Minutes(2);
constexpr absl::Duration kPoll = absl::Milliseconds(20);

struct Options {
  uint64_t executions = 0;  // 0: no limit
  uint64_t seconds = 0;     // 0: no limit
  uint64_t seed = 1;
  uint64_t first = 0;
  uint64_t fork = 1;
};

// In memory that the fuzzer and its child share: it outlives the child.
struct Progress {
  std::atomic<uint64_t> next{0};  // the execution that runs or comes next
  std::atomic<uint64_t> done{0};
  std::atomic<uint64_t> findings{0};
  std::atomic<bool> finished{false};
  char summary[1000] = "";
};

bool ParseOption(absl::string_view argument, Options* options) {
  if (!absl::ConsumePrefix(&argument, "--")) return false;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(argument, absl::MaxSplits('=', 1));
  const std::pair<absl::string_view, uint64_t*> known[] = {
      {"executions", &options->executions},
      {"seconds", &options->seconds},
      {"seed", &options->seed},
      {"first", &options->first},
      {"fork", &options->fork}};
  for (const auto& [name, value] : known) {
    if (parts.first == name) return absl::SimpleAtoi(parts.second, value);
  }
  return false;
}

// Executions of neighbouring numbers and runs of neighbouring seeds have
// nothing in common.
uint64_t SeedOf(uint64_t run, uint64_t execution) {
  return Random(Random(run).Next() ^ (execution * 0xd1342543de82ef95)).Next();
}

class Run {
 public:
  Run(const char* program, const Options& options, Progress* progress)
      : program_(program),
        options_(options),
        progress_(*progress),
        deadline_(options.seconds == 0
                      ? absl::InfiniteFuture()
                      : absl::Now() + absl::Seconds(options.seconds)) {
    progress_.next = options.first;
  }

  // Executes what is left, or as much of it as a target can that is spent.
  void Execute(const MakeTarget& make);
  // The same in a child process, and after its end in another one.
  void Supervise(const MakeTarget& make);
  int Report() const;

 private:
  bool Over() const {
    const uint64_t next = progress_.next;
    return (options_.executions != 0 &&
            next - options_.first >= options_.executions) ||
           progress_.findings >= kMaxFindings || absl::Now() >= deadline_;
  }
  void Note(absl::string_view finding);
  int AwaitChild(pid_t child);

  const char* const program_;
  const Options options_;
  Progress& progress_;
  const absl::Time deadline_;
};

void Run::Note(absl::string_view finding) {
  ++progress_.findings;
  std::fprintf(stderr,
               "FINDING: %.*s\n  %s --seed=%llu --first=%llu --executions=1\n",
               static_cast<int>(finding.size()), finding.data(), program_,
               static_cast<unsigned long long>(options_.seed),
               static_cast<unsigned long long>(progress_.next.load()));
}

void Run::Execute(const MakeTarget& make) {
  const std::unique_ptr<FuzzTarget> target = make();
  while (!Over() && !target->Spent()) {
    Random random(SeedOf(options_.seed, progress_.next));
    const absl::Status status = target->Execute(random);
    if (!status.ok()) Note(status.message());
    ++progress_.done;
    ++progress_.next;
  }
  std::snprintf(progress_.summary, sizeof progress_.summary, "%s",
                target->Summary().c_str());
  if (!Over()) return;
  const absl::Status status = target->Finish();
  if (!status.ok()) Note(absl::StrCat("at the end: ", status.message()));
}

// Returns how the child ended, as waitpid says it; a child that hangs is
// killed.
int Run::AwaitChild(pid_t child) {
  uint64_t seen = progress_.next;
  absl::Time changed = absl::Now();
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (const uint64_t next = progress_.next; next != seen) {
      seen = next;
      changed = absl::Now();
    } else if (absl::Now() - changed > kHang) {
      std::fprintf(stderr, "no progress for %s\n",
                   absl::FormatDuration(kHang).c_str());
      kill(child, SIGABRT);
      waitpid(child, &status, 0);
      return status;
    }
    absl::SleepFor(kPoll);
  }
  return status;
}

void Run::Supervise(const MakeTarget& make) {
  do {
    progress_.finished = false;
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      Execute(make);
      progress_.finished = true;
      std::exit(0);  // With what a sanitizer says at the end.
    }
    const int status = AwaitChild(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    const std::string how =
        WIFSIGNALED(status)
            ? absl::StrCat("was ended by signal ", WTERMSIG(status))
            : absl::StrCat("exited with ", WEXITSTATUS(status));
    Note(absl::StrCat("the process ", how,
                      progress_.finished ? " after its last execution" : ""));
    if (progress_.finished) return;
    ++progress_.done;
    ++progress_.next;
  } while (!Over());
}

int Run::Report() const {
  std::printf("%llu executions, %llu findings, seed %llu; %s\n",
              static_cast<unsigned long long>(progress_.done.load()),
              static_cast<unsigned long long>(progress_.findings.load()),
              static_cast<unsigned long long>(options_.seed),
              progress_.summary);
  return progress_.findings == 0 ? 0 : 1;
}

}  // namespace

int FuzzMain(int argc, char** argv, const MakeTarget& make) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (ParseOption(argv[i], &options)) continue;
    std::fprintf(stderr,
                 "%s: unknown flag; there are --executions, --seconds, --seed, "
                 "--first and --fork, each with a number\n",
                 argv[i]);
    return 2;
  }
  if (options.executions == 0 && options.seconds == 0) {
    options.executions = 1000;
  }
  void* const memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, /*fd=*/-1, 0);
  if (memory == MAP_FAILED) return 2;
  auto* const progress = new (memory) Progress;
  Run run(argv[0], options, progress);
  if (options.fork == 0) {
    run.Execute(make);
  } else {
    run.Supervise(make);
  }
  return run.Report();
}

}  // namespace holdfast::fuzz
