// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/defects.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <future>
#include <string>

namespace holdfast::software {
namespace {

// The process reads the file for each device once, so each test has devices of
// its own.
class DefectsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("HOLDFAST_SOFTWARE_DEFECTS", Path().c_str(), 1);
  }
  static std::string Path() { return testing::TempDir() + "/defects"; }
  // Whole or not at all, since others read meanwhile.
  static void Write(const std::string& text) {
    std::ofstream(Path() + ".new") << text;
    ASSERT_EQ(rename((Path() + ".new").c_str(), Path().c_str()), 0);
  }
};

TEST_F(DefectsTest, LinesNameDevicesAndTheirDefects) {
  const auto defects = ParseDefects("0 gone\n 2 hang \n1 dance\nx fault\n");
  ASSERT_EQ(defects.size(), 2u);
  EXPECT_EQ(defects.at(0), Defect::kGone);
  EXPECT_EQ(defects.at(2), Defect::kHang);
}

TEST_F(DefectsTest, ADeviceKeepsWhatItsFirstCallFound) {
  Write("10 fault");
  EXPECT_EQ(DefectOf(10), Defect::kFault);
  Write("10 gone");
  EXPECT_EQ(DefectOf(10), Defect::kFault);
}

TEST_F(DefectsTest, EachDeviceThatIsToWaitWaits) {
  Write("20 gone\n21 wait\n22 wait");
  EXPECT_EQ(DefectOf(20), Defect::kGone);
  auto second = std::async(std::launch::async, [] { return DefectOf(21); });
  auto third = std::async(std::launch::async, [] { return DefectOf(22); });
  // Meanwhile others go on.
  EXPECT_EQ(DefectOf(23), Defect::kNone);
  Write("21 fault\n22 wait");
  EXPECT_EQ(second.get(), Defect::kFault);
  Write("22 gone");
  EXPECT_EQ(third.get(), Defect::kGone);
}

}  // namespace
}  // namespace holdfast::software
