// SPDX-License-Identifier: Apache-2.0
//
// Sessions and collections outlive their daemon: one that makes way for another
// in order, which clients do not notice, and one that is killed, which they
// notice as one fault. HOLDFAST_UPGRADE_LAUNCHES and HOLDFAST_RESTART_MEGABYTES
// make more of both.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/admin/admin.h"
#include "client/cpp/collection/collection.h"
#include "client/cpp/collection/collection_watch.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/cpp/collection/collections.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/fault.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/graph/graph_exec.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "client/cpp/tenants/tenants.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void count(unsigned* sum) { atomicAdd(sum, 1u); }
extern "C" __global__ void add(int* x, int value) {
  x[blockIdx.x * blockDim.x + threadIdx.x] += value;
}
extern "C" __global__ void check(const unsigned* x, unsigned long long count,
                                 unsigned value, unsigned* wrong) {
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  for (; i < count; i += gridDim.x * (unsigned long long)blockDim.x)
    if (x[i] != value) atomicAdd(wrong, 1u);
}
)";
constexpr int kCount = 1 << 14;
constexpr uint64_t kBytes = kCount * sizeof(int);
constexpr LaunchConfig kOneThread = {.grid = 1, .block = 1};
constexpr LaunchConfig kAll = {.grid = kCount / 256, .block = 256};

uint64_t Setting(const char* name, uint64_t otherwise) {
  const char* const text = getenv(name);
  uint64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

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
    NoteAdded(value);
    return Launch(stream_, kAll, module_.GetKernel("add").value(), numbers_,
                  value);
  }
  unsigned Sum() {
    std::vector<unsigned> sum(1);
    EXPECT_EQ(sum_.Download(sum, stream_), absl::OkStatus());
    return sum[0];
  }
  Kernel Get(const char* name) { return module_.GetKernel(name).value(); }
  const Buffer& numbers() const { return numbers_; }
  const std::vector<int>& expected() const { return expected_; }
  void NoteAdded(int value) {
    for (int& number : expected_) number += value;
  }
  unsigned launches() const { return launches_; }
  // Words of the buffer that are not `value`.
  unsigned Wrong(const Buffer& buffer, uint64_t words, uint32_t value) {
    const Buffer wrong =
        session_->device(0).Allocate(sizeof(unsigned), stream_).value();
    EXPECT_EQ(wrong.Fill(uint32_t{0}, stream_), absl::OkStatus());
    EXPECT_EQ(
        Launch(stream_, {.grid = 64, .block = 256},
               module_.GetKernel("check").value(), buffer, words, value, wrong),
        absl::OkStatus());
    std::vector<unsigned> count(1);
    EXPECT_EQ(wrong.Download(count, stream_), absl::OkStatus());
    return count[0];
  }
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

// A session with a resource of each kind that its successor has to make again,
// and one whose memory and semaphore it imports.
class Everything {
 public:
  explicit Everything(const std::string& address)
      : owner_({.address = address}),
        client_({.address = address}),
        shared_(owner_.session().device(0).AllocateShared(kBytes).value()),
        counter_(owner_.session().device(0).CreateSemaphore(3).value()),
        imported_(
            client_.session()
                .device(0)
                .Import(shared_.Export({.rights = Rights::kReadWrite}).value())
                .value()),
        imported_counter_(
            client_.session()
                .device(0)
                .ImportSemaphore(
                    counter_.Export({.rights = Rights::kReadWrite}).value())
                .value()),
        arena_(client_.session().CreateArena(kBytes).value()),
        span_(arena_->Allocate(kBytes).value()) {
    GraphDefinition definition;
    EXPECT_TRUE(
        definition
            .Add(KernelNode(kAll, client_.Get("add"), client_.numbers(), 5))
            .ok());
    graph_.emplace(Graph::Create(client_.session(), definition)
                       .value()
                       .Instantiate()
                       .value());
    EXPECT_EQ(shared_.Fill(uint32_t{9}, owner_.stream()), absl::OkStatus());
    EXPECT_EQ(counter_.Signal(7, owner_.stream()), absl::OkStatus());
    EXPECT_EQ(owner_.session().Synchronize(), absl::OkStatus());
    EXPECT_EQ(client_.session().Synchronize(), absl::OkStatus());
  }

  Client& owner() { return owner_; }
  Client& client() { return client_; }

  void ExpectAll() {
    client_.ExpectNumbers();
    ASSERT_EQ(graph_->Launch(client_.stream()), absl::OkStatus());
    client_.NoteAdded(5);
    client_.ExpectNumbers();
    ASSERT_EQ(client_.numbers().CopyTo(span_, client_.stream()),
              absl::OkStatus());
    ASSERT_EQ(client_.stream().Synchronize(), absl::OkStatus());
    EXPECT_EQ(std::memcmp(span_.data(), client_.expected().data(), kBytes), 0);
    std::vector<uint32_t> found(kBytes / sizeof(uint32_t));
    ASSERT_EQ(imported_.Download(found, client_.stream()), absl::OkStatus());
    EXPECT_EQ(found, std::vector<uint32_t>(found.size(), value_));
    EXPECT_EQ(imported_counter_.Value().value(), count_);
    // One still reads what the other writes.
    ASSERT_EQ(imported_.Fill(++value_, client_.stream()), absl::OkStatus());
    ASSERT_EQ(imported_counter_.Signal(++count_, client_.stream()),
              absl::OkStatus());
    ASSERT_EQ(counter_.Wait(count_, owner_.stream()), absl::OkStatus());
    ASSERT_EQ(shared_.Download(found, owner_.stream()), absl::OkStatus());
    EXPECT_EQ(found, std::vector<uint32_t>(found.size(), value_));
    owner_.ExpectNumbers();
  }

 private:
  Client owner_;
  Client client_;
  Buffer shared_;
  Semaphore counter_;
  Buffer imported_;
  Semaphore imported_counter_;
  std::shared_ptr<Arena> arena_;
  ArenaSpan span_;
  std::optional<GraphExec> graph_;
  uint32_t value_ = 9;
  uint64_t count_ = 7;
};

// The daemon that a keeper has started; 0: none at present.
pid_t ChildOf(pid_t keeper) {
  std::ifstream children(
      absl::StrCat("/proc/", keeper, "/task/", keeper, "/children"));
  pid_t child = 0;
  children >> child;
  return child;
}

void AwaitDaemonAfter(pid_t before, const DaemonProcess& keeper) {
  ASSERT_TRUE(Eventually([&] {
    const pid_t now = ChildOf(keeper.pid());
    return now != 0 && now != before;
  }));
}

void KillDaemonOf(const DaemonProcess& keeper) {
  const pid_t before = ChildOf(keeper.pid());
  ASSERT_GT(before, 0);
  ASSERT_EQ(kill(before, SIGKILL), 0);
  AwaitDaemonAfter(before, keeper);
}

// Its daemon ends with it.
void KillSpawnerOf(const DaemonProcess& keeper) {
  const pid_t daemon = ChildOf(keeper.pid());
  ASSERT_GT(daemon, 0);
  const pid_t spawner = ChildOf(daemon);
  ASSERT_GT(spawner, 0);
  ASSERT_EQ(kill(spawner, SIGKILL), 0);
  AwaitDaemonAfter(daemon, keeper);
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

absl::Duration TimeOf(const auto& proto) {
  return absl::Seconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

// The start of the daemon that answers a new connection, since 1970; zero: none
// does.
absl::Duration StartOf(const std::string& address) {
  const auto connection = Daemon::Connect(address);
  if (!connection.ok()) return absl::ZeroDuration();
  const auto info = (*connection)->Info();
  return info.ok() ? TimeOf(info->started()) : absl::ZeroDuration();
}

// Connections that are made from then on are the new daemon's.
void UpgradeOnce(const DaemonProcess& daemon) {
  const absl::Duration before = StartOf(daemon.address());
  ASSERT_GT(before, absl::ZeroDuration());
  auto connection = Daemon::Connect(daemon.address());
  ASSERT_TRUE(connection.ok()) << connection.status();
  const auto upgraded = Upgrade(**connection);
  ASSERT_TRUE(upgraded.ok()) << upgraded.status();
  EXPECT_FALSE(upgraded->version.empty());
  for (const std::string& address : {daemon.address(), daemon.tcp_address()}) {
    EXPECT_TRUE(Eventually([&] { return StartOf(address) > before; }))
        << address;
  }
}

void UpgradeThrice(const DaemonProcess& daemon) {
  for (int i = 0; i < 3; ++i) {
    // Clients that go on all the time get somewhere in between.
    if (i > 0) absl::SleepFor(absl::Milliseconds(100));
    ASSERT_NO_FATAL_FAILURE(UpgradeOnce(daemon));
  }
}

TEST(UpgradeTest, ALocalClientNoticesNothing) {
  const DaemonProcess daemon;
  Client client({.address = daemon.address()});
  ExpectNoLaunchLost(client, [&] { UpgradeThrice(daemon); });
  ASSERT_EQ(client.Add(1), absl::OkStatus());
  client.ExpectNumbers();
}

// The longest time in which the client got no answer.
absl::Duration LaunchOn(Client& client, uint64_t at_least,
                        const std::atomic<bool>& stop) {
  absl::Duration longest;
  absl::Time before = absl::Now();
  while (client.launches() < at_least || !stop) {
    for (int i = 0; i < 64; ++i) EXPECT_EQ(client.Count(), absl::OkStatus());
    EXPECT_EQ(client.stream().Synchronize(), absl::OkStatus());
    const absl::Time now = absl::Now();
    longest = std::max(longest, now - before);
    before = now;
    if (testing::Test::HasFailure()) break;
  }
  return longest;
}

TEST(UpgradeTest, FourClientsThatLaunchAllTheTimeLoseNothing) {
  constexpr int kClients = 4;
  const uint64_t each = Setting("HOLDFAST_UPGRADE_LAUNCHES", 4000) / kClients;
  const DaemonProcess daemon;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(
        std::make_unique<Client>(SessionOptions{.address = daemon.address()}));
  }
  std::atomic<bool> stop{false};
  std::vector<absl::Duration> pauses(kClients);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kClients; ++i) {
    threads.emplace_back(
        [&, i] { pauses[i] = LaunchOn(*clients[i], each, stop); });
  }
  UpgradeThrice(daemon);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  uint64_t launches = 0;
  for (const auto& client : clients) {
    EXPECT_EQ(client->Sum(), client->launches());
    client->ExpectNumbers();
    launches += client->launches();
  }
  std::printf("%lu launches, three upgrades, the longest pause %s\n",
              static_cast<unsigned long>(launches),
              absl::FormatDuration(
                  absl::Trunc(*std::max_element(pauses.begin(), pauses.end()),
                              absl::Microseconds(100)))
                  .c_str());
}

// Kills the executor of a session of its own, which goes on in another one.
void RecoverOnce(const std::string& address) {
  Client client({.address = address});
  const auto sessions = client.session().daemon().Sessions().value();
  ASSERT_EQ(sessions.back().session_id(), client.session().id());
  const auto executor = static_cast<pid_t>(sessions.back().executor_pid());
  ASSERT_GT(executor, 0);
  ASSERT_EQ(kill(executor, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] { return !client.stream().Synchronize().ok(); }));
  client.ExpectNumbers();
  EXPECT_EQ(client.session().Close(), absl::OkStatus());
}

TEST(UpgradeTest, CountersOfTenantsAndSessionsGoOn) {
  const DaemonProcess daemon;
  Client client({.address = daemon.address()});
  for (int i = 0; i < 100; ++i) ASSERT_EQ(client.Count(), absl::OkStatus());
  EXPECT_EQ(client.Sum(), 100u);
  const auto connect = [&] {
    return Daemon::Connect(daemon.address()).value();
  };
  const auto tenant = [&] {
    return Tenants(connect()).List().value().tenants(0);
  };
  const auto session = [&] {
    return connect()->ListSessions().value().sessions(0);
  };
  v1::Quota quota;
  quota.set_device_bytes(uint64_t{1} << 20);
  EXPECT_EQ(SetSessionQuota(*connect(), session().session_id(), quota),
            absl::OkStatus());
  RecoverOnce(daemon.address());
  const v1::TenantInfo before = tenant();
  EXPECT_GE(before.launches(), 100u);
  EXPECT_EQ(before.faults(), 1u);
  EXPECT_EQ(before.recoveries(), 1u);
  EXPECT_GT(TimeOf(before.gpu_time()), absl::ZeroDuration());
  EXPECT_GT(TimeOf(before.compile_time()), absl::ZeroDuration());
  UpgradeThrice(daemon);
  const v1::TenantInfo after = tenant();
  EXPECT_EQ(after.launches(), before.launches());
  EXPECT_EQ(after.faults(), before.faults());
  EXPECT_EQ(after.recoveries(), before.recoveries());
  EXPECT_GE(TimeOf(after.gpu_time()), TimeOf(before.gpu_time()));
  EXPECT_EQ(TimeOf(after.compile_time()), TimeOf(before.compile_time()));
  ASSERT_EQ(client.Count(), absl::OkStatus());
  EXPECT_EQ(client.Sum(), 101u);
  EXPECT_EQ(tenant().launches(), before.launches() + 1);
  EXPECT_EQ(session().usage().launches(), before.launches() + 1);
  EXPECT_EQ(session().usage().device_bytes().limit(), uint64_t{1} << 20);
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

TEST(UpgradeTest, SessionsThatAreOpenedMeanwhileWaitForTheNextDaemon) {
  const DaemonProcess daemon;
  std::atomic<bool> stop{false};
  std::atomic<int> opened{0};
  std::thread opening([&] {
    while (!stop) {
      const auto session = Session::Open({.address = daemon.address()});
      EXPECT_TRUE(session.ok()) << session.status();
      if (session.ok()) ++opened;
    }
  });
  UpgradeThrice(daemon);
  stop = true;
  opening.join();
  EXPECT_GT(opened, 0);
}

// A connection that breaks is UNAVAILABLE as well.
bool IsDraining(const absl::Status& status) {
  return absl::IsUnavailable(status) &&
         absl::StrContains(status.message(), "draining");
}

TEST(UpgradeTest, ADrainThatAnOperatorAskedForGoesOn) {
  const DaemonProcess daemon;
  auto connection = Daemon::Connect(daemon.address());
  ASSERT_EQ(Drain(**connection, absl::ZeroDuration()).status(),
            absl::OkStatus());
  UpgradeThrice(daemon);
  connection = Daemon::Connect(daemon.address());
  const absl::Status refused =
      Session::Open({.address = daemon.address()}).status();
  EXPECT_TRUE(IsDraining(refused)) << refused;
  ASSERT_EQ(StopDrain(**connection), absl::OkStatus());
  EXPECT_TRUE(Session::Open({.address = daemon.address()}).ok());
  UpgradeThrice(daemon);
  EXPECT_TRUE(Session::Open({.address = daemon.address()}).ok());
}

TEST(UpgradeTest, ASessionWithoutAClientIsTakenUpAfterwards) {
  const DaemonProcess daemon({"--detached-session-limit=10m"});
  auto session = Session::Open(
      {.address = daemon.address(), .detached_lifetime = absl::Minutes(5)});
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_EQ((*session)->Detach(), absl::OkStatus());
  UpgradeThrice(daemon);
  const auto again =
      Session::Attach(*Daemon::Connect(daemon.address()), (*session)->id());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->Synchronize(), absl::OkStatus());
}

// Another client that names the session.
absl::Status TakeUp(const Session& session, const std::string& address) {
  return Session::Attach(*Daemon::Connect(address), session.id()).status();
}

TEST(UpgradeTest, ASessionWhoseClientComesBackIsNotTakenUpAfterwards) {
  const DaemonProcess daemon({"--detached-session-limit=10m"});
  auto session = Session::Open(
      {.address = daemon.address(), .detached_lifetime = absl::Minutes(5)});
  ASSERT_TRUE(session.ok()) << session.status();
  for (int i = 0; i < 3; ++i) {
    ASSERT_NO_FATAL_FAILURE(UpgradeOnce(daemon));
    // Whether it is back already or not.
    const absl::Status refused = TakeUp(**session, daemon.address());
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), "has a client"))
        << refused;
  }
  EXPECT_EQ((*session)->Synchronize(), absl::OkStatus());
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

TEST(UpgradeTest, EveryKindOfResourceIsThereAfterwards) {
  const DaemonProcess daemon;
  Everything everything(daemon.address());
  everything.ExpectAll();
  UpgradeThrice(daemon);
  everything.ExpectAll();
}

TEST(KeeperTest, EveryKindOfResourceOutlivesADaemonThatIsKilled) {
  const DaemonProcess daemon({"--keeper"});
  Everything everything(daemon.address());
  for (int i = 0; i < 2; ++i) {
    KillDaemonOf(daemon);
    ExpectOneFault(everything.owner());
    ExpectOneFault(everything.client());
    everything.ExpectAll();
  }
}

TEST(KeeperTest, ATenantThatWasMadeAndItsSessionOutliveADaemonThatIsKilled) {
  const DaemonProcess daemon({"--keeper"});
  const auto connection = *Daemon::Connect(daemon.address());
  v1::CreateTenantRequest request;
  request.set_name("job");
  request.mutable_quota()->set_sessions(1);
  const auto token = Tenants(connection).Create(request);
  ASSERT_TRUE(token.ok()) << token.status();
  setenv("HOLDFAST_TOKEN", token->c_str(), 1);
  Client client({.address = daemon.address()});
  KillDaemonOf(daemon);
  ExpectOneFault(client);
  // It is the same tenant, whose one session this is.
  EXPECT_TRUE(absl::IsResourceExhausted(
      Session::Open({.address = daemon.address()}).status()));
  unsetenv("HOLDFAST_TOKEN");
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

// Kills the keeper of a daemon. Returns the next one, which has all.
pid_t ReplaceKeeper(pid_t keeper, pid_t daemon, const std::string& address) {
  EXPECT_EQ(kill(keeper, SIGKILL), 0);
  pid_t next = 0;
  EXPECT_TRUE(Eventually([&] {
    next = KeeperStartedBy(daemon);
    return next != 0 && next != keeper;
  }));
  // A session is kept, so it waits until everything else is.
  const auto session = Session::Open({.address = address});
  EXPECT_TRUE(session.ok()) << session.status();
  return next;
}

// Whether its parent has reaped it or not: that may be any process by now.
bool HasEnded(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string number, name, state;
  return !(file >> number >> name >> state) || state == "Z";
}

// A keeper and its daemon, each of which may have started the other.
struct KeptDaemon {
  pid_t keeper = 0;
  pid_t daemon = 0;
  std::string address;

  void AwaitNextDaemon() {
    const pid_t before = daemon;
    ASSERT_TRUE(Eventually([&] {
      daemon = ChildOf(keeper);
      return daemon != 0 && daemon != before;
    }));
  }
  void KillDaemon() {
    ASSERT_EQ(kill(daemon, SIGKILL), 0);
    AwaitNextDaemon();
  }
  // Its daemon ends with it.
  void KillSpawner() {
    ASSERT_EQ(kill(ChildOf(daemon), SIGKILL), 0);
    AwaitNextDaemon();
  }
  void KillKeeper() { keeper = ReplaceKeeper(keeper, daemon, address); }
  // In order.
  void Stop() const {
    EXPECT_EQ(kill(keeper, SIGTERM), 0);
    EXPECT_TRUE(
        Eventually([this] { return HasEnded(keeper) && HasEnded(daemon); }));
  }
};

// Kills the processes of this role, which has at least one.
void KillAllOf(const std::string& role, KeptDaemon& kept) {
  if (role == "daemon") return kept.KillDaemon();
  if (role == "spawner") return kept.KillSpawner();
  if (role == "keeper") return kept.KillKeeper();
  if (role == "client") {
    Process other({ProgramPath("HOLDING_CLIENT"), kept.address});
    ASSERT_NE(other.ReadLine(), "");
    other.Signal(SIGKILL);
    return;
  }
  const std::vector<pid_t> pids = ProcessesOf(kept.daemon, role);
  ASSERT_FALSE(pids.empty());
  for (const pid_t pid : pids) kill(pid, SIGKILL);
}

// HOLDFAST_KILL_SEED and HOLDFAST_KILL_ROUNDS make other and longer storms.
TEST(KeeperTest, KillsOfEveryRoleInASeededOrderLoseNothingThatWasDone) {
  const DaemonProcess first({"--keeper", "--max-faults=0"});
  KeptDaemon kept{first.pid(), ChildOf(first.pid()), first.address()};
  Client client({.address = first.address()});
  std::mt19937 random(static_cast<uint32_t>(Setting("HOLDFAST_KILL_SEED", 22)));
  std::vector<std::string> roles = {
      "executor", "executor", "executor", "compiler", "compiler", "client",
      "client",   "keeper",   "keeper",   "spawner",  "daemon"};
  const uint64_t rounds = Setting("HOLDFAST_KILL_ROUNDS", 1);
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
  const uint64_t megabytes = Setting("HOLDFAST_RESTART_MEGABYTES", 32);
  const DaemonProcess daemon({"--keeper"});
  Filled filled(daemon.address(), megabytes);
  filled.WriteCollection(4711);
  const absl::Time began = absl::Now();
  KillDaemonOf(daemon);
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
  const absl::Status committed = collection->Commit("model").status();
  EXPECT_EQ(committed, absl::OkStatus());
  // Then nobody else would end the wait.
  if (!committed.ok()) {
    EXPECT_EQ(writer->Close(), absl::OkStatus());
  }
  waiting.join();
  ASSERT_TRUE(committed.ok());
  const auto told = watch.Next();
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ(told->version(), 1u);
  UpgradeThrice(daemon);
  // The first call may still go to the daemon that is gone.
  ASSERT_TRUE(Eventually([&] {
    return Collections(writer->shared_daemon()).Delete("model").ok();
  }));
  const auto deleted = watch.Next();
  ASSERT_TRUE(deleted.ok()) << deleted.status();
  EXPECT_EQ(deleted->kind(), v1::CollectionChange::KIND_DELETED);
}

TEST(UpgradeTest, AClaimEndsWithItsSessionAfterwards) {
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
  // Its call may still go to the daemon that is gone; then the session ends
  // with its lease.
  writer->Close().IgnoreError();
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
  KillSpawnerOf(keeper);
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
  AwaitDaemonAfter(ChildOf(keeper.pid()), keeper);
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
    return IsDraining(Session::Open({.address = daemon.address()}).status());
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

TEST(KeeperTest, ADaemonWhoseKeeperIsKilledStartsAnotherWhichKeepsAll) {
  const DaemonProcess first({"--keeper"});
  KeptDaemon kept{first.pid(), ChildOf(first.pid()), first.address()};
  const std::vector<int> weights(kCount, 42);
  Write(first.address(), weights);
  Client client({.address = first.address()});
  auto reader = std::make_unique<Reader>(first.address());
  kept.KillKeeper();
  kept.KillKeeper();
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
  KeptDaemon kept{first.pid(), ChildOf(first.pid()), first.address()};
  kept.KillKeeper();
  kept.Stop();  // The daemon hears of it.
}

TEST(KeeperTest, ADaemonThatWasReplacedWatchesItsKeeperStill) {
  const DaemonProcess first({"--keeper"});
  KeptDaemon kept{first.pid(), ChildOf(first.pid()), first.address()};
  Client client({.address = first.address()});
  kept.KillKeeper();
  ASSERT_NO_FATAL_FAILURE(UpgradeOnce(first));
  client.ExpectNumbers();
  kept.KillKeeper();
  client.ExpectNumbers();
  EXPECT_EQ(client.session().Close(), absl::OkStatus());
  kept.Stop();
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
