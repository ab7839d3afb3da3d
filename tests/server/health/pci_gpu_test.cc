// SPDX-License-Identifier: Apache-2.0
#include "server/health/pci_gpu.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace holdfast {
namespace {

class PciGpuTest : public ::testing::Test {
 protected:
  void Add(const std::string& address, const std::string& vendor,
           const std::string& device_class) {
    std::filesystem::create_directories(directory_ + "/" + address);
    std::ofstream(directory_ + "/" + address + "/vendor") << vendor << "\n";
    std::ofstream(directory_ + "/" + address + "/class")
        << device_class << "\n";
  }

  const std::string directory_ =
      ::testing::TempDir() + "/" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(PciGpuTest, IsNotFoundOnAMachineWithoutOne) {
  EXPECT_EQ(FindPciGpu(directory_), std::nullopt);  // no such directory
  Add("0000:00:02.0", "0x8086", "0x030000");        // another maker's display
  Add("0000:01:00.1", "0x10de", "0x040300");        // a GPU's sound
  EXPECT_EQ(FindPciGpu(directory_), std::nullopt);
}

TEST_F(PciGpuTest, IsFoundWithAndWithoutAnOutput) {
  Add("0000:3b:00.0", "0x10de", "0x030200");
  EXPECT_EQ(FindPciGpu(directory_), "0000:3b:00.0");
}

}  // namespace
}  // namespace holdfast
