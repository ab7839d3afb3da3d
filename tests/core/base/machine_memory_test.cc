// SPDX-License-Identifier: Apache-2.0
#include "core/base/machine_memory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast {
namespace {

class MachineMemoryTest : public testing::Test {
 protected:
  ~MachineMemoryTest() override { std::filesystem::remove_all(mount_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = mount_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }

  char name_[64] = "/tmp/holdfast-test-XXXXXX";
  const std::string mount_ = mkdtemp(name_);
};

TEST_F(MachineMemoryTest, TheLeastLimitOnTheWayToTheRootHolds) {
  Write("/memory.max", "max");
  Write("/a/memory.max", "524288000");
  Write("/a/b/memory.max", "max");
  EXPECT_EQ(ControlGroupMemory("0::/a/b\n", mount_), 524288000);
  Write("/a/b/memory.max", "1048576");
  EXPECT_EQ(ControlGroupMemory("0::/a/b\n", mount_), 1048576);
  EXPECT_EQ(ControlGroupMemory("0::/\n", mount_), UINT64_MAX);
}

TEST_F(MachineMemoryTest, VersionOneHasALimitOfItsOwn) {
  Write("/memory/memory.limit_in_bytes", "9223372036854771712");
  Write("/memory/a/memory.limit_in_bytes", "524288000");
  const std::string groups = "5:devices:/\n4:hugetlb,memory:/a\n0::/\n";
  EXPECT_EQ(ControlGroupMemory(groups, mount_), 524288000);
}

TEST_F(MachineMemoryTest, AGroupThatCannotBeSeenIsTheRootOfTheView) {
  Write("/memory/memory.limit_in_bytes", "524288000");
  EXPECT_EQ(ControlGroupMemory("4:memory:/docker/1f\n", mount_), 524288000);
  Write("/memory.max", "1048576");
  EXPECT_EQ(ControlGroupMemory("0::/../other\n", mount_), 1048576);
}

TEST_F(MachineMemoryTest, TextThatIsNoneNamesNoLimit) {
  Write("/memory.max", "x");
  EXPECT_EQ(ControlGroupMemory("", mount_), UINT64_MAX);
  EXPECT_EQ(ControlGroupMemory("0\n0:\n0::/\n", mount_), UINT64_MAX);
}

TEST_F(MachineMemoryTest, ItIsNeverMoreThanTheMachineHas) {
  EXPECT_GT(MachineMemory(), 0);
  EXPECT_LE(MachineMemory(), static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                                 static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
}

}  // namespace
}  // namespace holdfast
