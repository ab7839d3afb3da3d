// SPDX-License-Identifier: Apache-2.0
//
// Sessions and collections outlive a daemon that makes way for another in
// order, and clients do not notice. HOLDFAST_UPGRADE_LAUNCHES makes more of it.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/admin/admin.h"
#include "client/cpp/collection/collection_watch.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/cpp/collection/collections.h"
#include "client/cpp/session.h"
#include "client/cpp/tenants/tenants.h"
#include "holdfast/v1/admin.pb.h"
#include "holdfast/v1/collections.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/e2e/daemon_process.h"
#include "tests/e2e/kept_sessions.h"
#include "tests/e2e/process.h"
#include "tests/testing/setting.h"

namespace holdfast::e2e {
namespace {

using ::holdfast::testing::Setting;

// Launches all the time while `disturb` runs. Every launch counts once.
void ExpectNoLaunchLost(Client& client, const std::function<void()>& disturb) {
  std::atomic<bool> stop{false};
  std::jthread disturber([&] {
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

// The longest time in which the client got no answer. Counts the answers.
absl::Duration LaunchOn(Client& client, uint64_t at_least,
                        std::atomic<uint64_t>& answers,
                        const std::stop_token& stop) {
  absl::Duration longest;
  absl::Time before = absl::Now();
  while (client.launches() < at_least || !stop.stop_requested()) {
    for (int i = 0; i < 64; ++i) EXPECT_EQ(client.Count(), absl::OkStatus());
    EXPECT_EQ(client.stream().Synchronize(), absl::OkStatus());
    const absl::Time now = absl::Now();
    longest = std::max(longest, now - before);
    before = now;
    ++answers;
    if (::testing::Test::HasFailure()) break;
  }
  return longest;
}

TEST(UpgradeTest, FourClientsThatLaunchAllTheTimeLoseNothing) {
  constexpr int kClients = 4;
  const uint64_t each =
      Setting("HOLDFAST_UPGRADE_LAUNCHES", uint64_t{4000}) / kClients;
  const DaemonProcess daemon;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(
        std::make_unique<Client>(SessionOptions{.address = daemon.address()}));
  }
  std::vector<absl::Duration> pauses(kClients);
  std::vector<std::atomic<uint64_t>> answers(kClients);
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < kClients; ++i) {
    threads.emplace_back([&, i](const std::stop_token& stop) {
      pauses[i] = LaunchOn(*clients[i], each, answers[i], stop);
    });
  }
  for (int i = 0; i < 3; ++i) {
    ASSERT_NO_FATAL_FAILURE(UpgradeOnce(daemon));
    // So that no pause is that of two upgrades.
    for (const std::atomic<uint64_t>& count : answers) {
      const uint64_t seen = count;
      ASSERT_TRUE(Eventually([&] { return count > seen + 1; }));
    }
  }
  for (std::jthread& thread : threads) thread.request_stop();
  for (std::jthread& thread : threads) thread.join();
  uint64_t launches = 0;
  for (const auto& client : clients) {
    EXPECT_EQ(client->Sum(), client->launches());
    client->ExpectNumbers();
    launches += client->launches();
  }
  std::printf(
      "%lu launches, three upgrades, the longest pause of a client %s\n",
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
  std::atomic<int> opened{0};
  std::jthread opening([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto session = Session::Open({.address = daemon.address()});
      EXPECT_TRUE(session.ok()) << session.status();
      if (session.ok()) ++opened;
    }
  });
  UpgradeThrice(daemon);
  opening.request_stop();
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

// Until the daemon has noticed that its only session has no client any more.
void AwaitNoClient(const std::string& address) {
  const auto connection = Daemon::Connect(address).value();
  ASSERT_TRUE(Eventually([&] {
    const auto sessions = connection->Sessions();
    return sessions.ok() && sessions->size() == 1 &&
           sessions->front().has_ends();
  }));
}

TEST(UpgradeTest, ASessionWithoutAClientIsTakenUpAfterwards) {
  const DaemonProcess daemon({"--detached-session-limit=10m"});
  auto session = Session::Open(
      {.address = daemon.address(), .detached_lifetime = absl::Minutes(5)});
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_EQ((*session)->Detach(), absl::OkStatus());
  ASSERT_NO_FATAL_FAILURE(AwaitNoClient(daemon.address()));
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
  std::jthread upgrade([&] { UpgradeThrice(daemon); });
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(big->Upload(bytes, client.stream()), absl::OkStatus());
    EXPECT_EQ(client.Wrong(*big, bytes.size(), 5), 0u);
  }
  upgrade.join();
  std::vector<int> back(bytes.size());
  EXPECT_EQ(big->Download(back, client.stream()), absl::OkStatus());
  EXPECT_EQ(back, bytes);
}

TEST(UpgradeTest, EveryKindOfResourceIsThereAfterwards) {
  const DaemonProcess daemon;
  Everything everything(daemon.address());
  everything.ExpectAll();
  UpgradeThrice(daemon);
  everything.ExpectAll();
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

absl::Status CommitModel(Session& writer) {
  auto collection = CollectionWriter::Create(writer, {{"weights", "I32", {1}}});
  if (!collection.ok()) return collection.status();
  return collection->Commit("model").status();
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
  std::jthread waiting([&] {
    const auto next = WriteClaim::Wait(*other, "model");
    answered = true;
    EXPECT_TRUE(next.ok() && !(*next)->writes()) << next.status();
  });
  CollectionWatch watch(Daemon::Connect(daemon.address()).value(), "model");
  UpgradeThrice(daemon);
  EXPECT_FALSE(answered);
  const absl::Status committed = CommitModel(*writer);
  // Then nobody else would end the wait.
  if (!committed.ok()) writer->Close().IgnoreError();
  waiting.join();
  ASSERT_TRUE(committed.ok()) << committed;
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
  std::jthread waiting([&] {
    const auto next = WriteClaim::Wait(*other, "model");
    EXPECT_TRUE(next.ok() && (*next)->writes()) << next.status();
  });
  UpgradeThrice(daemon);
  // Its call may still go to the daemon that is gone; then the session ends
  // with its lease.
  writer->Close().IgnoreError();
  waiting.join();
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
  void ReplaceByOneThatRefuses(
      const std::string& how = "echo no such state; exit 1") const {
    WriteFile(path_ + ".new", absl::StrCat("#!/bin/sh\n", how, "\n"));
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

TEST(UpgradeTest, ABinaryThatRefusesWithoutAWordIsToldByItsEnd) {
  const OwnBinary binary;
  auto connection = Daemon::Connect(binary.daemon().address());
  const auto expect_told = [&](const std::string& end) {
    const auto refused = Upgrade(**connection);
    EXPECT_NE(refused.status().message().find("it said nothing, and " + end),
              std::string::npos)
        << refused.status();
  };
  binary.ReplaceByOneThatRefuses("exit 3");
  expect_told("exited with status 3");
  binary.ReplaceByOneThatRefuses("kill -SEGV $$");
  expect_told("died of signal 11");
}

TEST(UpgradeTest, AConfigurationWithAnotherProgramsPortIsRefused) {
  const std::string file = TestFile("upgrade.toml");
  WriteFile(file, "max-sessions = 16\n");
  const DaemonProcess other;
  const DaemonProcess daemon({"--config", file});
  Client client({.address = daemon.address()});
  const std::string port =
      other.tcp_address().substr(other.tcp_address().rfind(':') + 1);
  WriteFile(file, absl::StrCat("metrics-address = \"127.0.0.1:", port, "\"\n"));
  auto connection = Daemon::Connect(daemon.address());
  const auto refused = Upgrade(**connection);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.status().message().find(":" + port + ": Address already"),
            std::string::npos)
      << refused.status();
  ASSERT_EQ(client.Add(1), absl::OkStatus());
  client.ExpectNumbers();
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

}  // namespace
}  // namespace holdfast::e2e
