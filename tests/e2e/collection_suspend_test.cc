// SPDX-License-Identifier: Apache-2.0
//
// A version of a collection that is taken off its device comes back with the
// same bytes when somebody opens it, whatever dies in between. The software
// device has 256 MiB; HOLDFAST_TEST_DEVICE names another one.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/admin/admin.h"
#include "client/cpp/collection/collection.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/cpp/collection/collections.h"
#include "client/cpp/session.h"
#include "holdfast/v1/collections.pb.h"
#include "holdfast/v1/module_commands.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/e2e/daemon_process.h"
#include "tests/e2e/kept_sessions.h"
#include "tests/e2e/process.h"

namespace holdfast::e2e {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr char kName[] = "model";

// Processes below `root` whose role is that of an executor.
std::vector<pid_t> ExecutorsBelow(pid_t root) {
  std::vector<pid_t> found;
  std::ifstream file(absl::StrCat("/proc/", root, "/cmdline"));
  const std::string line((std::istreambuf_iterator<char>(file)), {});
  if (line.find("--role=executor") != std::string::npos) found.push_back(root);
  std::ifstream children(
      absl::StrCat("/proc/", root, "/task/", root, "/children"));
  for (pid_t child = 0; children >> child;) {
    const std::vector<pid_t> below = ExecutorsBelow(child);
    found.insert(found.end(), below.begin(), below.end());
  }
  return found;
}

std::string MakeDirectory(const std::string& name) {
  const std::string path = TestFile(name);
  std::filesystem::create_directory(path);
  return path;
}

class CollectionSuspendTest : public ::testing::Test {
 protected:
  CollectionSuspendTest()
      : files_(MakeDirectory("suspended")),
        daemon_({"--suspend-directory=" + files_}),
        operator_(Daemon::Connect(daemon_.address()).value()),
        collections_(operator_),
        weights_(kMiB) {
    std::iota(weights_.begin(), weights_.end(), 7);
    Write(daemon_.address(), weights_);
  }

  // The writer's session may be ending still.
  absl::StatusOr<v1::SuspendCollectionResponse> Suspend(
      const Collections::SuspendOptions& options = {}) {
    auto suspended = collections_.Suspend(kName, options);
    Eventually([&] {
      const bool over =
          !absl::StrContains(suspended.status().message(), "are in use");
      if (!over) suspended = collections_.Suspend(kName, options);
      return over;
    });
    return suspended;
  }
  v1::VersionInfo Info() {
    const auto description = collections_.Describe(kName);
    if (!description.ok()) return {};
    return description->collection().versions(0);
  }
  v1::VersionInfo::State State() { return Info().state(); }
  bool Becomes(v1::VersionInfo::State state) {
    return Eventually([&] { return State() == state; });
  }
  // Bytes that are reserved of all devices, and of the host.
  std::pair<uint64_t, uint64_t> Reserved() {
    const auto list = operator_->ListSessions().value();
    uint64_t bytes = 0;
    for (const auto& device : list.totals().devices()) {
      bytes += device.reserved_bytes().used();
    }
    return {bytes, list.totals().host_bytes().used()};
  }
  void ExpectWeights() { Reader(daemon_.address()).ExpectWeights(weights_); }

  std::vector<pid_t> Executors() const { return ExecutorsBelow(daemon_.pid()); }
  // Stops the executor that waits for a session, so that a copy that gets it
  // does not end. `others` are those of sessions, of which none ends or begins.
  pid_t StopWaitingExecutor(const std::vector<pid_t>& others) {
    EXPECT_TRUE(
        Eventually([&] { return Executors().size() == others.size() + 1; }));
    absl::SleepFor(absl::Milliseconds(500));  // It may be starting.
    for (const pid_t pid : Executors()) {
      if (std::count(others.begin(), others.end(), pid) > 0) continue;
      kill(pid, SIGSTOP);
      return pid;
    }
    return 0;
  }
  // Kills it once the daemon has started another one, since it has taken this
  // one for a copy.
  void KillOnceTaken(pid_t stopped) {
    Eventually(
        [&] {
          for (const pid_t pid : Executors()) {
            if (pid != stopped) return true;
          }
          return false;
        },
        absl::Seconds(20));
    ASSERT_GT(stopped, 0);
    kill(stopped, SIGKILL);
  }
  bool NoSessions() {
    return Eventually(
        [&] { return operator_->ListSessions().value().sessions().empty(); });
  }
  // It is on its device, and its last reader has let go.
  bool IsUnread() {
    return Eventually([&] {
      const v1::VersionInfo info = Info();
      return info.state() == v1::VersionInfo::STATE_RESIDENT &&
             info.readers().empty();
    });
  }

  const std::string files_;
  const DaemonProcess daemon_;
  const std::shared_ptr<Daemon> operator_;
  Collections collections_;
  std::vector<int> weights_;
};

TEST_F(CollectionSuspendTest, OpeningItBringsBackEveryByte) {
  EXPECT_EQ(State(), v1::VersionInfo::STATE_RESIDENT);
  for (int i = 0; i < 2; ++i) {
    const auto suspended = Suspend();
    ASSERT_EQ(suspended.status(), absl::OkStatus());
    EXPECT_EQ(suspended->version(), 1u);
    EXPECT_GE(suspended->bytes(), 4 * kMiB);
    EXPECT_EQ(State(), v1::VersionInfo::STATE_SUSPENDED);
    EXPECT_EQ(Info().suspended_bytes(), suspended->bytes());
    EXPECT_TRUE(Eventually([&] { return Reserved().first == 0; }));
    EXPECT_GE(Reserved().second, suspended->bytes());
    EXPECT_TRUE(absl::IsFailedPrecondition(Suspend().status()));
    ExpectWeights();
    EXPECT_EQ(State(), v1::VersionInfo::STATE_RESIDENT);
    EXPECT_EQ(Info().suspended_bytes(), 0u);
    EXPECT_GE(Reserved().first, suspended->bytes());
    EXPECT_TRUE(IsUnread());
  }
}

TEST_F(CollectionSuspendTest, AnOperatorBringsItBackAsWell) {
  EXPECT_TRUE(absl::IsFailedPrecondition(collections_.Resume(kName).status()));
  const auto suspended = Suspend();
  ASSERT_EQ(suspended.status(), absl::OkStatus());
  const auto resumed = collections_.Resume(kName);
  ASSERT_EQ(resumed.status(), absl::OkStatus());
  EXPECT_EQ(resumed->version(), 1u);
  EXPECT_EQ(resumed->bytes(), suspended->bytes());
  EXPECT_EQ(State(), v1::VersionInfo::STATE_RESIDENT);
  EXPECT_TRUE(Eventually([&] { return Reserved().second == 0; }));
  ExpectWeights();
}

TEST_F(CollectionSuspendTest, OnDiskItCostsNoHostMemoryAndLeavesNoFile) {
  const auto suspended = Suspend({.version = 0, .on_disk = true});
  ASSERT_EQ(suspended.status(), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return Reserved().first == 0; }));
  EXPECT_LT(Reserved().second, suspended->bytes());
  EXPECT_TRUE(std::filesystem::is_empty(files_));
  ExpectWeights();
}

TEST_F(CollectionSuspendTest, OneThatIsMappedIsRefusedAndASleeperIsNone) {
  auto session = Session::Open({.address = daemon_.address()}).value();
  const Stream stream = session->device(0).CreateStream().value();
  {
    auto reader = Collection::Open(*session, kName);
    ASSERT_EQ(reader.status(), absl::OkStatus());
    const absl::Status refused = Suspend().status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), "1 reader")) << refused;
    EXPECT_EQ(State(), v1::VersionInfo::STATE_RESIDENT);

    ASSERT_EQ(reader->Sleep(), absl::OkStatus());
    ASSERT_EQ(Suspend().status(), absl::OkStatus());
    EXPECT_TRUE(Eventually([&] { return Info().suspended_bytes() > 0; }));
    const auto moved = reader->Wake();
    ASSERT_EQ(moved.status(), absl::OkStatus());
    EXPECT_TRUE(moved->empty());
    std::vector<int> found(weights_.size());
    ASSERT_EQ(reader->Array("weights")->Download(found, stream),
              absl::OkStatus());
    EXPECT_EQ(found, weights_);
    EXPECT_EQ(State(), v1::VersionInfo::STATE_RESIDENT);
  }
  ASSERT_EQ(session->Synchronize(), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return Suspend().ok(); }));
}

TEST_F(CollectionSuspendTest, ItsWriterHoldsItUntilTheBufferIsFreed) {
  auto session = Session::Open({.address = daemon_.address()}).value();
  {
    auto writer = CollectionWriter::Create(*session, {{"a", "I32", {16}, {}}});
    ASSERT_EQ(writer.status(), absl::OkStatus());
    ASSERT_EQ(writer->Commit("other").status(), absl::OkStatus());
    const absl::Status refused = collections_.Suspend("other").status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), session->id())) << refused;
  }
  ASSERT_EQ(session->Synchronize(), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return collections_.Suspend("other").ok(); }));
}

// Its limit covers one of them: those that came back are charged to it neither
// now nor by the next daemon.
TEST_F(CollectionSuspendTest, ThoseThatCameBackAreTheirWritersNoMore) {
  auto session =
      Session::Open({.address = daemon_.address(), .memory_limit = 32 * kMiB})
          .value();
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.push_back(absl::StrCat("part-", i));
    {
      auto writer =
          CollectionWriter::Create(*session, {{"a", "I32", {8 * kMiB}, {}}});
      ASSERT_EQ(writer.status(), absl::OkStatus());
      ASSERT_EQ(writer->Commit(names.back()).status(), absl::OkStatus());
    }
    ASSERT_EQ(session->Synchronize(), absl::OkStatus());
    ASSERT_TRUE(
        Eventually([&] { return collections_.Suspend(names.back()).ok(); }));
    ASSERT_EQ(collections_.Resume(names.back()).status(), absl::OkStatus());
  }
  const auto [device_bytes, host_bytes] = Reserved();
  ASSERT_NO_FATAL_FAILURE(UpgradeOnce(daemon_));
  EXPECT_TRUE(Eventually([&] {
    return session->Synchronize().ok() && operator_->ListSessions().ok();
  }));
  EXPECT_EQ(Reserved(), std::make_pair(device_bytes, host_bytes));
  for (const std::string& name : names) {
    EXPECT_EQ(collections_.Suspend(name).status(), absl::OkStatus());
  }
}

TEST_F(CollectionSuspendTest, WithoutRoomOnTheDeviceItStaysSuspended) {
  if (getenv("HOLDFAST_TEST_DEVICE") != nullptr) {
    GTEST_SKIP() << "the device may have more than 256 MiB";
  }
  const std::vector<int> large(16 * kMiB, 5);  // 64 MiB
  ASSERT_EQ(collections_.Delete(kName).status(), absl::OkStatus());
  Write(daemon_.address(), large);
  ASSERT_EQ(Suspend().status(), absl::OkStatus());
  auto session = Session::Open({.address = daemon_.address()}).value();
  {
    const auto hog = session->device(0).AllocateShared(208 * kMiB);
    ASSERT_EQ(hog.status(), absl::OkStatus());
    const absl::Status refused = Collection::Open(*session, kName).status();
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), "stays suspended"))
        << refused;
    EXPECT_TRUE(absl::IsResourceExhausted(collections_.Resume(kName).status()));
    EXPECT_EQ(State(), v1::VersionInfo::STATE_SUSPENDED);
  }
  ASSERT_EQ(session->Synchronize(), absl::OkStatus());
  session = nullptr;
  EXPECT_TRUE(Eventually([&] { return Reserved().first == 0; }));
  Reader(daemon_.address()).ExpectWeights(large);
}

TEST_F(CollectionSuspendTest, AnExecutorThatIsKilledMeanwhileLosesNothing) {
  ASSERT_TRUE(NoSessions());
  pid_t stopped = StopWaitingExecutor({});
  std::thread suspender(
      [&] { EXPECT_EQ(Suspend().status(), absl::OkStatus()); });
  EXPECT_TRUE(Becomes(v1::VersionInfo::STATE_SUSPENDING));
  KillOnceTaken(stopped);
  suspender.join();
  EXPECT_EQ(State(), v1::VersionInfo::STATE_SUSPENDED);

  stopped = StopWaitingExecutor({});
  std::thread resumer([&] {
    EXPECT_EQ(collections_.Resume(kName).status(), absl::OkStatus());
  });
  EXPECT_TRUE(Becomes(v1::VersionInfo::STATE_RESUMING));
  KillOnceTaken(stopped);
  resumer.join();
  ExpectWeights();
}

TEST_F(CollectionSuspendTest, AReaderThatEndsMeanwhileEndsItsResumption) {
  ASSERT_EQ(Suspend().status(), absl::OkStatus());
  ASSERT_TRUE(NoSessions());
  auto session = Session::Open({.address = daemon_.address()}).value();
  ASSERT_EQ(session->Synchronize(), absl::OkStatus());
  pid_t own = 0;
  const auto sessions = operator_->Sessions();
  for (const v1::SessionInfo& info : sessions.value()) {
    if (info.session_id() == session->id()) {
      own = static_cast<pid_t>(info.executor_pid());
    }
  }
  const pid_t stopped = StopWaitingExecutor({own});
  std::thread opener(
      [&] { EXPECT_FALSE(Collection::Open(*session, kName).ok()); });
  EXPECT_TRUE(Becomes(v1::VersionInfo::STATE_RESUMING));
  // The daemon answers all others.
  EXPECT_EQ(operator_->ListSessions().status(), absl::OkStatus());
  EXPECT_EQ(EndSession(*operator_, session->id(), ""), absl::OkStatus());
  opener.join();
  EXPECT_TRUE(Becomes(v1::VersionInfo::STATE_SUSPENDED));
  if (stopped > 0) kill(stopped, SIGKILL);
  ExpectWeights();
}

TEST_F(CollectionSuspendTest, ManyReadersAtOnceGetTheSameBytes) {
  ASSERT_EQ(Suspend().status(), absl::OkStatus());
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) readers.emplace_back([&] { ExpectWeights(); });
  for (std::thread& reader : readers) reader.join();
}

TEST_F(CollectionSuspendTest, ASuspendedOneOutlivesUpgradesAsItIs) {
  for (const bool on_disk : {false, true}) {
    const auto suspended = Suspend({.version = 0, .on_disk = on_disk});
    ASSERT_EQ(suspended.status(), absl::OkStatus());
    for (int i = 0; i < 2; ++i) {
      ASSERT_NO_FATAL_FAILURE(UpgradeOnce(daemon_));
      EXPECT_TRUE(Becomes(v1::VersionInfo::STATE_SUSPENDED));
      EXPECT_EQ(Info().suspended_bytes(), suspended->bytes());
      EXPECT_EQ(Reserved().first, 0u);
      EXPECT_EQ(Reserved().second >= suspended->bytes(), !on_disk);
    }
    ExpectWeights();
    EXPECT_TRUE(IsUnread());
    ASSERT_NO_FATAL_FAILURE(UpgradeOnce(daemon_));
    ExpectWeights();
    EXPECT_TRUE(IsUnread());
  }
}

// The daemon of a keeper; 0: none at present.
pid_t DaemonOf(pid_t keeper) {
  std::ifstream children(
      absl::StrCat("/proc/", keeper, "/task/", keeper, "/children"));
  pid_t child = 0;
  children >> child;
  return child;
}

void KillDaemonOf(pid_t keeper) {
  const pid_t before = DaemonOf(keeper);
  ASSERT_GT(before, 0);
  ASSERT_EQ(kill(before, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] {
    const pid_t now = DaemonOf(keeper);
    return now != 0 && now != before;
  }));
}

TEST(KeptCollectionTest, ASuspendedOneOutlivesADaemonThatIsKilled) {
  const DaemonProcess keeper({"--keeper"});
  const std::vector<int> weights(kCount, 42);
  Write(keeper.address(), weights);
  for (int i = 0; i < 2; ++i) {
    Collections collections(Daemon::Connect(keeper.address()).value());
    // Once the session of the writer, or of the last reader, has ended.
    ASSERT_TRUE(Eventually([&] { return collections.Suspend(kName).ok(); }));
    ASSERT_NO_FATAL_FAILURE(KillDaemonOf(keeper.pid()));
    Reader(keeper.address()).ExpectWeights(weights);
    ASSERT_NO_FATAL_FAILURE(KillDaemonOf(keeper.pid()));
    Reader(keeper.address()).ExpectWeights(weights);
  }
}

TEST(KeptCollectionTest, AWriterThatIsLostTakesNothingAlong) {
  const DaemonProcess keeper({"--keeper"});
  const std::vector<int> weights(kCount, 42);
  auto session = Session::Open({.address = keeper.address(),
                                .recover = RecoveryPolicy::kNever})
                     .value();
  const Stream stream = session->device(0).CreateStream().value();
  auto writer = CollectionWriter::Create(
      *session, {{"weights", "I32", {weights.size()}, {}}});
  ASSERT_EQ(writer.status(), absl::OkStatus());
  ASSERT_EQ(writer->Array(0)->Upload(weights, stream), absl::OkStatus());
  ASSERT_EQ(writer->Commit(kName).status(), absl::OkStatus());
  ASSERT_NO_FATAL_FAILURE(KillDaemonOf(keeper.pid()));
  EXPECT_FALSE(session->Synchronize().ok());
  Reader(keeper.address()).ExpectWeights(weights);
}

TEST_F(CollectionSuspendTest, OneThatIsDeletedGivesItsHostMemoryBack) {
  ASSERT_EQ(Suspend().status(), absl::OkStatus());
  ASSERT_EQ(collections_.Delete(kName).status(), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return Reserved().second == 0; }));
}

TEST_F(CollectionSuspendTest, TheCommandLineSaysWhereItIs) {
  EXPECT_TRUE(Eventually([&] { return Suspend().ok(); }));
  const auto run = [&](std::vector<std::string> arguments) {
    std::vector<std::string> all = {ProgramPath("HOLDFAST_CLI"), "collection"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return RunProgram(all, {{"HOLDFAST_ADDRESS", daemon_.address()}});
  };
  Outcome shown = run({"ls"});
  EXPECT_TRUE(absl::StrContains(shown.out, "(suspended)")) << shown.out;
  shown = run({"show", kName});
  EXPECT_TRUE(absl::StrContains(shown.out, "4.0 MiB off it")) << shown.out;
  shown = run({"show", kName, "--json"});
  EXPECT_TRUE(absl::StrContains(shown.out, "suspended_bytes")) << shown.out;
  const Outcome resumed = run({"resume", kName});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.out, "model version 1 resumed, 4.0 MiB of device memory\n");
  const Outcome suspended = run({"suspend", kName, "--to=host"});
  EXPECT_EQ(suspended.exit_code, 0) << suspended.err;
  EXPECT_EQ(suspended.out,
            "model version 1 suspended, 4.0 MiB of device memory\n");
  EXPECT_NE(run({"suspend", kName}).exit_code, 0);
  EXPECT_NE(run({"suspend", kName, "--to=elsewhere"}).exit_code, 0);
}

// Others could read or replace what lies there.
TEST(SuspendDirectoryTest, OneThatOthersMayWriteToIsRefused) {
  char name[] = "/tmp/holdfast-suspend-XXXXXX";
  const std::string directory = mkdtemp(name);
  ASSERT_EQ(chmod(directory.c_str(), 0777), 0);
  const Outcome outcome =
      RunProgram({ProgramPath("HOLDFAST_DAEMON"), "--device=cpu",
                  "--runtime-dir=" + directory + "/run",
                  "--listen=unix:" + directory + "/run/holdfast.sock",
                  "--cache-directory=" + directory + "/programs",
                  "--suspend-directory=" + directory});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("others may write there"), std::string::npos)
      << outcome.err;
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace holdfast::e2e
