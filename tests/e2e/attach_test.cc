// SPDX-License-Identifier: Apache-2.0
//
// A remote client whose connections break, and whose session goes on.
// HOLDFAST_CUT_SECONDS makes the first test as long.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "core/base/error_detail.h"
#include "holdfast/v1/objects.pb.h"
#include "tests/e2e/cutting_proxy.h"
#include "tests/e2e/daemon_process.h"
#include "tests/testing/setting.h"

namespace holdfast::e2e {
namespace {

using ::holdfast::testing::Setting;

// value = 3 * value + step, in each of 1024 threads: a launch that is lost,
// that runs twice, or that runs before another, changes every later value.
constexpr char kPtx[] = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .entry advance(.param .u64 values, .param .u32 step)
{
  .reg .u32 %r<8>;
  .reg .u64 %d<4>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  ld.param.u64 %d1, [values];
  ld.param.u32 %r4, [step];
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d3, %d1, %d2;
  ld.global.u32 %r5, [%d3];
  mad.lo.u32 %r6, %r5, 3, %r4;
  st.global.u32 [%d3], %r6;
  ret;
}
)";

constexpr uint32_t kThreads = 1024;
// Larger than what goes as commands (16 times 64 KiB): a transfer of its own,
// which is tried again when its connection breaks.
constexpr size_t kLarge = 3 << 20;

class AttachTest : public ::testing::Test {
 protected:
  std::unique_ptr<Session> Open(absl::Duration grace) {
    auto session =
        Session::Open({.address = proxy_.address(), .reconnect_grace = grace});
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  static Kernel LoadKernel(const Session& session) {
    const auto object =
        ObjectCode::Put(session.daemon(), kPtx, v1::OBJECT_FORMAT_PTX);
    EXPECT_TRUE(object.ok()) << object.status();
    return *session.Load(*object)->GetKernel("advance");
  }

  DaemonProcess daemon_;
  CuttingProxy proxy_{
      std::string(absl::StripPrefix(daemon_.tcp_address(), "tcp:")),
      ::testing::UnitTest::GetInstance()->random_seed() == 0
          ? 1
          : static_cast<uint64_t>(
                ::testing::UnitTest::GetInstance()->random_seed())};
};

TEST_F(AttachTest, CutConnectionsLoseNoCommandAndRunNoneTwice) {
  const auto session = Open(absl::Minutes(2));
  const Stream stream = *session->device(0).CreateStream();
  const Kernel kernel = LoadKernel(*session);
  const Buffer small = *session->device(0).Allocate(kThreads * 4, stream);
  const Buffer large = *session->device(0).Allocate(kLarge, stream);
  ASSERT_TRUE(small.Fill(uint8_t{0}, stream).ok());
  ASSERT_TRUE(session->Synchronize().ok());
  proxy_.StartCutting();
  uint32_t expected = 0, step = 0;
  std::vector<uint32_t> values(kThreads);
  const absl::Time end =
      absl::Now() + absl::Seconds(Setting("HOLDFAST_CUT_SECONDS", 0u));
  uint32_t round = 0;
  for (; round < 400 || proxy_.cuts() < 40 || absl::Now() < end; ++round) {
    for (int i = 0; i < 20; ++i) {
      expected = expected * 3 + ++step;
      const absl::Status status = Launch(stream, {.grid = 8, .block = 128},
                                         kernel, small, uint32_t{step});
      ASSERT_TRUE(status.ok()) << status;
    }
    if (round % 4 == 0) {
      const absl::Status status = small.Download(values, stream);
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(values, std::vector<uint32_t>(kThreads, expected))
          << "round " << round << ", " << proxy_.cuts() << " cuts";
    }
    if (round % 10 == 0) {
      // Each byte goes up, is changed on the device, and comes back.
      std::vector<uint32_t> up(kLarge / 4, round), back(kLarge / 4);
      absl::Status status = large.Upload(up, stream);
      ASSERT_TRUE(status.ok()) << status;
      status = Launch(stream, {.grid = 8, .block = 128}, kernel, large, step);
      ASSERT_TRUE(status.ok()) << status;
      status = large.Download(back, stream);
      ASSERT_TRUE(status.ok()) << status;
      std::fill_n(up.begin(), kThreads, round * 3 + step);
      ASSERT_TRUE(back == up) << "round " << round;
    }
  }
  proxy_.StopCutting();
  EXPECT_TRUE(session->Synchronize().ok());
  ASSERT_TRUE(small.Download(values, stream).ok());
  EXPECT_EQ(values, std::vector<uint32_t>(kThreads, expected));
  std::printf("%u rounds, %u launches, %lu connections cut\n", round, step,
              static_cast<unsigned long>(proxy_.cuts()));
}

TEST_F(AttachTest, FailuresAreReportedOnceUnderCutConnections) {
  const auto session = Open(absl::Minutes(2));
  const Stream stream = *session->device(0).CreateStream();
  const Kernel kernel = LoadKernel(*session);
  ASSERT_TRUE(session->Synchronize().ok());
  proxy_.StartCutting();
  for (int round = 0; round < 100 || proxy_.cuts() < 10; ++round) {
    // Wrong arguments: the launch fails, and nothing else does.
    ASSERT_TRUE(
        Launch(stream, {.grid = 1, .block = 1}, kernel, uint32_t{1}).ok());
    EXPECT_TRUE(absl::IsInvalidArgument(stream.Synchronize()))
        << "round " << round;
    EXPECT_TRUE(stream.Synchronize().ok()) << "round " << round;
  }
  proxy_.StopCutting();
}

TEST_F(AttachTest, ClientThatStaysAwayTooLongIsToldThatItsSessionIsLost) {
  const auto session = Open(absl::Seconds(1));
  ASSERT_TRUE(session->Synchronize().ok());
  proxy_.Unplug();
  const absl::Status status = session->Synchronize();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  ASSERT_TRUE(GetErrorDetail(status).has_value()) << status;
  EXPECT_TRUE(GetErrorDetail(status)->session_lost);
  // It may have had no KeepAlive stream yet, and then waits for one.
  kill(daemon_.pid(), SIGKILL);
}

TEST_F(AttachTest, SessionWithoutGraceIsLostWithItsConnection) {
  const auto session = Open(absl::ZeroDuration());
  ASSERT_TRUE(session->Synchronize().ok());
  proxy_.Unplug();
  EXPECT_TRUE(absl::IsUnavailable(session->Synchronize()));
  // It may have had no KeepAlive stream yet, and then waits for one.
  kill(daemon_.pid(), SIGKILL);
}

}  // namespace
}  // namespace holdfast::e2e
