// SPDX-License-Identifier: Apache-2.0
//
// Where a suspended session comes back, with executors that are told how they
// fare.
#include "server/supervisor/session_recovery.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/objects/object_store.h"
#include "server/sharing/export_registry.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::supervisor {
namespace {

using absl::StatusCode;
using holdfast::testing::StatusIs;

using Devices = std::vector<uint32_t>;

constexpr uint64_t kDevice = uint64_t{64} << 20;  // memory of each
constexpr uint64_t kChunk = uint64_t{2} << 20;

// The success of executors on one device.
struct Fate {
  absl::Status start;
  absl::Status serve;
  int lost = 0;  // resources that do not come back
};

internal::MemoryPlace On(uint32_t device) {
  internal::MemoryPlace place;
  place.set_device(device);
  return place;
}

// Restores as a real one does: asks for the memory, and makes the chunk.
class FakeExecutor final : public Executor {
 public:
  FakeExecutor(Fate fate, int* stops)
      : fate_(std::move(fate)), stops_(*stops) {}
  pid_t pid() const override { return 4711; }
  internal::Usage AskUsage(absl::Time) override { return {}; }
  absl::StatusOr<uint64_t> ReceivedThrough() override { return 0; }
  absl::StatusOr<internal::Serving> Serve(const SessionStart& start,
                                          absl::Time) override {
    HOLDFAST_RETURN_IF_ERROR(holdings_->BeginRestore(start.assign.epoch()));
    const uint32_t device = DevicesOf(start.assign).front();
    HOLDFAST_RETURN_IF_ERROR(holdings_->grants().Reserve(On(device), kChunk));
    internal::ChunkCreated created;
    created.set_chunk(1);
    created.set_device(device);
    created.set_size(kChunk);
    HOLDFAST_RETURN_IF_ERROR(
        holdings_->memory().Hold(created, *CreateMemfd("chunk", kChunk)));
    HOLDFAST_RETURN_IF_ERROR(fate_.serve);
    internal::Serving serving;
    serving.set_lost_count(static_cast<uint32_t>(fate_.lost));
    if (fate_.lost > 0) serving.add_lost()->set_reason("out of memory");
    if (fate_.lost == 0) holdings_->EndRestore();
    return serving;
  }
  void UpdateLimits(const internal::AccountLimits&) override {}
  absl::Status Resume(absl::Time) override { return absl::OkStatus(); }
  absl::Status Park(absl::Time) override { return absl::OkStatus(); }
  void NoteIdle() override {}
  absl::Status Suspend(const std::string&, absl::Time) override {
    return absl::OkStatus();
  }
  void Inherit(std::unique_ptr<SessionHoldings> holdings) override {
    holdings_ = std::move(holdings);
  }
  std::unique_ptr<SessionHoldings> TakeHoldings() override {
    return std::move(holdings_);
  }
  std::optional<internal::Fault> fault() const override { return std::nullopt; }
  void OnEnd(std::function<void(absl::Status)>) override {}
  void Stop(absl::Time) override { ++stops_; }

  SessionHoldings& holdings() { return *holdings_; }

 private:
  const Fate fate_;
  int& stops_;
  std::unique_ptr<SessionHoldings> holdings_;
};

class SessionRecoveryTest : public ::testing::Test {
 protected:
  SessionRecoveryTest() {
    internal::Ready ready;
    for (const uint32_t device : {0, 1}) {
      v1::Device& described = *ready.add_devices();
      described.set_ordinal(device);
      described.set_total_memory(kDevice);
    }
    ledger_.AddDevices(ready);
    assign_.set_session_id("s-7");
    assign_.add_devices(0);
    recovery_.emplace(SessionRecovery::Options{
        .start = {.assign = assign_,
                  .tenant = std::make_shared<Tenant>(
                      Tenant::Options{.name = "uid 1"})},
        .take = [this](const Tenant&, const Devices& devices, absl::Time)
            -> absl::StatusOr<std::unique_ptr<Executor>> {
          const Fate& fate = fates_[devices.front()];
          HOLDFAST_RETURN_IF_ERROR(fate.start);
          return std::make_unique<FakeExecutor>(fate, &stops_);
        },
        .find_places = [this](const Tenant&, const PlaceRequest& request,
                              absl::Time) -> absl::StatusOr<Devices> {
          request_ = request;
          if (request.wanted.has_value()) return Devices{*request.wanted};
          return places_;
        }});
  }

  // The holdings of a session with one chunk on device 0.
  std::unique_ptr<SessionHoldings> Holdings() {
    auto holdings = std::make_unique<SessionHoldings>(SessionHoldings::Services{
        store_, ledger_, exports_, collections_, memory_, kept_});
    EXPECT_OK(holdings->Open(
        assign_, std::make_shared<Tenant>(Tenant::Options{.name = "uid 1"})));
    EXPECT_OK(holdings->grants().Reserve(On(0), kChunk));
    internal::ChunkCreated created;
    created.set_chunk(1);
    created.set_size(kChunk);
    EXPECT_OK(holdings->memory().Hold(created, *CreateMemfd("chunk", kChunk)));
    return holdings;
  }
  std::unique_ptr<SessionHoldings> Suspended() {
    auto holdings = Holdings();
    const auto room = holdings->suspension().Prepare("");
    EXPECT_OK(room.status());
    // The executor gets time to save by these bytes.
    EXPECT_EQ(room->bytes, kChunk);
    holdings->Suspend();
    EXPECT_EQ(Used(0), 0u);
    return holdings;
  }
  absl::Status Run(std::unique_ptr<SessionHoldings> holdings) {
    return recovery_
        ->Run(
            std::move(holdings), /*epoch=*/2, /*received_through=*/0,
            [this](std::shared_ptr<Executor> executor) {
              last_ = std::move(executor);
              return true;
            },
            [] {})
        .status();
  }
  uint64_t Used(uint32_t device) { return ledger_.devices().at(device).used; }
  // Somebody else has all of the device's memory from now on.
  void Fill(uint32_t device) {
    others_.push_back(ledger_.OnDevice(device, "uid 2")
                          ->Take(kDevice - Used(device))
                          .value());
  }
  // The session is whole, on this device and no other.
  void ExpectOn(uint32_t device) {
    EXPECT_EQ(recovery_->devices(), Devices{device});
    SessionHoldings& holdings = static_cast<FakeExecutor&>(*last_).holdings();
    EXPECT_FALSE(holdings.suspension().suspended());
    EXPECT_EQ(Used(device), kChunk);
    int chunks = 0;
    EXPECT_OK(holdings.memory().ForEachChunk(
        [&](const internal::ChunkCreated& chunk, int) {
          EXPECT_EQ(chunk.device(), device);
          ++chunks;
          return absl::OkStatus();
        }));
    EXPECT_EQ(chunks, 1);
  }

  ObjectStore store_{1 << 20};
  MemoryLedger ledger_{0};
  DeviceMemory memory_;
  DescriptorStore kept_;
  collections::CollectionTable collections_;
  ExportRegistry exports_;
  internal::Assign assign_;
  std::map<uint32_t, Fate> fates_;
  Devices places_ = {0, 1};
  std::optional<PlaceRequest> request_;  // the last
  std::vector<Charge> others_;
  int stops_ = 0;
  std::optional<SessionRecovery> recovery_;
  std::shared_ptr<Executor> last_;
};

TEST_F(SessionRecoveryTest, ASuspendedSessionComesBackWhereItWas) {
  ASSERT_OK(Run(Suspended()));
  ExpectOn(0);
  EXPECT_EQ(request_->named, 0u);
  EXPECT_EQ(request_->now, 0u);
}

TEST_F(SessionRecoveryTest, TheBestPlaceIsTriedFirst) {
  places_ = {1, 0};
  ASSERT_OK(Run(Suspended()));
  ExpectOn(1);
  EXPECT_EQ(Used(0), 0u);
}

TEST_F(SessionRecoveryTest, ItGoesWhereThereIsMemory) {
  auto holdings = Suspended();
  Fill(0);
  ASSERT_OK(Run(std::move(holdings)));
  ExpectOn(1);
}

TEST_F(SessionRecoveryTest, ItGoesWhereAnExecutorStarts) {
  fates_[0].start = absl::UnavailableError("the device is gone");
  ASSERT_OK(Run(Suspended()));
  ExpectOn(1);
  EXPECT_EQ(Used(0), 0u);
}

TEST_F(SessionRecoveryTest, ItGoesWhereAnExecutorRestoresIt) {
  fates_[0].serve = absl::InternalError("CUDA_ERROR_ECC_UNCORRECTABLE");
  ASSERT_OK(Run(Suspended()));
  ExpectOn(1);
  EXPECT_EQ(Used(0), 0u);
}

TEST_F(SessionRecoveryTest, ItGoesWhereAllOfItComesBack) {
  fates_[0].lost = 1;
  ASSERT_OK(Run(Suspended()));
  ExpectOn(1);
  EXPECT_EQ(Used(0), 0u);
  EXPECT_EQ(stops_, 1);
}

TEST_F(SessionRecoveryTest, OneThatComesBackNowhereIsLostWithTheReason) {
  fates_[0].lost = 1;
  fates_[1].lost = 1;
  EXPECT_THAT(Run(Suspended()), StatusIs(StatusCode::kDataLoss, "memory"));
  EXPECT_EQ(Used(0) + Used(1), 0u);
  fates_[0] = fates_[1] = {.start = absl::UnavailableError("no driver")};
  places_ = {0};
  EXPECT_THAT(Run(Suspended()), StatusIs(StatusCode::kUnavailable, "driver"));
}

TEST_F(SessionRecoveryTest, OneWhoseExecutorDiedStaysWithItsMemory) {
  places_ = {1, 0};
  ASSERT_OK(Run(Holdings()));
  EXPECT_FALSE(request_.has_value());
  EXPECT_EQ(recovery_->devices(), Devices{0});
}

// It may be in quarantine, and the session would go elsewhere.
TEST_F(SessionRecoveryTest, TheDeviceThatItWasOnIsCheckedLikeAnyOther) {
  ASSERT_OK(recovery_->CheckPlace(0, absl::InfiniteFuture()));
  ASSERT_TRUE(request_.has_value());
  EXPECT_EQ(request_->wanted, 0u);
}

TEST_F(SessionRecoveryTest, AnOperatorsPlaceIsTakenOnlyWhereThereIsRoom) {
  auto holdings = Suspended();
  ASSERT_OK(recovery_->CheckPlace(1, absl::InfiniteFuture()));
  EXPECT_EQ(request_->wanted, 1u);
  Fill(1);
  EXPECT_THAT(recovery_->Place(1, *holdings),
              StatusIs(StatusCode::kResourceExhausted, "device 1"));
  EXPECT_EQ(recovery_->devices(), Devices{0});
  EXPECT_TRUE(holdings->suspension().suspended());
  others_.clear();
  ASSERT_OK(recovery_->Place(1, *holdings));
  EXPECT_EQ(recovery_->devices(), Devices{1});
  // Nobody else gets the room.
  EXPECT_EQ(Used(1), kChunk);
  places_ = {1, 0};
  ASSERT_OK(Run(std::move(holdings)));
  ExpectOn(1);
}

}  // namespace
}  // namespace holdfast::supervisor
