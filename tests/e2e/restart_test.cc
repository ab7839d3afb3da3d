// SPDX-License-Identifier: Apache-2.0
//
// Sessions and collections outlive their daemon: one that makes way for another
// in order, which clients do not notice, and one that is killed, which they
// notice as one fault.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/admin/admin.h"
#include "client/cpp/collection/collection.h"
#include "client/cpp/collection/collection_watch.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/cpp/collection/collections.h"
#include "client/cpp/fault.h"
#include "client/cpp/launch.h"
#include "client/cpp/program.h"
#include "client/cpp/session.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void count(unsigned* sum) { atomicAdd(sum, 1u); }
extern "C" __global__ void add(int* x, int value) {
  x[blockIdx.x * blockDim.x + threadIdx.x] += value;
}
)";
constexpr int kCount = 1 << 14;
constexpr uint64_t kBytes = kCount * sizeof(int);
constexpr LaunchConfig kOneThread = {.grid = 1, .block = 1};
constexpr LaunchConfig kAll = {.grid = kCount / 256, .block = 256};

// A session with a kernel that counts its launches, and numbers.
class Client {
 public:
  explicit Client(const SessionOptions& options)
      : session_(Session::Open(options).value()),
        module_(session_
                    ->Load(Program(kSource, {.name = "restart.cu"})
                               .Compile(session_->daemon())
                               .value()
                               .object)
                    .value()),
        stream_(session_->device(0).CreateStream().value()),
        sum_(session_->device(0).Allocate(sizeof(unsigned), stream_).value()),
        numbers_(session_->device(0).Allocate(kBytes, stream_).value()),
        expected_(kCount) {
    std::iota(expected_.begin(), expected_.end(), 7);
    EXPECT_EQ(numbers_.Upload(expected_, stream_), absl::OkStatus());
    EXPECT_EQ(sum_.Upload(std::vector<unsigned>{0}, stream_), absl::OkStatus());
    EXPECT_EQ(session_->Synchronize(), absl::OkStatus());
  }

  Session& session() { return *session_; }
  const Stream& stream() const { return stream_; }

  absl::Status Count() {
    ++launches_;
    return Launch(stream_, kOneThread, module_.GetKernel("count").value(),
                  sum_);
  }
  absl::Status Add(int value) {
    for (int& number : expected_) number += value;
    return Launch(stream_, kAll, module_.GetKernel("add").value(), numbers_,
                  value);
  }
  unsigned Sum() {
    std::vector<unsigned> sum(1);
    EXPECT_EQ(sum_.Download(sum, stream_), absl::OkStatus());
    return sum[0];
  }
  unsigned launches() const { return launches_; }
  void ExpectNumbers() {
    std::vector<int> numbers(kCount);
    EXPECT_EQ(numbers_.Download(numbers, stream_), absl::OkStatus());
    EXPECT_EQ(numbers, expected_);
  }

 private:
  std::unique_ptr<Session> session_;
  Module module_;
  Stream stream_;
  Buffer sum_;
  Buffer numbers_;
  std::vector<int> expected_;
  unsigned launches_ = 0;
};

// The daemon that a keeper has started; 0: none at present.
pid_t ChildOf(pid_t keeper) {
  std::ifstream children(
      absl::StrCat("/proc/", keeper, "/task/", keeper, "/children"));
  pid_t child = 0;
  children >> child;
  return child;
}

void KillDaemonOf(const DaemonProcess& keeper) {
  const pid_t before = ChildOf(keeper.pid());
  ASSERT_GT(before, 0);
  ASSERT_EQ(kill(before, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] {
    const pid_t now = ChildOf(keeper.pid());
    return now != 0 && now != before;
  }));
}

// Launches all the time while `disturb` runs. Every launch counts once.
void ExpectNoLaunchLost(Client& client, const std::function<void()>& disturb) {
  std::atomic<bool> stop{false};
  std::thread disturber([&] {
    disturb();
    stop = true;
  });
  while (!stop) {
    ASSERT_EQ(client.Count(), absl::OkStatus());
    if (client.launches() % 64 == 0) {
      ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
    }
  }
  disturber.join();
  EXPECT_EQ(client.Sum(), client.launches());
  client.ExpectNumbers();
}

void UpgradeThrice(const DaemonProcess& daemon) {
  for (int i = 0; i < 3; ++i) {
    auto connection = Daemon::Connect(daemon.address());
    ASSERT_TRUE(connection.ok()) << connection.status();
    const auto upgraded = Upgrade(**connection);
    ASSERT_TRUE(upgraded.ok()) << upgraded.status();
    EXPECT_FALSE(upgraded->version.empty());
    absl::SleepFor(absl::Milliseconds(100));
  }
}

TEST(UpgradeTest, ALocalClientNoticesNothing) {
  const DaemonProcess daemon;
  Client client({.address = daemon.address()});
  ExpectNoLaunchLost(client, [&] { UpgradeThrice(daemon); });
  ASSERT_EQ(client.Add(1), absl::OkStatus());
  client.ExpectNumbers();
}

TEST(UpgradeTest, ARemoteClientWithAGraceNoticesNothing) {
  const DaemonProcess daemon;
  Client client(
      {.address = daemon.tcp_address(), .reconnect_grace = absl::Seconds(30)});
  ExpectNoLaunchLost(client, [&] { UpgradeThrice(daemon); });
}

TEST(UpgradeTest, ClientsThatAreIdleGoOnAfterwards) {
  const DaemonProcess daemon;
  Client local({.address = daemon.address()});
  Client remote({.address = daemon.tcp_address()});
  UpgradeThrice(daemon);
  for (Client* client : {&local, &remote}) {
    ASSERT_EQ(client->Add(3), absl::OkStatus());
    client->ExpectNumbers();
    EXPECT_EQ(client->session().Close(), absl::OkStatus());
  }
}

TEST(UpgradeTest, IsRefusedWhereASessionWouldLoseMemoryAndAllGoesOn) {
  const DaemonProcess daemon;
  Client client({.address = daemon.address()});
  auto pinned = client.session().AllocateHost(4096);
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  ASSERT_EQ(client.session().Synchronize(), absl::OkStatus());
  auto connection = Daemon::Connect(daemon.address());
  const auto refused = Upgrade(**connection);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.status().message().find("page-locked"), std::string::npos)
      << refused.status();
  ASSERT_EQ(client.Add(5), absl::OkStatus());
  client.ExpectNumbers();
}

TEST(UpgradeTest, WaitsForAKernelAndForBytesOnTheirWay) {
  const DaemonProcess daemon;
  Client client({.address = daemon.address()});
  auto big = client.session().device(0).Allocate(64 << 20, client.stream());
  ASSERT_TRUE(big.ok()) << big.status();
  const std::vector<int> bytes((64 << 20) / sizeof(int), 5);
  std::thread upgrade([&] { UpgradeThrice(daemon); });
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(big->Upload(bytes, client.stream()), absl::OkStatus());
  }
  upgrade.join();
  std::vector<int> back(bytes.size());
  EXPECT_EQ(big->Download(back, client.stream()), absl::OkStatus());
  EXPECT_EQ(back, bytes);
}

// One fault is told, and nothing that was synchronized is lost.
void ExpectOneFault(Client& client) {
  absl::Status told;
  ASSERT_TRUE(Eventually([&] {
    told = client.stream().Synchronize();
    return !told.ok();
  }));
  EXPECT_TRUE(FaultOf(told).has_value()) << told;
  EXPECT_NE(told.message().find("the daemon has died"), std::string::npos)
      << told;
  EXPECT_EQ(client.stream().Synchronize(), absl::OkStatus());
  client.ExpectNumbers();
  ASSERT_EQ(client.Add(11), absl::OkStatus());
  client.ExpectNumbers();
}

TEST(KeeperTest, SessionsOutliveADaemonThatIsKilled) {
  const DaemonProcess daemon({"--keeper"});
  Client local({.address = daemon.address()});
  Client remote({.address = daemon.tcp_address()});
  Client graceful(
      {.address = daemon.tcp_address(), .reconnect_grace = absl::Seconds(30)});
  for (int i = 0; i < 2; ++i) {
    KillDaemonOf(daemon);
    for (Client* client : {&local, &remote, &graceful}) ExpectOneFault(*client);
  }
}

// Opens sessions on a daemon, to look at a collection.
class Reader {
 public:
  explicit Reader(const std::string& address)
      : session_(Session::Open({.address = address}).value()),
        stream_(session_->device(0).CreateStream().value()),
        collection_(Collection::Open(*session_, "model").value()) {}

  void ExpectWeights(const std::vector<int>& weights) {
    EXPECT_EQ(collection_.version(), 1u);
    std::vector<int> back(weights.size());
    EXPECT_EQ(collection_.Array("weights")->Download(back, stream_),
              absl::OkStatus());
    EXPECT_EQ(back, weights);
  }
  // Takes note of a fault.
  void Synchronize() { session_->Synchronize().IgnoreError(); }

 private:
  std::unique_ptr<Session> session_;
  Stream stream_;
  Collection collection_;
};

void Write(const std::string& address, const std::vector<int>& weights) {
  const auto session = Session::Open({.address = address}).value();
  const Stream stream = session->device(0).CreateStream().value();
  auto writer = CollectionWriter::Create(
      *session, {{"weights", "I32", {weights.size()}}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_EQ(writer->Array(0)->Upload(weights, stream), absl::OkStatus());
  const auto version = writer->Commit("model");
  ASSERT_TRUE(version.ok()) << version.status();
}

TEST(KeeperTest, CollectionsOutliveADaemonThatIsKilledAndTheirWriter) {
  const DaemonProcess daemon({"--keeper"});
  const std::vector<int> weights(kCount, 42);
  Write(daemon.address(), weights);
  Reader before(daemon.address());
  before.ExpectWeights(weights);
  for (int i = 0; i < 2; ++i) {
    KillDaemonOf(daemon);
    Reader(daemon.address()).ExpectWeights(weights);
    before.Synchronize();
    before.ExpectWeights(weights);
  }
}

TEST(UpgradeTest, CollectionsAndTheirReadersStay) {
  const DaemonProcess daemon;
  const std::vector<int> weights(kCount, 42);
  Write(daemon.address(), weights);
  Reader before(daemon.address());
  UpgradeThrice(daemon);
  Reader(daemon.address()).ExpectWeights(weights);
  before.ExpectWeights(weights);
}

// A session that was told to write still is; one that waits still does; a watch
// tells each version once.
TEST(UpgradeTest, ClaimsAndWatchesGoOn) {
  const DaemonProcess daemon;
  const auto writer = Session::Open({.address = daemon.address()}).value();
  const auto other = Session::Open({.address = daemon.address()}).value();
  auto claim = WriteClaim::Wait(*writer, "model");
  ASSERT_TRUE(claim.ok()) << claim.status();
  ASSERT_TRUE((*claim)->writes());
  std::atomic<bool> answered = false;
  std::thread waiting([&] {
    const auto next = WriteClaim::Wait(*other, "model");
    answered = true;
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_FALSE((*next)->writes());
  });
  CollectionWatch watch(Daemon::Connect(daemon.address()).value(), "model");
  UpgradeThrice(daemon);
  EXPECT_FALSE(answered);
  auto collection =
      CollectionWriter::Create(*writer, {{"weights", "I32", {1}}});
  ASSERT_TRUE(collection.ok()) << collection.status();
  EXPECT_EQ(collection->Commit("model").status(), absl::OkStatus());
  waiting.join();
  const auto told = watch.Next();
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ(told->version(), 1u);
  UpgradeThrice(daemon);
  EXPECT_EQ(Collections(writer->shared_daemon()).Delete("model").status(),
            absl::OkStatus());
  const auto deleted = watch.Next();
  ASSERT_TRUE(deleted.ok()) << deleted.status();
  EXPECT_EQ(deleted->kind(), v1::CollectionChange::KIND_DELETED);
}

TEST(UpgradeTest, AClaimThatIsGivenUpAfterwardsGoesToTheNext) {
  const DaemonProcess daemon;
  const auto writer = Session::Open({.address = daemon.address()}).value();
  const auto other = Session::Open({.address = daemon.address()}).value();
  auto claim = WriteClaim::Wait(*writer, "model").value();
  ASSERT_TRUE(claim->writes());
  std::thread waiting([&] {
    const auto next = WriteClaim::Wait(*other, "model");
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_TRUE((*next)->writes());
  });
  UpgradeThrice(daemon);
  claim.reset();
  waiting.join();
}

TEST(KeeperTest, SuspendedSessionsOutliveADaemonThatIsKilled) {
  const DaemonProcess daemon({"--keeper"});
  Client client({.address = daemon.address()});
  auto connection = Daemon::Connect(daemon.address());
  ASSERT_TRUE(SuspendSession(**connection, client.session().id()).ok());
  KillDaemonOf(daemon);
  // Its client is told nothing.
  ASSERT_EQ(client.Add(2), absl::OkStatus());
  client.ExpectNumbers();
}

std::string TestFile(const std::string& name) {
  return absl::StrCat(testing::TempDir(), "/", name);
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(KeeperTest, IsAskedForByAConfigurationFileAndIsOne) {
  const std::string file = TestFile("keeper.toml");
  WriteFile(file, "keeper = true\n");
  const DaemonProcess daemon({"--config", file});
  Client client({.address = daemon.address()});
  KillDaemonOf(daemon);
  ExpectOneFault(client);
}

TEST(KeeperTest, SessionsOutliveADaemonWhoseSpawnerIsKilled) {
  const DaemonProcess keeper({"--keeper"});
  Client client({.address = keeper.address()});
  const pid_t daemon = ChildOf(keeper.pid());
  const pid_t spawner = ChildOf(daemon);
  ASSERT_GT(spawner, 0);
  ASSERT_EQ(kill(spawner, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] {
    const pid_t now = ChildOf(keeper.pid());
    return now != 0 && now != daemon;
  }));
  ExpectOneFault(client);
}

TEST(KeeperTest, SessionsOutliveADaemonThatCannotStart) {
  constexpr char kServesAll[] = "unnamed = \"serve\"\n";
  const std::string policy = TestFile("policy.toml");
  WriteFile(policy, kServesAll);
  const DaemonProcess keeper({"--keeper", "--policy=" + policy});
  Client client({.address = keeper.address()});
  WriteFile(policy, "this is no policy\n");
  KillDaemonOf(keeper);
  const pid_t failing = ChildOf(keeper.pid());
  ASSERT_TRUE(Eventually([&] {
    const pid_t now = ChildOf(keeper.pid());
    return now != 0 && now != failing;
  }));
  WriteFile(policy, kServesAll);
  ExpectOneFault(client);
}

// A temporary directory may be cleaned, or be the dead daemon's alone.
TEST(KeeperTest, WithoutTheSessionsDirectoryADaemonStartsWithCollectionsAlone) {
  const DaemonProcess keeper({"--keeper"});
  const std::vector<int> weights(kCount, 42);
  Write(keeper.address(), weights);
  const pid_t daemon = ChildOf(keeper.pid());
  ASSERT_GT(std::filesystem::remove_all(
                absl::StrCat(keeper.directory(), "/executors-", daemon)),
            0u);
  KillDaemonOf(keeper);
  Reader(keeper.address()).ExpectWeights(weights);
}

// A daemon whose program is a file of the test's.
class OwnBinary {
 public:
  OwnBinary() : original_(ProgramPath("HOLDFAST_DAEMON")) {
    std::filesystem::copy_file(original_, path_);
    setenv("HOLDFAST_DAEMON", path_.c_str(), 1);
    daemon_ = std::make_unique<DaemonProcess>();
    setenv("HOLDFAST_DAEMON", original_.c_str(), 1);
  }
  ~OwnBinary() {
    daemon_ = nullptr;
    std::filesystem::remove(path_);
  }

  const DaemonProcess& daemon() const { return *daemon_; }
  // Its next version: a program that says that it does not take the state.
  void ReplaceByOneThatRefuses() const {
    WriteFile(path_ + ".new", "#!/bin/sh\necho no such state; exit 1\n");
    Replace();
  }
  void ReplaceByTheSame() const {
    std::filesystem::copy_file(original_, path_ + ".new");
    Replace();
  }
  // The process was executed anew: the addresses are not told again.
  bool WasReplaced() const {
    std::ifstream file(absl::StrCat("/proc/", daemon_->pid(), "/cmdline"));
    std::string line;
    std::getline(file, line);
    return line.find("--ready-fd=-1") != std::string::npos;
  }

 private:
  void Replace() const {
    std::filesystem::permissions(path_ + ".new",
                                 std::filesystem::perms::owner_all);
    std::filesystem::rename(path_ + ".new", path_);
  }

  const std::string original_;
  const std::string path_ = TestFile("holdfastd-of-the-test");
  std::unique_ptr<DaemonProcess> daemon_;
};

TEST(UpgradeTest, ABinaryThatDoesNotTakeTheStateIsRefusedAndAllGoesOn) {
  const OwnBinary binary;
  const DaemonProcess& daemon = binary.daemon();
  Client client({.address = daemon.address()});
  binary.ReplaceByOneThatRefuses();
  auto connection = Daemon::Connect(daemon.address());
  const auto refused = Upgrade(**connection);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.status().message().find("no such state"), std::string::npos)
      << refused.status();
  for (const int signal : {SIGHUP, SIGUSR2}) {
    ASSERT_EQ(kill(daemon.pid(), signal), 0);
    ASSERT_EQ(client.Add(1), absl::OkStatus());
    client.ExpectNumbers();
  }
  EXPECT_FALSE(binary.WasReplaced());
  Client next({.address = daemon.address()});
  next.ExpectNumbers();
}

TEST(UpgradeTest, ASignalExecutesTheBinaryThatIsThere) {
  for (const int signal : {SIGHUP, SIGUSR2}) {
    const OwnBinary binary;
    const DaemonProcess& daemon = binary.daemon();
    Client client({.address = daemon.address()});
    binary.ReplaceByTheSame();
    ExpectNoLaunchLost(client, [&] {
      EXPECT_EQ(kill(daemon.pid(), signal), 0);
      EXPECT_TRUE(Eventually([&] { return binary.WasReplaced(); }));
    });
  }
}

TEST(UpgradeTest, ADaemonThatDrainsIsNotReplacedAndWaitsForItsSessions) {
  const DaemonProcess daemon;
  Client client({.address = daemon.address()});
  auto connection = Daemon::Connect(daemon.address());
  ASSERT_EQ(kill(daemon.pid(), SIGTERM), 0);
  ASSERT_TRUE(Eventually([&] {
    return absl::IsUnavailable(
        Session::Open({.address = daemon.address()}).status());
  }));
  const absl::Status refused = Upgrade(**connection).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_NE(refused.message().find("stopping"), std::string::npos) << refused;
  ASSERT_EQ(kill(daemon.pid(), SIGUSR2), 0);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(client.Add(1), absl::OkStatus());
    client.ExpectNumbers();
  }
  EXPECT_EQ(client.session().Close(), absl::OkStatus());
}

TEST(KeeperTest, EndsWithTheDaemonThatIsStoppedInOrder) {
  auto daemon =
      std::make_unique<DaemonProcess>(std::vector<std::string>{"--keeper"});
  const pid_t child = ChildOf(daemon->pid());
  Client client({.address = daemon->address()});
  EXPECT_EQ(client.session().Close(), absl::OkStatus());
  daemon = nullptr;
  EXPECT_TRUE(Eventually([&] { return kill(child, 0) != 0; }));
}

}  // namespace
}  // namespace holdfast::e2e
