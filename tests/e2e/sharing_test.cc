// SPDX-License-Identifier: Apache-2.0
//
// Two client processes that share a buffer, one of which is killed.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "client/cpp/connection/daemon.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

class SharingTest : public ::testing::Test {
 protected:
  v1::MemoryTotals::Device Memory() {
    auto daemon = Daemon::Connect(daemon_.address());
    EXPECT_TRUE(daemon.ok()) << daemon.status();
    return (*daemon)->ListSessions()->totals().devices(0);
  }
  DaemonProcess daemon_;
};

TEST_F(SharingTest, TheImporterGoesOnWhenTheMakerIsKilled) {
  Process maker({ProgramPath("SHARING_CLIENT"), daemon_.address()});
  const std::string token = maker.ReadLine();
  ASSERT_EQ(token.size(), 32u);
  Process importer({ProgramPath("SHARING_CLIENT"), daemon_.address(), token});
  ASSERT_EQ(importer.ReadLine(), "same");
  EXPECT_EQ(Memory().orphaned_bytes(), 0u);
  maker.Signal(SIGKILL);
  EXPECT_TRUE(Eventually([&] { return Memory().orphaned_bytes() > 0; }));
  EXPECT_EQ(Memory().reserved_bytes().used(), Memory().orphaned_bytes());
  EXPECT_EQ(importer.Finish(), 0);
  EXPECT_TRUE(
      Eventually([&] { return Memory().reserved_bytes().used() == 0; }));
}

TEST_F(SharingTest, TheMakerGoesOnWhenTheImporterIsKilled) {
  Process maker({ProgramPath("SHARING_CLIENT"), daemon_.tcp_address()});
  const std::string token = maker.ReadLine();
  Process importer({ProgramPath("SHARING_CLIENT"), daemon_.address(), token});
  ASSERT_EQ(importer.ReadLine(), "same");
  importer.Signal(SIGKILL);
  EXPECT_EQ(maker.Finish(), 0);
  EXPECT_TRUE(
      Eventually([&] { return Memory().reserved_bytes().used() == 0; }));
  // The token was good for one import.
  const Outcome late =
      RunProgram({ProgramPath("SHARING_CLIENT"), daemon_.address(), token});
  EXPECT_EQ(late.exit_code, 1);
  EXPECT_NE(late.err.find("no export has this token"), std::string::npos)
      << late.err;
}

}  // namespace
}  // namespace holdfast::e2e
