// SPDX-License-Identifier: Apache-2.0
#include "core/base/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

TEST(MemfdTest, WritesThroughOneMappingShowInAnother) {
  ASSERT_OK_AND_ASSIGN(const UniqueFd fd, CreateMemfd("test", 8192));
  ASSERT_OK_AND_ASSIGN(
      const FileMapping writer,
      FileMapping::Map(fd.get(), FileMapping::Access::kReadWrite));
  ASSERT_OK_AND_ASSIGN(
      const FileMapping reader,
      FileMapping::Map(fd.get(), FileMapping::Access::kReadOnly));
  ASSERT_EQ(writer.size(), 8192u);
  std::memcpy(writer.data(), "hello", 5);
  EXPECT_EQ(reader.bytes().substr(0, 5), "hello");
}

TEST(MemfdTest, AMappingMayBeOfTheFirstBytesAndStartsWhereHugePagesCould) {
  constexpr size_t kHuge = size_t{2} << 20;
  ASSERT_OK_AND_ASSIGN(const UniqueFd fd, CreateMemfd("test", 5 * kHuge));
  for (const size_t size : {kHuge, kHuge + 4096, 3 * kHuge}) {
    ASSERT_OK_AND_ASSIGN(
        const FileMapping mapping,
        FileMapping::Map(fd.get(), FileMapping::Access::kReadWrite, size));
    EXPECT_EQ(mapping.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(mapping.data()) % kHuge, 0u);
    std::memset(mapping.data(), 1, size);
  }
  EXPECT_FALSE(
      FileMapping::Map(fd.get(), FileMapping::Access::kReadWrite, SIZE_MAX)
          .ok());
}

TEST(MemfdTest, SealedBytesCannotBeChanged) {
  ASSERT_OK_AND_ASSIGN(const UniqueFd fd, CreateSealedMemfd("test", "bytes"));
  EXPECT_TRUE(IsSealed(fd.get()));
  EXPECT_EQ(pwrite(fd.get(), "x", 1, 0), -1);
  EXPECT_NE(ftruncate(fd.get(), 100), 0);
  EXPECT_FALSE(
      FileMapping::Map(fd.get(), FileMapping::Access::kReadWrite).ok());
  ASSERT_OK_AND_ASSIGN(
      const FileMapping reader,
      FileMapping::Map(fd.get(), FileMapping::Access::kReadOnly));
  EXPECT_EQ(reader.bytes(), "bytes");
}

TEST(MemfdTest, OtherDescriptorsAreNotSealed) {
  ASSERT_OK_AND_ASSIGN(const UniqueFd plain, CreateMemfd("test", 16));
  EXPECT_FALSE(IsSealed(plain.get()));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd in(ends[0]);
  const UniqueFd out(ends[1]);
  EXPECT_FALSE(IsSealed(in.get()));
  EXPECT_FALSE(IsSealed(-1));
  EXPECT_FALSE(FileMapping::Map(-1, FileMapping::Access::kReadOnly).ok());
}

TEST(UniqueFdTest, ClosesExactlyOnce) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd out(ends[1]);
  {
    UniqueFd first(ends[0]);
    UniqueFd second = std::move(first);
    EXPECT_FALSE(first.valid());
    EXPECT_NE(fcntl(ends[0], F_GETFD), -1);
  }
  EXPECT_EQ(fcntl(ends[0], F_GETFD), -1);
}

}  // namespace
}  // namespace holdfast
