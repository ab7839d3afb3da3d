// SPDX-License-Identifier: Apache-2.0
#include "core/base/populate.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/memfd.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

TEST(PopulateTest, EveryPageIsThereAndBytesAreAsTheyWere) {
  constexpr size_t kSize = (size_t{17} << 20) + 8192;
  ASSERT_OK_AND_ASSIGN(const UniqueFd fd, CreateMemfd("test", kSize));
  ASSERT_OK_AND_ASSIGN(
      const FileMapping mapping,
      FileMapping::Map(fd.get(), FileMapping::Access::kReadWrite));
  char* const bytes = static_cast<char*>(mapping.data());
  std::memcpy(bytes + 5'000'000, "kept", 4);
  Populate(bytes, kSize);
  std::vector<unsigned char> resident(
      kSize / static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  ASSERT_EQ(mincore(bytes, kSize, resident.data()), 0);
  EXPECT_TRUE(std::all_of(resident.begin(), resident.end(),
                          [](unsigned char page) { return page & 1; }));
  EXPECT_EQ(std::memcmp(bytes + 5'000'000, "kept", 4), 0);
  EXPECT_EQ(std::count(bytes, bytes + kSize, '\0'), kSize - 4);
}

TEST(PopulateTest, NothingIsNoProblem) { Populate(nullptr, 0); }

}  // namespace
}  // namespace holdfast
