// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_registry.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "core/base/error_detail.h"
#include "core/base/quota_exceeded.h"
#include "server/holdings/session_holdings.h"
#include "server/journal/journal_writer.h"
#include "server/supervisor/idle_suspension.h"
#include "tests/testing/thread_refusal.h"

namespace holdfast::supervisor {
namespace {

using ::holdfast::testing::ThreadRefusal;

// Where executors that are being stopped wait for each other.
class Meeting {
 public:
  // False: fewer than `wanted` come in ten seconds.
  bool Join(int wanted) {
    absl::MutexLock lock(&mutex_);
    ++here_;
    const auto complete = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return here_ >= wanted;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&complete),
                                   absl::Seconds(10));
  }

 private:
  absl::Mutex mutex_;
  int here_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The test's handle on an executor.
struct ExecutorControl {
  std::function<void(absl::Status)> on_end;
  int stops = 0;
  std::function<void()> on_stop;
  absl::Status serve;  // what it answers to its session
  bool destroyed = false;
  internal::AccountLimits limits;
  uint64_t received = 41;
  int suspensions = 0;  // that were asked for
  absl::Status park = absl::UnimplementedError("a fake executor");
};

class FakeExecutor final : public Executor {
 public:
  explicit FakeExecutor(std::shared_ptr<ExecutorControl> control)
      : control_(std::move(control)) {}
  ~FakeExecutor() override { control_->destroyed = true; }
  pid_t pid() const override { return 4711; }
  internal::Usage AskUsage(absl::Time) override {
    internal::Usage usage;
    usage.mutable_usage()->mutable_device_bytes()->set_used(1 << 20);
    return usage;
  }
  absl::StatusOr<uint64_t> ReceivedThrough() override {
    return control_->received;
  }
  absl::StatusOr<internal::Serving> Serve(const SessionStart& start,
                                          absl::Time) override {
    if (!control_->serve.ok()) return control_->serve;
    control_->limits = start.assign.limits();
    return internal::Serving();
  }
  void UpdateLimits(const internal::AccountLimits& limits) override {
    control_->limits = limits;
  }
  absl::Status Resume(absl::Time) override { return absl::OkStatus(); }
  absl::Status Suspend(const std::string&, absl::Time) override {
    ++control_->suspensions;
    return absl::UnimplementedError("a fake executor");
  }
  absl::Status Park(absl::Time) override { return control_->park; }
  void NoteIdle() override {}
  void Inherit(std::unique_ptr<SessionHoldings>) override {}
  std::unique_ptr<SessionHoldings> TakeHoldings() override { return nullptr; }
  std::optional<internal::Fault> fault() const override { return std::nullopt; }
  void OnEnd(std::function<void(absl::Status)> callback) override {
    control_->on_end = std::move(callback);
  }
  void Stop(absl::Time) override {
    ++control_->stops;
    if (control_->on_stop) control_->on_stop();
  }

 private:
  const std::shared_ptr<ExecutorControl> control_;
};

class SessionRegistryTest : public ::testing::Test {
 protected:
  SessionRegistryTest() {
    char name[] = "/tmp/holdfast-test-XXXXXX";
    directory_ = mkdtemp(name);
    registry_options_ = SessionRegistry::Options{
        .max_sessions = 2,
        .max_sessions_per_client = 2,
        .quotas = {.device_bytes = 1000, .pinned_bytes = 7, .handles = 5},
        .detached_limit = absl::Hours(1),
        .socket_directory = directory_,
        .choose_devices =
            [](const v1::OpenSessionRequest& request, const Tenant&,
               absl::Time) -> absl::StatusOr<std::vector<uint32_t>> {
          if (request.devices().empty()) return std::vector<uint32_t>{0};
          return absl::NotFoundError("device 7 does not exist");
        },
        .take = [this](const Tenant&, const std::vector<uint32_t>&, absl::Time)
            -> absl::StatusOr<std::unique_ptr<Executor>> {
          auto control = executor_;
          if (!stopped_.empty()) {
            control = stopped_.back();
            stopped_.pop_back();
          }
          return std::make_unique<FakeExecutor>(std::move(control));
        },
        .now = [this] { return now_; },
        .lease_time = [this] { return now_; }};
    registry_ = std::make_unique<SessionRegistry>(registry_options_);
  }
  ~SessionRegistryTest() override {
    registry_ = nullptr;
    std::filesystem::remove_all(directory_);
  }

  absl::StatusOr<SessionRegistry::Opened> Open(absl::Duration grace = {},
                                               uint64_t memory_limit = 0) {
    executor_ = std::make_shared<ExecutorControl>();
    v1::OpenSessionRequest request;
    request.set_protocol_version(1);
    request.set_name("test");
    request.set_memory_limit(memory_limit);
    request.mutable_reconnect_grace()->set_seconds(absl::ToInt64Seconds(grace));
    request.mutable_detached_lifetime()->set_seconds(
        absl::ToInt64Seconds(detached_lifetime_));
    auto tenant = tenant_;
    if (tenant == nullptr) {
      tenant = std::make_shared<Tenant>(Tenant::Options{.name = client_});
    }
    return registry_->Open(request, {.tenant = tenant, .peer = "unix"},
                           absl::InfiniteFuture());
  }

  void Pass(absl::Duration time) {
    now_ += time;
    registry_->CloseExpired();
  }

  std::string directory_;
  std::string client_ = "uid 1";
  absl::Duration detached_lifetime_ = absl::ZeroDuration();
  std::shared_ptr<Tenant> tenant_;  // that opens sessions; null: client_
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  std::shared_ptr<ExecutorControl> executor_;
  // Taken before that one.
  std::vector<std::shared_ptr<ExecutorControl>> stopped_;
  SessionRegistry::Options registry_options_;
  std::unique_ptr<SessionRegistry> registry_;
};

TEST_F(SessionRegistryTest, TokenFindsItsSessionAndNothingElseDoes) {
  const auto a = Open().value(), b = Open().value();
  EXPECT_EQ(a.token.size(), 16u);
  EXPECT_NE(a.token, b.token);
  EXPECT_EQ(registry_->Find(a.token).value(), a.session);
  EXPECT_EQ(registry_->Find(b.token).value(), b.session);
  std::string forged = a.token;
  forged[15] ^= 1;
  EXPECT_EQ(registry_->Find(forged).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(registry_->Find("").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SessionRegistryTest, IdsAreNeverUsedAgain) {
  const auto a = Open().value();
  EXPECT_EQ(a.session->id(), "s-1");
  registry_->Close(*a.session, "");
  EXPECT_EQ(Open().value().session->id(), "s-2");
}

TEST_F(SessionRegistryTest, LimitCountsOpenSessions) {
  const auto a = Open().value();
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kResourceExhausted);
  registry_->Close(*a.session, "");
  EXPECT_TRUE(Open().ok());
}

// As one that waited and was sent SIGSTOP.
TEST_F(SessionRegistryTest, ExecutorThatDoesNotAnswerIsKilledAndTheNextTaken) {
  const auto stopped = std::make_shared<ExecutorControl>();
  stopped->serve = absl::DeadlineExceededError("not serving in time");
  stopped_ = {stopped};
  EXPECT_TRUE(Open().ok());
  EXPECT_TRUE(stopped->destroyed);
}

TEST_F(SessionRegistryTest, NoExecutorThatAnswersIsAnErrorAndNoEndlessSearch) {
  const auto stopped = std::make_shared<ExecutorControl>();
  stopped->serve = absl::DeadlineExceededError("not serving in time");
  stopped_.assign(100, stopped);
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kDeadlineExceeded);
  stopped_.clear();
  EXPECT_TRUE(Open().ok());
  EXPECT_TRUE(Open().ok());
}

TEST_F(SessionRegistryTest, LostSessionsOfTheClientWithMostMakeRoomFirst) {
  const auto quiet = Open().value();
  executor_->on_end(absl::UnavailableError("killed"));
  client_ = "uid 2";
  const auto noisy = Open().value();
  executor_->on_end(absl::UnavailableError("killed"));
  EXPECT_TRUE(Open().ok());
  executor_->on_end(absl::UnavailableError("killed"));
  EXPECT_EQ(registry_->List().size(), 2u);
  EXPECT_TRUE(Open().ok());
  EXPECT_EQ(registry_->List().size(), 2u);
}

TEST_F(SessionRegistryTest, SessionThatIsNeverKeptAliveEnds) {
  const auto opened = Open(absl::Hours(1)).value();
  Pass(Session::kFirstKeepAlive - absl::Seconds(1));
  EXPECT_TRUE(registry_->Find(opened.token).ok());
  Pass(absl::Seconds(1));
  EXPECT_FALSE(registry_->Find(opened.token).ok());
  EXPECT_EQ(executor_->stops, 1);
}

TEST_F(SessionRegistryTest, KeptAliveSessionStaysForEver) {
  const auto opened = Open().value();
  opened.session->AddKeeper([](const std::string&) {});
  Pass(absl::Hours(1000));
  EXPECT_TRUE(registry_->Find(opened.token).ok());
}

TEST_F(SessionRegistryTest, ClientMayReconnectWithinItsGrace) {
  const auto opened = Open(absl::Seconds(60)).value();
  Session& session = *opened.session;
  session.RemoveKeeper(session.AddKeeper([](const std::string&) {}));
  EXPECT_EQ(session.Info().state(), v1::SessionInfo::STATE_DETACHED);
  Pass(absl::Seconds(59));
  const int64_t keeper = session.AddKeeper([](const std::string&) {});
  EXPECT_EQ(session.Info().state(), v1::SessionInfo::STATE_ACTIVE);
  Pass(absl::Hours(1));
  ASSERT_TRUE(registry_->Find(opened.token).ok());
  session.RemoveKeeper(keeper);
  Pass(absl::Seconds(60));
  EXPECT_FALSE(registry_->Find(opened.token).ok());
}

TEST_F(SessionRegistryTest, WithoutGraceTheSessionEndsWithItsClient) {
  const auto opened = Open().value();
  Session& session = *opened.session;
  session.RemoveKeeper(session.AddKeeper([](const std::string&) {}));
  Pass(absl::ZeroDuration());
  EXPECT_FALSE(registry_->Find(opened.token).ok());
}

TEST_F(SessionRegistryTest, LostSessionSaysWhyUntilItIsClosed) {
  const auto opened = Open().value();
  Session& session = *opened.session;
  std::string told;
  const int64_t keeper =
      session.AddKeeper([&](const std::string& reason) { told = reason; });
  executor_->on_end(absl::UnavailableError("killed by SIGKILL"));
  EXPECT_EQ(session.Info().state(), v1::SessionInfo::STATE_LOST);
  const absl::Status status = session.Serving();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(status.message(), "killed by SIGKILL"));
  EXPECT_TRUE(GetErrorDetail(status)->session_lost);
  EXPECT_EQ(told, status.message());
  session.RemoveKeeper(keeper);
  Pass(absl::Seconds(1));
  EXPECT_TRUE(registry_->Find(opened.token).ok());
  Pass(Session::kLostKept);
  EXPECT_FALSE(registry_->Find(opened.token).ok());
}

// A process's descriptors and sockets, for a minute a session, would add up.
TEST_F(SessionRegistryTest, LostSessionKeepsNoProcessWhileItSaysWhy) {
  const auto opened = Open().value();
  executor_->on_end(absl::UnavailableError("killed by SIGKILL"));
  EXPECT_FALSE(executor_->destroyed);  // its own thread has told
  EXPECT_TRUE(registry_->AwaitExpiry());
  Pass(absl::ZeroDuration());
  EXPECT_TRUE(executor_->destroyed);
  EXPECT_EQ(opened.session->executor_pid(), 0);
  EXPECT_TRUE(registry_->Find(opened.token).ok());
  EXPECT_TRUE(absl::StrContains(opened.session->Serving().message(),
                                "killed by SIGKILL"));
  Pass(Session::kLostKept);
  EXPECT_FALSE(registry_->Find(opened.token).ok());
}

TEST_F(SessionRegistryTest, LostSessionTellsAKeeperThatComesLate) {
  const auto opened = Open().value();
  executor_->on_end(absl::UnavailableError("killed by SIGKILL"));
  std::string told;
  opened.session->AddKeeper([&](const std::string& reason) { told = reason; });
  EXPECT_TRUE(absl::StrContains(told, "killed by SIGKILL"));
}

TEST_F(SessionRegistryTest, LostSessionsLeaveRoomForNewOnes) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Open().ok());
    executor_->on_end(absl::UnavailableError("killed"));
  }
}

TEST_F(SessionRegistryTest, CloseTellsKeepersRemovesTheSocketAndStopsOnce) {
  const auto opened = Open().value();
  std::string told = "nothing";
  opened.session->AddKeeper([&](const std::string& reason) { told = reason; });
  EXPECT_FALSE(std::filesystem::is_empty(directory_));
  registry_->Close(*opened.session, "");
  registry_->Close(*opened.session, "");
  EXPECT_EQ(told, "");
  EXPECT_EQ(executor_->stops, 1);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(SessionRegistryTest, DrainRefusesNewSessionsAndTellsWhenEmpty) {
  const auto opened = Open().value();
  bool empty = false;
  registry_->Drain([&] { empty = true; });
  EXPECT_FALSE(empty);
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kUnavailable);
  registry_->Close(*opened.session, "");
  EXPECT_TRUE(empty);
}

TEST_F(SessionRegistryTest, PauseIsTakenBackButADrainIsNot) {
  const auto opened = Open().value();
  registry_->SetPaused(true);
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(registry_->AwaitPausedEmpty(absl::InfinitePast()), 1u);
  std::stop_source call;
  std::thread operator_gone([&] { call.request_stop(); });
  EXPECT_EQ(
      registry_->AwaitPausedEmpty(absl::InfiniteFuture(), call.get_token()),
      1u);
  operator_gone.join();
  registry_->SetPaused(false);
  EXPECT_TRUE(Open().ok());
  registry_->Drain(nullptr);
  registry_->SetPaused(false);
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(SessionRegistryTest, SessionIsFoundByItsNameOnlyWhileItIsOpen) {
  const auto opened = Open().value();
  EXPECT_EQ(registry_->FindById("s-1").value(), opened.session);
  EXPECT_FALSE(registry_->FindById("s-2").ok());
  registry_->Close(*opened.session, "");
  EXPECT_EQ(registry_->FindById("s-1").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(SessionRegistryTest, TheLeastOfClientsAndDaemonsLimitsHolds) {
  ASSERT_TRUE(Open({}, 999).ok());
  EXPECT_EQ(executor_->limits.device_bytes(), 999u);
  EXPECT_EQ(executor_->limits.device_bytes_set_by(),
            "memory_limit of OpenSession");
  EXPECT_EQ(executor_->limits.pinned_bytes(), 7u);
  EXPECT_EQ(executor_->limits.handles(), 5u);
  ASSERT_TRUE(Open({}, 1001).ok());
  EXPECT_EQ(executor_->limits.device_bytes(), 1000u);
  EXPECT_EQ(executor_->limits.device_bytes_set_by(), "--session-memory");
  registry_->CloseAll("");
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(executor_->limits.device_bytes(), 1000u);
}

TEST_F(SessionRegistryTest, AQuotaOfASessionRestrictsWhatItWasOpenedWith) {
  const auto opened = Open().value();
  v1::Quota quota;
  quota.set_device_bytes(10);
  quota.set_handles(1000);
  quota.set_outstanding_commands(9);
  ASSERT_TRUE(opened.session->SetQuota(quota).ok());
  EXPECT_EQ(executor_->limits.device_bytes(), 10u);
  EXPECT_EQ(executor_->limits.device_bytes_set_by(), "the session's quota");
  EXPECT_EQ(executor_->limits.pinned_bytes(), 7u);
  EXPECT_EQ(executor_->limits.handles(), 5u);
  EXPECT_EQ(executor_->limits.outstanding_commands(), 9u);
  // The next one replaces it, and none is what it was opened with.
  ASSERT_TRUE(opened.session->SetQuota({}).ok());
  EXPECT_EQ(executor_->limits.device_bytes(), 1000u);
  EXPECT_EQ(executor_->limits.device_bytes_set_by(), "--session-memory");
  quota.set_collection_bytes(1);
  const absl::Status refused = opened.session->SetQuota(quota);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(refused.message(), "collection_bytes"));
}

TEST_F(SessionRegistryTest, ATenantsQuotaBoundsItsSessions) {
  v1::Quota quota;
  quota.set_sessions(1);
  quota.set_handles(3);
  quota.set_outstanding_commands(9);
  tenant_ = std::make_shared<Tenant>(Tenant::Options{
      .name = "job", .kind = Tenant::Kind::kTemporary, .quota = quota});
  const auto opened = Open().value();
  EXPECT_EQ(opened.session->Info().tenant(), "job");
  // Those that count over all sessions are not the session's own.
  EXPECT_EQ(executor_->limits.handles(), 5u);
  EXPECT_EQ(executor_->limits.outstanding_commands(), 0u);
  EXPECT_TRUE(executor_->limits.reserve_buffers());
  const absl::Status refused = Open().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetQuotaExceeded(refused),
            (QuotaExceeded{.quota = "sessions of tenant job",
                           .limit = 1,
                           .used = 1,
                           .requested = 1}));
  registry_->Close(*opened.session, "");
  EXPECT_TRUE(Open().ok());
}

TEST_F(SessionRegistryTest, ATenantThatEndsKeepsNoSessionAndOpensNone) {
  const auto other = Open().value();
  tenant_ = std::make_shared<Tenant>(Tenant::Options{.name = "job"});
  ASSERT_TRUE(Open().ok());
  tenant_->BeginEnd();
  registry_->CloseAllOf(*tenant_, "the job is over");
  ASSERT_EQ(registry_->List().size(), 1u);
  EXPECT_EQ(registry_->List()[0], other.session);
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(SessionRegistryTest, SessionsThatExpireAreClosedSideBySide) {
  constexpr int kSessions = 2;
  Meeting meeting;
  std::atomic<int> met = 0;
  for (int i = 0; i < kSessions; ++i) {
    ASSERT_TRUE(Open().ok());
    executor_->on_stop = [&] { met += meeting.Join(kSessions) ? 1 : 0; };
  }
  Pass(absl::Hours(1));
  EXPECT_EQ(met, kSessions);
  EXPECT_TRUE(registry_->List().empty());
}

TEST_F(SessionRegistryTest, ListIsOldestFirst) {
  const auto a = Open().value(), b = Open().value();
  const auto list = registry_->List();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0], a.session);
  EXPECT_EQ(list[1], b.session);
  EXPECT_EQ(list[0]->Info().memory_bytes(), 1u << 20);
}

TEST_F(SessionRegistryTest, SocketIsItsOwnersAlone) {
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(std::filesystem::status(directory_ + "/s-1.sock").permissions(),
            std::filesystem::perms(0600));
}

TEST_F(SessionRegistryTest, ASessionIsSuspendedOnceItHasDoneNothingForAWhile) {
  IdleSuspension idle(*registry_, absl::Minutes(10));
  idle.Look(now_);
  ASSERT_TRUE(Open().ok());
  const auto look = [&](int minutes) {
    now_ += absl::Minutes(minutes);
    idle.Look(now_);
    return executor_->suspensions;
  };
  EXPECT_EQ(look(0), 0);
  EXPECT_EQ(look(9), 0);
  // A command has arrived.
  ++executor_->received;
  EXPECT_EQ(look(9), 0);
  EXPECT_EQ(look(9), 0);
  EXPECT_EQ(look(1), 1);
  // One that cannot be suspended is left alone for as long.
  EXPECT_EQ(look(9), 1);
  EXPECT_EQ(look(1), 2);
}

TEST_F(SessionRegistryTest, ASessionThatIsParkedIsNotResumed) {
  const auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  Session& session = *opened->session;
  executor_->park = absl::OkStatus();
  ASSERT_TRUE(session.Park(absl::InfiniteFuture()).ok());
  EXPECT_TRUE(absl::IsUnavailable(
      session.ResumeSuspended(std::nullopt, absl::InfiniteFuture())));
  session.Unpark(absl::InfiniteFuture());
  EXPECT_EQ(session.Info().state(), v1::SessionInfo::STATE_ACTIVE);
}

// Its client asks again with the next daemon.
TEST_F(SessionRegistryTest, AParkedSessionAnswersItsClientAtTheDeadline) {
  const auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  executor_->park = absl::OkStatus();
  ASSERT_TRUE(opened->session->Park(absl::InfiniteFuture()).ok());
  EXPECT_TRUE(absl::IsAborted(opened->session->Serving()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      opened->session->AcknowledgeFault(1, absl::Now() + absl::Milliseconds(10))
          .status()));
  opened->session->TellRestart();
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      opened->session->AcknowledgeFault(1, absl::Now() + absl::Milliseconds(10))
          .status()));
}

TEST_F(SessionRegistryTest, OnlyASessionThatIsToOutliveItsClientIsTakenUp) {
  const auto plain = Open();
  ASSERT_TRUE(plain.ok()) << plain.status();
  const int64_t keeper = plain->session->AddKeeper([](const std::string&) {});
  plain->session->RemoveKeeper(keeper);
  EXPECT_TRUE(absl::IsFailedPrecondition(plain->session->TakeUp().status()));
}

// Two clients would number their commands alike.
TEST_F(SessionRegistryTest, ASessionIsTakenUpByOneClientAtATime) {
  detached_lifetime_ = absl::Minutes(10);
  const auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  Session& session = *opened->session;
  session.RemoveKeeper(session.AddKeeper([](const std::string&) {}));
  const auto taken = session.TakeUp();
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(taken->received_through, 41u);
  EXPECT_TRUE(absl::IsFailedPrecondition(session.TakeUp().status()));
  // The first one comes and leaves.
  session.RemoveKeeper(session.AddKeeper([](const std::string&) {}));
  EXPECT_TRUE(session.TakeUp().ok());
  // It never comes.
  now_ += Session::kFirstKeepAlive;
  EXPECT_TRUE(session.TakeUp().ok());
}

// Executors end with the daemon that makes way, before the next one begins.
TEST_F(SessionRegistryTest, AnExecutorThatEndsWithItsDaemonIsNoFault) {
  const auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  std::vector<std::string> told;
  const int64_t keeper = opened->session->AddKeeper(
      [&told](const std::string& reason) { told.push_back(reason); });
  opened->session->TellRestart();
  executor_->on_end(absl::UnavailableError("ended with the spawner"));
  EXPECT_FALSE(opened->session->lost());
  EXPECT_TRUE(told.empty());
  opened->session->RemoveKeeper(keeper);
}

// Sessions that a daemon before has left.
class LeftSessionTest : public SessionRegistryTest {
 protected:
  ~LeftSessionTest() override { registry_ = nullptr; }

  std::shared_ptr<Session> Adopt(bool detached) {
    const auto tenant =
        std::make_shared<Tenant>(Tenant::Options{.name = client_});
    internal::SessionRecord record;
    record.mutable_assign()->set_session_id("s-7");
    record.mutable_grace()->set_seconds(600);
    record.set_detachable(true);
    // It recovers when its client says so.
    record.set_recover(v1::RECOVERY_POLICY_ASK);
    auto holdings = std::make_unique<SessionHoldings>(SessionHoldings::Services{
        store_, ledger_, exports_, collections_, memory_, kept_});
    EXPECT_TRUE(holdings->Open(record.assign(), tenant).ok());
    EXPECT_TRUE(journal::JournalWriter::Map(holdings->journal()).ok());
    registry_->Adopt({.record = record,
                      .calls = UniqueFd(),
                      .descriptors = UniqueFd(),
                      .tenant = tenant,
                      .left = {.holdings = std::move(holdings),
                               .detached = detached,
                               .opened = now_},
                      .counters = {}});
    return *registry_->FindById("s-7");
  }

  ObjectStore store_{1 << 20};
  MemoryLedger ledger_{1 << 20};
  DeviceMemory memory_;
  ExportRegistry exports_;
  collections::CollectionTable collections_;
  DescriptorStore kept_;
};

TEST_F(LeftSessionTest, ItsClientMayComeBackBeforeAnotherTakesItUp) {
  const auto session = Adopt(/*detached=*/false);
  const absl::Status refused = session->TakeUp().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "it has a client"))
      << refused;
  // It comes back and leaves.
  session->RemoveKeeper(session->AddKeeper([](const std::string&) {}));
  EXPECT_TRUE(session->TakeUp().ok());
}

TEST_F(LeftSessionTest, AClientThatDoesNotComeBackInTimeHasLeft) {
  const auto session = Adopt(/*detached=*/false);
  now_ += Session::kFirstKeepAlive;
  EXPECT_TRUE(session->TakeUp().ok());
}

TEST_F(LeftSessionTest, OneThatHadNoClientIsTakenUpAtOnce) {
  const auto session = Adopt(/*detached=*/true);
  EXPECT_TRUE(session->TakeUp().ok());
}

TEST_F(LeftSessionTest, WithoutAThreadItRecoversWhenItsClientAsksAgain) {
  if (!ThreadRefusal::kWorks) GTEST_SKIP();
  executor_ = std::make_shared<ExecutorControl>();
  const auto session = Adopt(/*detached=*/false);
  {
    const ThreadRefusal refusal;
    const auto refused = session->AcknowledgeFault(1, absl::Now());
    EXPECT_TRUE(absl::IsResourceExhausted(refused.status()))
        << refused.status();
  }
  EXPECT_FALSE(session->lost());
  const auto recovered = session->AcknowledgeFault(1, absl::InfiniteFuture());
  EXPECT_TRUE(recovered.ok()) << recovered.status();
}

TEST_F(LeftSessionTest, ThatItHasNoClientIsKept) {
  DescriptorStore store;
  SessionRegistry::Options options = registry_options_;
  options.kept = &store;
  registry_ = std::make_unique<SessionRegistry>(std::move(options));
  const auto is_kept = [&store] {
    const auto all = store.CopyAll();
    return std::any_of(all.begin(), all.end(), [](const KeptDescriptor& one) {
      return one.name.kind == "detached";
    });
  };
  detached_lifetime_ = absl::Minutes(10);
  const auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  Session& session = *opened->session;
  const int64_t client = session.AddKeeper([](const std::string&) {});
  EXPECT_FALSE(is_kept());
  session.RemoveKeeper(client);
  EXPECT_TRUE(is_kept());
  const int64_t next = session.AddKeeper([](const std::string&) {});
  EXPECT_FALSE(is_kept());
  session.RemoveKeeper(next);
  EXPECT_TRUE(session.TakeUp().ok());
  EXPECT_FALSE(is_kept());
  // Its client's stream ends since the daemon makes way.
  const int64_t last = session.AddKeeper([](const std::string&) {});
  session.TellRestart();
  session.RemoveKeeper(last);
  EXPECT_FALSE(is_kept());
  registry_ = nullptr;  // Before the store.
}

}  // namespace
}  // namespace holdfast::supervisor
