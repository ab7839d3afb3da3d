// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/archive.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/core/software/driver/containers.h"

namespace holdfast::cuda {
namespace {

using software::Archive;
using software::ArMember;
using software::HostObject;

TEST(ArchiveTest, MembersHaveTheirNamesAndBytes) {
  // The table of symbols, that of long names, a short name, a long one, and a
  // name in front of the contents.
  const std::string archive =
      std::string("!<arch>\n") + ArMember("/", "symbols") +
      ArMember("//", "a_name_of_more_than_16_bytes.o/\n") +
      ArMember("short.o/", "odd") + ArMember("/0", "even") +
      ArMember("#1/8", std::string("front.o\0contents", 16));
  std::vector<ArchiveMember> members;
  ASSERT_TRUE(ReadArchive(archive, &members));
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[0].name, "short.o");
  EXPECT_EQ(members[0].bytes, "odd");
  EXPECT_EQ(members[1].name, "a_name_of_more_than_16_bytes.o");
  EXPECT_EQ(members[1].bytes, "even");
  EXPECT_EQ(members[2].name, "front.o");
  EXPECT_EQ(members[2].bytes, "contents");
}

TEST(ArchiveTest, DamagedAndThinArchivesAreRefused) {
  std::vector<ArchiveMember> members;
  const std::string archive = Archive({{"x.o", "contents"}});
  for (size_t size = 9; size < archive.size(); ++size) {
    EXPECT_FALSE(ReadArchive(archive.substr(0, size), &members)) << size;
  }
  const std::string thin = "!<thin>\n" + ArMember("x.o/", "");
  EXPECT_TRUE(IsArchive(thin));
  EXPECT_FALSE(ReadArchive(thin, &members));
  EXPECT_FALSE(
      ReadArchive("!<arch>\n" + ArMember("/7", "no such name"), &members));
  EXPECT_FALSE(ReadArchive("!<arch>\n" + ArMember("#1/99", "short"), &members));
}

TEST(ArchiveTest, SectionsOfAHostObjectHoldFatBinaries) {
  const std::string object = HostObject("__nv_relfatbin", "fat binaries");
  EXPECT_TRUE(IsHostObject(object));
  const auto sections = FatbinSections(object);
  ASSERT_EQ(sections.size(), 1u);
  EXPECT_EQ(sections[0], "fat binaries");
  EXPECT_TRUE(FatbinSections(HostObject(".rodata", "text")).empty());
}

TEST(ArchiveTest, ADamagedObjectHasNoSections) {
  const std::string object = HostObject(".nv_fatbin", "fat binaries");
  for (size_t size = 0; size < object.size(); ++size) {
    EXPECT_TRUE(FatbinSections(object.substr(0, size)).empty()) << size;
  }
}

}  // namespace
}  // namespace holdfast::cuda
