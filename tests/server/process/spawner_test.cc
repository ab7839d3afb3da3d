// SPDX-License-Identifier: Apache-2.0
#include "server/process/spawner.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"
#include "server/process/handed_processes.h"
#include "server/process/output_relay.h"
#include "server/process/successor_spawner.h"

namespace holdfast {
namespace {

using Cause = TerminationReport::Cause;

class SpawnerTest : public testing::Test {
 protected:
  std::unique_ptr<ChildProcess> Shell(const std::string& script) {
    return spawner_->Spawn({"-c", script}).value();
  }

  std::unique_ptr<Spawner> spawner_ =
      Spawner::Create({.executable = "/bin/sh"}).value();
};

TEST_F(SpawnerTest, ReportsTheExitCode) {
  const TerminationReport report = Shell("exit 42")->Wait();
  EXPECT_EQ(report.cause, Cause::kExited);
  EXPECT_EQ(report.code, 42);
  EXPECT_EQ(report.ToString(), "exited with code 42");
  EXPECT_TRUE(Shell("exit 0")->Wait().Succeeded());
}

TEST_F(SpawnerTest, ReportsTheSignal) {
  const TerminationReport report = Shell("kill -SEGV $$")->Wait();
  EXPECT_EQ(report.cause, Cause::kSignaled);
  EXPECT_EQ(report.code, SIGSEGV);
  EXPECT_EQ(report.ToString(), "was killed by signal 11 (SIGSEGV)");
}

TEST_F(SpawnerTest, KillEndsAChildThatWouldStay) {
  const std::unique_ptr<ChildProcess> child = Shell("sleep 1000");
  EXPECT_EQ(child->Wait(absl::InfinitePast()), std::nullopt);
  child->Kill();
  EXPECT_EQ(child->Wait().code, SIGKILL);
}

TEST_F(SpawnerTest, ChildLivesOnThroughSigtermAndSigint) {
  const std::unique_ptr<ChildProcess> child =
      Shell("kill -TERM $$; kill -INT $$; exit 7");
  EXPECT_EQ(child->Wait().code, 7);
}

TEST_F(SpawnerTest, ChildHasItsChannelAndNoOtherDescriptor) {
  const std::unique_ptr<ChildProcess> child =
      Shell("test -S /proc/self/fd/3 && test ! -e /proc/$$/fd/4 && exit 9");
  EXPECT_EQ(child->Wait().code, 9);
}

TEST_F(SpawnerTest, ChildHasVariablesOfItsOwn) {
  ASSERT_EQ(setenv("CUDA_MPS_PIPE_DIRECTORY", "/daemons", 1), 0);
  const auto spawner = Spawner::Create({.executable = "/bin/sh"}).value();
  const std::string script = "test \"$CUDA_MPS_PIPE_DIRECTORY $OWN\" = ";
  EXPECT_TRUE(
      spawner
          ->Spawn({"-c", script + "'/own x=y'"},
                  {.environment = {"CUDA_MPS_PIPE_DIRECTORY=/own", "OWN=x=y"}})
          .value()
          ->Wait()
          .Succeeded());
  EXPECT_TRUE(spawner->Spawn({"-c", script + "'/daemons '"})
                  .value()
                  ->Wait()
                  .Succeeded());
  unsetenv("CUDA_MPS_PIPE_DIRECTORY");
}

// Else it could type into the terminal of a daemon in the foreground.
TEST_F(SpawnerTest, ChildLeadsASessionWithoutATerminal) {
  const std::unique_ptr<ChildProcess> child = Shell(
      "read -r pid name state parent group session terminal rest "
      "< /proc/$$/stat; test $session = $$ && test $terminal = 0 && exit 9");
  EXPECT_EQ(child->Wait().code, 9);
}

TEST_F(SpawnerTest, ChannelClosesWhenTheChildEnds) {
  const std::unique_ptr<ChildProcess> child = Shell("exit 0");
  internal::FromExecutor message;
  EXPECT_EQ(child->channel().Receive(&message).status().code(),
            absl::StatusCode::kUnavailable);
}

// Both streams of a child go by the spawner, which bounds them: a child that
// its client has taken over must not fill the daemon's log.
TEST_F(SpawnerTest, OutputWithoutEndIsCut) {
  testing::internal::CaptureStderr();
  const absl::Time start = absl::Now();
  {
    const auto spawner = Spawner::Create({.executable = "/bin/sh"}).value();
    const auto child = spawner->Spawn(
        {"-c",
         "echo first >&2; echo second; "
         "yes 'a line that is written again' | head -c 1048576; exit 9"});
    EXPECT_EQ(child.value()->Wait().code, 9);
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.rfind("first\nsecond\n", 0), 0u) << text.substr(0, 100);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  EXPECT_LE(static_cast<double>(text.size()),
            OutputRelay::kPerChild.burst +
                seconds * OutputRelay::kPerChild.per_second + (64 << 10));
}

TEST_F(SpawnerTest, ManyChildrenAreToldApart) {
  std::vector<std::unique_ptr<ChildProcess>> children;
  for (int i = 0; i < 20; ++i) {
    children.push_back(Shell("exit " + std::to_string(i)));
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(children[i]->Wait().code, i);
}

// Makes descriptors of this process fail beyond `count` more.
class FewDescriptors {
 public:
  explicit FewDescriptors(int count) {
    getrlimit(RLIMIT_NOFILE, &before_);
    std::vector<UniqueFd> free;
    int last = 0;
    for (int i = 0; i < count; ++i) {
      free.emplace_back(fcntl(0, F_DUPFD_CLOEXEC, 0));
      last = std::max(last, free.back().get());
    }
    const rlimit few = {.rlim_cur = static_cast<rlim_t>(last) + 1,
                        .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

// The spawner was taken for dead, with which a daemon ends.
TEST_F(SpawnerTest, WithoutADescriptorForAChildOneSpawnFails) {
  bool gone = false;
  spawner_->OnGone([&gone] { gone = true; });
  {
    const FewDescriptors channel_only(2);
    EXPECT_EQ(spawner_->Spawn({"-c", "sleep 1000"}).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(Shell("exit 4")->Wait().code, 4);
  EXPECT_FALSE(gone);
}

TEST_F(SpawnerTest, ProgramThatIsMissingExitsWith127) {
  auto spawner = Spawner::Create({.executable = "/nonexistent"}).value();
  EXPECT_EQ(spawner->Spawn({}).value()->Wait().code, 127);
}

// A process of the given pid is gone once its parent's death has killed it;
// init or a subreaper may take a moment to collect it.
bool IsGone(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return !(stat >> number >> name >> state) || state == "Z";
}

TEST_F(SpawnerTest, ChildrenDieWithTheSpawnerAndSpawningSaysSo) {
  const std::unique_ptr<ChildProcess> child = Shell("echo $PPID; sleep 1000");
  const std::unique_ptr<ChildProcess> killer = Shell("kill -9 $PPID");
  EXPECT_EQ(killer->Wait().cause, Cause::kUnknown);
  EXPECT_EQ(child->Wait().cause, Cause::kUnknown);
  while (!IsGone(child->pid())) usleep(1000);
  EXPECT_EQ(spawner_->Spawn({"-c", "exit 0"}).status().code(),
            absl::StatusCode::kUnavailable);
}

// So that a supervisor may end before it takes leave of what the children had.
TEST_F(SpawnerTest, TheSpawnersEndIsToldBeforeTheChildrens) {
  const std::unique_ptr<ChildProcess> child = Shell("sleep 1000");
  bool first = false;
  spawner_->OnGone(
      [&] { first = !child->Wait(absl::InfinitePast()).has_value(); });
  const std::unique_ptr<ChildProcess> killer = Shell("kill -9 $PPID");
  EXPECT_EQ(child->Wait().cause, Cause::kUnknown);
  spawner_->OnGone(nullptr);
  EXPECT_TRUE(first);
}

TEST(SpawnerProcessTest, ChildrenDieWithTheSupervisor) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t supervisor = fork();
  if (supervisor == 0) {
    auto spawner = Spawner::Create({.executable = "/bin/sh"}).value();
    const auto child = spawner->Spawn({"-c", "sleep 1000"}).value();
    const pid_t pid = child->pid();
    (void)!write(pipe_ends[1], &pid, sizeof pid);
    kill(getpid(), SIGKILL);
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(pipe_ends[0], &grandchild, sizeof grandchild),
            static_cast<ssize_t>(sizeof grandchild));
  waitpid(supervisor, nullptr, 0);
  while (!IsGone(grandchild)) usleep(1000);
}

TEST(SuccessorSpawnerTest, AProgramThatIsNoSpawnerStartsNoChild) {
  const auto spawner = SuccessorSpawner::Start("/bin/true", {}).value();
  const absl::Status started =
      spawner->StartChild({.user = std::make_shared<const UserRange::Lease>()},
                          absl::InfiniteFuture());
  EXPECT_EQ(started.code(), absl::StatusCode::kUnavailable) << started;
  EXPECT_EQ(spawner->ready(), 0u);
}

TEST(SpawnerAdoptTest, ASpawnerThatHasEndedIsNotTakenOver) {
  auto ends = Channel::CreatePair().value();
  ends.second.Reset();
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  HandedProcesses handed;
  handed.spawner = pid;
  handed.channel = std::move(ends.first);
  EXPECT_EQ(Spawner::Adopt(std::move(handed), nullptr).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(waitpid(pid, nullptr, 0), -1);  // It has been waited for.
}

}  // namespace
}  // namespace holdfast
