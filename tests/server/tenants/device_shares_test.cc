// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/device_shares.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "core/base/quota_exceeded.h"

namespace holdfast {
namespace {

using absl::StatusCode;

class DeviceSharesTest : public testing::Test {
 protected:
  // Devices 0 and 1 of 100 bytes.
  DeviceSharesTest() { shares_.AddDevices({{0, 100}, {1, 100}}); }

  static Reservation Of(const std::string& tenant, uint64_t bytes,
                        std::vector<uint32_t> devices = {}) {
    return {.tenant = tenant, .devices = std::move(devices), .bytes = bytes};
  }

  DeviceShares shares_;
};

TEST_F(DeviceSharesTest, NobodyTakesWhatIsReservedForAnother) {
  shares_.SetPolicy({Of("a", 30)});
  EXPECT_TRUE(shares_.Take(0, "b", 60).ok());
  const absl::Status refused = shares_.Take(0, "b", 11);
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.message(),
            "memory of device 0, of all sessions: 11 bytes asked for, 60 are "
            "in use, 30 more are reserved for other tenants, the limit is 100 "
            "bytes");
  const QuotaExceeded exceeded = {
      .quota = "memory of device 0, of all sessions",
      .limit = 100,
      .used = 90,
      .requested = 11};
  EXPECT_EQ(GetQuotaExceeded(refused), exceeded);
  EXPECT_TRUE(shares_.Take(0, "b", 10).ok());
  EXPECT_TRUE(shares_.Take(0, "a", 30).ok());
  EXPECT_FALSE(shares_.Take(0, "a", 1).ok());
  EXPECT_FALSE(shares_.Take(0, "", 1).ok());
}

TEST_F(DeviceSharesTest, ATenantMayTakeMoreThanIsReservedForIt) {
  shares_.SetPolicy({Of("a", 30), Of("b", 20)});
  EXPECT_TRUE(shares_.Take(0, "a", 80).ok());
  EXPECT_FALSE(shares_.Take(0, "a", 1).ok());
  EXPECT_TRUE(shares_.Take(0, "b", 20).ok());
  shares_.Return(0, "a", 60);
  // 10 of these are a's own still.
  EXPECT_FALSE(shares_.Take(0, "c", 51).ok());
  EXPECT_TRUE(shares_.Take(0, "c", 50).ok());
}

TEST_F(DeviceSharesTest, ReservationsAreOfTheTenantsDevicesOnly) {
  shares_.SetPolicy({Of("a", 30, {1})});
  EXPECT_TRUE(shares_.Take(0, "b", 100).ok());
  EXPECT_FALSE(shares_.Take(1, "b", 71).ok());
  EXPECT_EQ(shares_.totals()[1].reserved, 30u);
  EXPECT_EQ(shares_.totals()[0].reserved, 0u);
  EXPECT_EQ(shares_.Take(7, "b", 1).code(), StatusCode::kNotFound);
}

TEST_F(DeviceSharesTest, ADeviceThatComesLaterIsDividedAsTheOthers) {
  shares_.SetPolicy({Of("a", 30)});
  shares_.AddDevices({{1, 7}, {2, 40}});
  shares_.AddDevices({{2, 4000}});
  EXPECT_EQ(shares_.sizes(), (DeviceSizes{{0, 100}, {1, 100}, {2, 40}}));
  EXPECT_FALSE(shares_.Take(2, "b", 11).ok());
  EXPECT_TRUE(shares_.Take(2, "b", 10).ok());
}

TEST_F(DeviceSharesTest, ANewPolicyTakesNothingAway) {
  EXPECT_TRUE(shares_.Take(0, "b", 90).ok());
  shares_.SetPolicy({Of("a", 30)});
  EXPECT_FALSE(shares_.Take(0, "b", 1).ok());
  EXPECT_TRUE(shares_.Take(0, "a", 10).ok());
  EXPECT_FALSE(shares_.Take(0, "a", 1).ok());  // There is no more.
  shares_.Return(0, "b", 20);
  EXPECT_FALSE(shares_.Take(0, "b", 1).ok());
  EXPECT_TRUE(shares_.Take(0, "a", 20).ok());
  shares_.Return(0, "a", 30);
  shares_.SetPolicy({});
  EXPECT_TRUE(shares_.Take(0, "b", 30).ok());
}

TEST_F(DeviceSharesTest, AJobsReservationIsMadeOnlyIfTheMemoryIsThere) {
  shares_.SetPolicy({Of("a", 30)});
  EXPECT_TRUE(shares_.Take(1, "b", 40).ok());
  const absl::Status refused = shares_.Reserve(Of("job", 31));
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(refused.message(), "memory of device 1"))
      << refused;
  EXPECT_TRUE(shares_.Reserve(Of("job", 31, {0})).ok());
  EXPECT_FALSE(shares_.Take(0, "b", 40).ok());
  EXPECT_TRUE(shares_.Take(0, "job", 31).ok());
  // A policy that is loaded anew does not end it.
  shares_.SetPolicy({});
  EXPECT_EQ(shares_.totals()[0].reserved, 31u);
  shares_.Release("job");
  shares_.Release("job");
  EXPECT_EQ(shares_.totals()[0].reserved, 0u);
  EXPECT_EQ(shares_.totals()[0].used, 31u);
  EXPECT_EQ(shares_.Reserve(Of("job", 1, {7})).code(),
            StatusCode::kInvalidArgument);
  DeviceShares none;
  none.AwaitDevices(absl::Now() + absl::Milliseconds(1));
  EXPECT_EQ(none.Reserve(Of("job", 1)).code(), StatusCode::kUnavailable);
}

TEST_F(DeviceSharesTest, NumbersOfClientsDoNotOverflow) {
  EXPECT_TRUE(shares_.Take(0, "a", 1).ok());
  EXPECT_FALSE(shares_.Take(0, "a", UINT64_MAX).ok());
  EXPECT_FALSE(shares_.Reserve(Of("job", UINT64_MAX)).ok());
  shares_.SetPolicy({Of("a", 100)});
  EXPECT_FALSE(shares_.Take(0, "a", UINT64_MAX).ok());
  EXPECT_TRUE(shares_.Take(0, "a", 99).ok());
}

TEST(ReservationTest, TheFirstThatDoesNotFitIsNamedWithItsPlace) {
  std::vector<Reservation> reservations = {
      {.tenant = "a", .bytes = 60, .place = "p.toml:2:1: "},
      {.tenant = "b", .devices = {1}, .bytes = 41, .place = "p.toml:3:1: "}};
  const DeviceSizes sizes = {{0, 100}, {1, 100}};
  const absl::Status wrong = CheckReservations(reservations, sizes, "reserves");
  EXPECT_EQ(wrong.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(wrong.message(),
            "p.toml:3:1: tenant b reserves 41 bytes of device 1, which has 100 "
            "bytes; the tenants before it have 60");
  EXPECT_TRUE(CheckReservations(reservations, {}, "reserves").ok());
  reservations[1].devices = {0, 4};
  EXPECT_TRUE(absl::StrContains(
      CheckReservations(reservations, sizes, "reserves").message(),
      "device 4, which is not there"));
  reservations[1].bytes = 40;
  reservations[1].devices = {0};
  EXPECT_TRUE(CheckReservations(reservations, sizes, "reserves").ok());
}

}  // namespace
}  // namespace holdfast
