// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/image.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "tests/testing/status_matchers.h"

namespace holdfast::cuda {
namespace {

using holdfast::testing::StatusIs;

// An ELF header, one section header and eight bytes of section.
std::string SmallCubin() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = sizeof header;
  header.e_shnum = 1;
  header.e_shentsize = sizeof(Elf64_Shdr);
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = sizeof header + sizeof section;
  section.sh_size = 8;
  std::string image(reinterpret_cast<const char*>(&header), sizeof header);
  image.append(reinterpret_cast<const char*>(&section), sizeof section);
  return image + "01234567";
}

TEST(ImageTest, KnowsPtx) {
  EXPECT_EQ(*CheckImage(".version 8.0\n.target sm_90\n"), ImageFormat::kPtx);
  EXPECT_EQ(*CheckImage(std::string(".version 8.0\n\0", 14)),
            ImageFormat::kPtx);
}

TEST(ImageTest, KnowsCubins) {
  EXPECT_EQ(*CheckImage(SmallCubin()), ImageFormat::kCubin);
}

TEST(ImageTest, EveryTruncationOfACubinIsRefused) {
  const std::string image = SmallCubin();
  for (size_t size = 0; size < image.size(); ++size) {
    EXPECT_FALSE(CheckImage(image.substr(0, size)).ok()) << size;
  }
}

TEST(ImageTest, SizesThatOverflowAreRefused) {
  std::string image = SmallCubin();
  const uint64_t huge = ~uint64_t{0} - 7;
  std::memcpy(
      image.data() + sizeof(Elf64_Ehdr) + offsetof(Elf64_Shdr, sh_offset),
      &huge, sizeof huge);
  EXPECT_THAT(CheckImage(image),
              StatusIs(absl::StatusCode::kInvalidArgument, "truncated"));
}

TEST(ImageTest, FatbinsMustHaveWhatTheyAnnounce) {
  const uint32_t magic = 0xba55ed50;
  const uint16_t version_and_size[] = {1, 16};
  const uint64_t size = 8;
  std::string image(reinterpret_cast<const char*>(&magic), 4);
  image.append(reinterpret_cast<const char*>(version_and_size), 4);
  image.append(reinterpret_cast<const char*>(&size), 8);
  EXPECT_FALSE(CheckImage(image).ok());
  EXPECT_EQ(*CheckImage(image + "01234567"), ImageFormat::kFatbin);
}

TEST(ImageTest, KernelsThatMayPrintAreKnown) {
  EXPECT_FALSE(MayPrint(SmallCubin()));
  EXPECT_FALSE(MayPrint(".version 8.0\n.target sm_90\n"));
  EXPECT_TRUE(MayPrint(SmallCubin() + "vprintf"));
  EXPECT_TRUE(MayPrint(".version 8.0\n.extern .func (.param .b32 r) vprintf"));
  // Its parts may be compressed.
  const uint32_t fatbin[] = {0xba55ed50, 1 + (16 << 16), 8, 0, 0, 0};
  EXPECT_TRUE(MayPrint(
      absl::string_view(reinterpret_cast<const char*>(fatbin), sizeof fatbin)));
}

TEST(ImageTest, AnythingElseIsRefused) {
  EXPECT_THAT(CheckImage(""),
              StatusIs(absl::StatusCode::kInvalidArgument, "neither PTX"));
  EXPECT_FALSE(CheckImage("int main() {}").ok());
  EXPECT_FALSE(CheckImage(std::string(".version\0 8.0", 13)).ok());
}

}  // namespace
}  // namespace holdfast::cuda
