// SPDX-License-Identifier: Apache-2.0
//
// Sessions and collections outlive a daemon that is killed under its keeper,
// which clients notice as one fault, and every other process that is killed.
// HOLDFAST_RESTART_MEGABYTES makes larger sessions, HOLDFAST_KILL_SEED other
// orders of kills, HOLDFAST_KILL_ROUNDS more of them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/admin/admin.h"
#include "client/cpp/collection/collection.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/fault.h"
#include "client/cpp/session.h"
#include "client/cpp/tenants/tenants.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/admin.pb.h"
#include "holdfast/v1/faults.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/e2e/daemon_process.h"
#include "tests/e2e/kept_sessions.h"
#include "tests/e2e/process.h"
#include "tests/testing/setting.h"

namespace holdfast::e2e {
namespace {

using ::holdfast::testing::Setting;

// The first process that another has started: a keeper's daemon, a daemon's
// spawner; 0: none at present.
pid_t ChildOf(pid_t parent) {
  std::ifstream children(
      absl::StrCat("/proc/", parent, "/task/", parent, "/children"));
  pid_t child = 0;
  children >> child;
  return child;
}

// Processes below `root` whose role this is, the daemon's own included.
std::vector<pid_t> ProcessesOf(pid_t root, const std::string& role) {
  std::vector<pid_t> found;
  std::ifstream file(absl::StrCat("/proc/", root, "/cmdline"));
  const std::string line((std::istreambuf_iterator<char>(file)), {});
  if (line.find("--role=" + role) != std::string::npos) found.push_back(root);
  std::ifstream children(
      absl::StrCat("/proc/", root, "/task/", root, "/children"));
  for (pid_t child = 0; children >> child;) {
    const std::vector<pid_t> below = ProcessesOf(child, role);
    found.insert(found.end(), below.begin(), below.end());
  }
  return found;
}

// The keeper that a daemon has started; 0: none at present.
pid_t KeeperStartedBy(pid_t daemon) {
  const std::string threads = absl::StrCat("/proc/", daemon, "/task");
  std::error_code error;
  for (const auto& thread :
       std::filesystem::directory_iterator(threads, error)) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child;) {
      std::ifstream file(absl::StrCat("/proc/", child, "/cmdline"));
      const std::string line((std::istreambuf_iterator<char>(file)), {});
      if (line.find("--keeper=true") != std::string::npos) return child;
    }
  }
  return 0;
}

// Whether its parent has reaped it or not: that may be any process by now.
bool HasEnded(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(") ");
  return name_end == std::string::npos || line[name_end + 2] == 'Z';
}

// A keeper and its daemon, each of which may have started the other. One of
// them that is not there is 0, which is never signalled: kill(2) takes it for
// the test's own process group.
class KeptDaemon {
 public:
  explicit KeptDaemon(const DaemonProcess& first)
      : keeper_(first.pid()),
        daemon_(ChildOf(first.pid())),
        address_(first.address()) {}

  pid_t daemon() const { return daemon_; }
  const std::string& address() const { return address_; }

  void AwaitNextDaemon() {
    const pid_t before = daemon_;
    ASSERT_TRUE(Eventually([&] {
      daemon_ = ChildOf(keeper_);
      return daemon_ != 0 && daemon_ != before;
    }));
  }
  void KillDaemon() { EndDaemonBy(daemon_); }
  // Its daemon ends with it.
  void KillSpawner() { EndDaemonBy(ChildOf(daemon_)); }
  // Returns once the next keeper has all.
  void KillKeeper() {
    const pid_t before = keeper_;
    ASSERT_GT(before, 0);
    ASSERT_EQ(kill(before, SIGKILL), 0);
    ASSERT_TRUE(Eventually([&] {
      keeper_ = KeeperStartedBy(daemon_);
      return keeper_ != 0 && keeper_ != before;
    }));
    // A session is kept, so it waits until everything else is.
    const auto session = Session::Open({.address = address_});
    ASSERT_TRUE(session.ok()) << session.status();
  }
  // In order.
  void Stop() const {
    ASSERT_GT(keeper_, 0);
    ASSERT_GT(daemon_, 0);
    EXPECT_EQ(kill(keeper_, SIGTERM), 0);
    EXPECT_TRUE(
        Eventually([this] { return HasEnded(keeper_) && HasEnded(daemon_); }));
  }

 private:
  // Kills a process with which the daemon ends, and its executors do.
  void EndDaemonBy(pid_t killed) {
    ASSERT_GT(daemon_, 0);
    ASSERT_GT(killed, 0);
    const std::vector<pid_t> executors = ProcessesOf(daemon_, "executor");
    ASSERT_EQ(kill(killed, SIGKILL), 0);
    ASSERT_NO_FATAL_FAILURE(AwaitNextDaemon());
    for (const pid_t pid : executors) {
      ASSERT_TRUE(Eventually([pid] { return HasEnded(pid); })) << pid;
    }
  }

  pid_t keeper_ = 0;
  pid_t daemon_ = 0;
  const std::string address_;
};

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
  KeptDaemon kept(daemon);
  Client local({.address = daemon.address()});
  Client remote({.address = daemon.tcp_address()});
  Client graceful(
      {.address = daemon.tcp_address(), .reconnect_grace = absl::Seconds(30)});
  for (int i = 0; i < 2; ++i) {
    ASSERT_NO_FATAL_FAILURE(kept.KillDaemon());
    for (Client* client : {&local, &remote, &graceful}) ExpectOneFault(*client);
  }
}

TEST(KeeperTest, EveryKindOfResourceOutlivesADaemonThatIsKilled) {
  const DaemonProcess daemon({"--keeper"});
  KeptDaemon kept(daemon);
  Everything everything(daemon.address());
  for (int i = 0; i < 2; ++i) {
    ASSERT_NO_FATAL_FAILURE(kept.KillDaemon());
    ExpectOneFault(everything.owner());
    ExpectOneFault(everything.client());
    everything.ExpectAll();
  }
}

TEST(KeeperTest, ATenantThatWasMadeAndItsSessionOutliveADaemonThatIsKilled) {
  const DaemonProcess daemon({"--keeper"});
  KeptDaemon kept(daemon);
  const auto connection = *Daemon::Connect(daemon.address());
  v1::CreateTenantRequest request;
  request.set_name("job");
  request.mutable_quota()->set_sessions(1);
  const auto token = Tenants(connection).Create(request);
  ASSERT_TRUE(token.ok()) << token.status();
  setenv("HOLDFAST_TOKEN", token->c_str(), 1);
  const absl::Cleanup without_token = [] { unsetenv("HOLDFAST_TOKEN"); };
  Client client({.address = daemon.address()});
  ASSERT_NO_FATAL_FAILURE(kept.KillDaemon());
  ExpectOneFault(client);
  // It is the same tenant, whose one session this is.
  EXPECT_TRUE(absl::IsResourceExhausted(
      Session::Open({.address = daemon.address()}).status()));
}

// Faults are all that the client is told, however many.
void ExpectThatItGoesOn(Client& client) {
  absl::Status status;
  ASSERT_TRUE(Eventually([&] {
    status = client.stream().Synchronize();
    const bool is_lost = !status.ok() && !FaultOf(status).has_value();
    return is_lost || (status.ok() && client.stream().Synchronize().ok());
  })) << status;
  ASSERT_TRUE(status.ok()) << status;
  client.ExpectNumbers();
  ASSERT_EQ(client.Add(1), absl::OkStatus());
  client.ExpectNumbers();
}

// Kills the processes of this role, which has at least one.
void KillAllOf(const std::string& role, KeptDaemon& kept) {
  if (role == "daemon") return kept.KillDaemon();
  if (role == "spawner") return kept.KillSpawner();
  if (role == "keeper") return kept.KillKeeper();
  if (role == "client") {
    Process other({ProgramPath("HOLDING_CLIENT"), kept.address()});
    ASSERT_NE(other.ReadLine(), "");
    other.Signal(SIGKILL);
    return;
  }
  const std::vector<pid_t> pids = ProcessesOf(kept.daemon(), role);
  ASSERT_FALSE(pids.empty());
  for (const pid_t pid : pids) kill(pid, SIGKILL);
}

TEST(KeeperTest, KillsOfEveryRoleInASeededOrderLoseNothingThatWasDone) {
  const DaemonProcess first({"--keeper", "--max-faults=0"});
  KeptDaemon kept(first);
  Client client({.address = first.address()});
  std::mt19937 random(Setting("HOLDFAST_KILL_SEED", 22u));
  std::vector<std::string> roles = {
      "executor", "executor", "executor", "compiler", "compiler", "client",
      "client",   "keeper",   "keeper",   "spawner",  "daemon"};
  const uint64_t rounds = Setting("HOLDFAST_KILL_ROUNDS", uint64_t{1});
  for (uint64_t round = 0; round < rounds; ++round) {
    // A keeper gives up a daemon that ends five times in half a minute.
    if (round > 0) absl::SleepFor(absl::Seconds(15));
    std::shuffle(roles.begin(), roles.end(), random);
    for (size_t step = 0; step < roles.size(); ++step) {
      SCOPED_TRACE(
          absl::StrCat("round ", round, ", step ", step, ": ", roles[step]));
      ASSERT_NO_FATAL_FAILURE(KillAllOf(roles[step], kept));
      ExpectThatItGoesOn(client);
      // Compilers are there again, too.
      const Program program(absl::StrCat("extern \"C\" __global__ void k",
                                         round, "_", step, "() {}"));
      EXPECT_TRUE(Eventually(
          [&] { return program.Compile(client.session().daemon()).ok(); }));
    }
  }
  EXPECT_EQ(client.session().Close(), absl::OkStatus());
  kept.Stop();
}

// Buffers whose words are all the number of their buffer.
class Filled {
 public:
  static constexpr uint32_t kBuffers = 8;

  Filled(const std::string& address, uint64_t megabytes)
      : words_((megabytes << 20) / kBuffers / sizeof(uint32_t)),
        client_({.address = address}) {
    for (uint32_t i = 0; i < kBuffers; ++i) {
      buffers_.push_back(client_.session()
                             .device(0)
                             .Allocate(words_ * sizeof(uint32_t))
                             .value());
      EXPECT_EQ(buffers_.back().Fill(i + 1, client_.stream()),
                absl::OkStatus());
    }
    EXPECT_EQ(client_.stream().Synchronize(), absl::OkStatus());
  }
  Client& client() { return client_; }
  void ExpectBytes() {
    for (uint32_t i = 0; i < kBuffers; ++i) {
      EXPECT_EQ(client_.Wrong(buffers_[i], words_, i + 1), 0u) << i;
    }
  }
  // A collection of one array, as large as a buffer, of such words.
  void WriteCollection(uint32_t value) {
    auto writer = CollectionWriter::Create(client_.session(),
                                           {{"weights", "I32", {words_}}});
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_EQ(writer->Array(0)->Fill(value, client_.stream()),
              absl::OkStatus());
    const auto version = writer->Commit("large");
    ASSERT_TRUE(version.ok()) << version.status();
  }
  void ExpectCollection(uint32_t value) {
    const auto collection = Collection::Open(client_.session(), "large");
    ASSERT_TRUE(collection.ok()) << collection.status();
    EXPECT_EQ(client_.Wrong(*collection->Array("weights"), words_, value), 0u);
  }

 private:
  const uint64_t words_;
  Client client_;
  std::vector<Buffer> buffers_;
};

TEST(KeeperTest, EveryByteOfASessionAndACollectionOutlivesAKill) {
  const uint64_t megabytes =
      Setting("HOLDFAST_RESTART_MEGABYTES", uint64_t{32});
  const DaemonProcess daemon({"--keeper"});
  KeptDaemon kept(daemon);
  Filled filled(daemon.address(), megabytes);
  filled.WriteCollection(4711);
  const absl::Time began = absl::Now();
  ASSERT_NO_FATAL_FAILURE(kept.KillDaemon());
  ExpectOneFault(filled.client());
  std::printf("%lu MiB and a collection are there again after %s\n",
              static_cast<unsigned long>(megabytes),
              absl::FormatDuration(
                  absl::Trunc(absl::Now() - began, absl::Milliseconds(1)))
                  .c_str());
  filled.ExpectBytes();
  filled.ExpectCollection(4711);
}

TEST(KeeperTest, CollectionsOutliveADaemonThatIsKilledAndTheirWriter) {
  const DaemonProcess daemon({"--keeper"});
  KeptDaemon kept(daemon);
  const std::vector<int> weights(kCount, 42);
  Write(daemon.address(), weights);
  Reader before(daemon.address());
  before.ExpectWeights(weights);
  for (int i = 0; i < 2; ++i) {
    ASSERT_NO_FATAL_FAILURE(kept.KillDaemon());
    Reader(daemon.address()).ExpectWeights(weights);
    before.Synchronize();
    before.ExpectWeights(weights);
  }
}

TEST(KeeperTest, SuspendedSessionsOutliveADaemonThatIsKilled) {
  const DaemonProcess daemon({"--keeper"});
  KeptDaemon kept(daemon);
  Client client({.address = daemon.address()});
  auto connection = Daemon::Connect(daemon.address());
  ASSERT_TRUE(SuspendSession(**connection, client.session().id()).ok());
  ASSERT_NO_FATAL_FAILURE(kept.KillDaemon());
  // Its client is told nothing.
  ASSERT_EQ(client.Add(2), absl::OkStatus());
  client.ExpectNumbers();
}

TEST(KeeperTest, AMovedSessionIsWhereItWasAfterADaemonIsKilled) {
  const DaemonProcess daemon({"--keeper", "--software-devices=2"});
  KeptDaemon kept(daemon);
  Client client({.address = daemon.address(), .devices = {0}});
  auto connection = Daemon::Connect(daemon.address());
  const std::string id = client.session().id();
  ASSERT_TRUE(SuspendSession(**connection, id).ok());
  ASSERT_TRUE(ResumeSession(**connection, id, {.device = 1}).ok());
  ASSERT_EQ(client.Add(2), absl::OkStatus());
  client.ExpectNumbers();
  ASSERT_NO_FATAL_FAILURE(kept.KillDaemon());
  ExpectOneFault(client);
  connection = Daemon::Connect(daemon.address());
  const auto sessions = (*connection)->Sessions().value();
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0].devices(0), 1u);
  EXPECT_EQ(sessions[0].moved_from(), 0u);
}

TEST(KeeperTest, IsAskedForByAConfigurationFileAndIsOne) {
  const std::string file = TestFile("keeper.toml");
  WriteFile(file, "keeper = true\n");
  const DaemonProcess daemon({"--config", file});
  KeptDaemon kept(daemon);
  Client client({.address = daemon.address()});
  ASSERT_NO_FATAL_FAILURE(kept.KillDaemon());
  ExpectOneFault(client);
}

bool IsConnected(const std::string& port) {
  const UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(port)));
  return connect(client.get(), reinterpret_cast<const sockaddr*>(&address),
                 sizeof address) == 0;
}

// Else the keeper would hold the socket, and clients would wait in it.
TEST(KeeperTest, AnAddressThatIsNotServedAnyMoreIsClosed) {
  const std::string file = TestFile("listen.toml");
  // A socket's path is short.
  std::string directory = "/tmp/holdfast-e2e-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string listen = absl::StrCat(
      "insecure = true\nlisten = [\"unix:", directory, "/h.sock\"");
  WriteFile(file, listen + ", \"tcp:127.0.0.1:0\"]\n");
  Process keeper({ProgramPath("HOLDFAST_DAEMON"), "--device=cpu",
                  "--log-level=warning", "--keeper", "--config=" + file,
                  "--runtime-dir=" + directory,
                  "--cache-directory=" + directory, "--ready-fd=1"});
  const std::string addresses = keeper.ReadLine();
  const std::string port = addresses.substr(addresses.rfind(':') + 1);
  ASSERT_TRUE(IsConnected(port)) << addresses;
  WriteFile(file, listen + "]\n");
  {
    auto connection = Daemon::Connect("unix:" + directory + "/h.sock");
    ASSERT_TRUE(connection.ok()) << connection.status();
    ASSERT_EQ(Upgrade(**connection).status(), absl::OkStatus());
  }
  // Fewer connections than a socket that nobody accepts from would take.
  bool connected = true;
  for (int i = 0; connected && i < 300; ++i) {
    connected = IsConnected(port);
    if (connected) absl::SleepFor(absl::Milliseconds(100));
  }
  EXPECT_FALSE(connected);
  keeper.Signal(SIGTERM);
  keeper.Finish();
  std::filesystem::remove_all(directory);
}

TEST(KeeperTest, SessionsOutliveADaemonWhoseSpawnerIsKilled) {
  const DaemonProcess keeper({"--keeper"});
  KeptDaemon kept(keeper);
  Client client({.address = keeper.address()});
  ASSERT_NO_FATAL_FAILURE(kept.KillSpawner());
  ExpectOneFault(client);
}

// Hands this text to the next process that reads the FIFO, and puts the file in
// its place before that can read any of it: it is the only one that gets it.
void TellTheNextReader(const std::string& fifo, const std::string& text,
                       const std::string& file) {
  UniqueFd end;
  ASSERT_TRUE(Eventually([&] {
    end.Reset(open(fifo.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    return end.valid();  // Somebody has opened it for reading.
  }));
  std::filesystem::rename(file, fifo);
  ASSERT_EQ(write(end.get(), text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
}

TEST(KeeperTest, SessionsOutliveADaemonThatCannotStart) {
  constexpr char kServesAll[] = "unnamed = \"serve\"\n";
  const std::string policy = TestFile("policy.toml");
  WriteFile(policy, kServesAll);
  const DaemonProcess keeper({"--keeper", "--policy=" + policy});
  KeptDaemon kept(keeper);
  Client client({.address = keeper.address()});
  // More than one daemon in vain might be one too many for the keeper.
  const std::string good = TestFile("good_policy.toml");
  WriteFile(good, kServesAll);
  ASSERT_TRUE(std::filesystem::remove(policy));
  ASSERT_EQ(mkfifo(policy.c_str(), 0600), 0);
  ASSERT_NO_FATAL_FAILURE(kept.KillDaemon());
  ASSERT_NO_FATAL_FAILURE(
      TellTheNextReader(policy, "this is no policy\n", good));
  ASSERT_NO_FATAL_FAILURE(kept.AwaitNextDaemon());
  ExpectOneFault(client);
}

// A temporary directory may be cleaned, or be the dead daemon's alone.
TEST(KeeperTest, WithoutTheSessionsDirectoryADaemonStartsWithCollectionsAlone) {
  const DaemonProcess keeper({"--keeper"});
  KeptDaemon kept(keeper);
  const std::vector<int> weights(kCount, 42);
  Write(keeper.address(), weights);
  ASSERT_GT(std::filesystem::remove_all(
                absl::StrCat(keeper.directory(), "/executors-", kept.daemon())),
            0u);
  ASSERT_NO_FATAL_FAILURE(kept.KillDaemon());
  Reader(keeper.address()).ExpectWeights(weights);
}

TEST(KeeperTest, ADaemonWhoseKeeperIsKilledStartsAnotherWhichKeepsAll) {
  const DaemonProcess first({"--keeper"});
  KeptDaemon kept(first);
  const std::vector<int> weights(kCount, 42);
  Write(first.address(), weights);
  Client client({.address = first.address()});
  auto reader = std::make_unique<Reader>(first.address());
  ASSERT_NO_FATAL_FAILURE(kept.KillKeeper());
  ASSERT_NO_FATAL_FAILURE(kept.KillKeeper());
  // Without a fault.
  client.ExpectNumbers();
  ASSERT_EQ(client.Add(1), absl::OkStatus());
  client.ExpectNumbers();
  for (int i = 0; i < 2; ++i) {
    ASSERT_NO_FATAL_FAILURE(kept.KillDaemon());
    ExpectOneFault(client);
    Reader(first.address()).ExpectWeights(weights);
    reader->Synchronize();
    reader->ExpectWeights(weights);
  }
  // A daemon that stops waits for its sessions.
  reader = nullptr;
  EXPECT_EQ(client.session().Close(), absl::OkStatus());
  kept.Stop();
}

TEST(KeeperTest, AKeeperThatADaemonHasStartedEndsWithItInOrder) {
  const DaemonProcess first({"--keeper"});
  KeptDaemon kept(first);
  ASSERT_NO_FATAL_FAILURE(kept.KillKeeper());
  kept.Stop();  // The daemon hears of it.
}

TEST(KeeperTest, ADaemonThatWasReplacedWatchesItsKeeperStill) {
  const DaemonProcess first({"--keeper"});
  KeptDaemon kept(first);
  Client client({.address = first.address()});
  ASSERT_NO_FATAL_FAILURE(kept.KillKeeper());
  ASSERT_NO_FATAL_FAILURE(UpgradeOnce(first));
  client.ExpectNumbers();
  ASSERT_NO_FATAL_FAILURE(kept.KillKeeper());
  client.ExpectNumbers();
  EXPECT_EQ(client.session().Close(), absl::OkStatus());
  kept.Stop();
}

TEST(KeeperTest, EndsWithTheDaemonThatIsStoppedInOrder) {
  auto daemon =
      std::make_unique<DaemonProcess>(std::vector<std::string>{"--keeper"});
  const pid_t child = ChildOf(daemon->pid());
  ASSERT_GT(child, 0);
  Client client({.address = daemon->address()});
  EXPECT_EQ(client.session().Close(), absl::OkStatus());
  daemon = nullptr;
  EXPECT_TRUE(Eventually([&] { return HasEnded(child); }));
}

}  // namespace
}  // namespace holdfast::e2e
