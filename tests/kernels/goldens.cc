// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/goldens.h"

#include <cstdlib>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/sha256.h"
#include "gtest/gtest.h"

namespace holdfast::kernels {
namespace {

using Goldens = std::map<std::string, std::string>;

Goldens Read() {
  Goldens goldens;
  const char* path = getenv("HOLDFAST_KERNELS_GOLDENS");
  if (path == nullptr) return goldens;
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::string name;
  for (std::string hash; file >> name >> hash;) goldens[name] = hash;
  return goldens;
}

// "Suite.Test/0", "Suite.Test/1", ... in the order of the calls.
std::string NextName() {
  static std::map<std::string, int> counts;
  const testing::TestInfo& test =
      *testing::UnitTest::GetInstance()->current_test_info();
  const std::string name =
      absl::StrCat(test.test_suite_name(), ".", test.name());
  return absl::StrCat(name, "/", counts[name]++);
}

}  // namespace

void CheckGolden(const void* bytes, size_t size) {
  const std::string name = NextName();
  // Half of a SHA-256 is plenty against accidents.
  const std::string hash =
      ToHex(Sha256({static_cast<const char*>(bytes), size})).substr(0, 32);
  if (const char* record = getenv("HOLDFAST_KERNELS_RECORD")) {
    static auto& file = *new std::ofstream(record);
    file << name << " " << hash << std::endl;
    return;
  }
  static const auto& goldens = *new Goldens(Read());
  const auto golden = goldens.find(name);
  if (golden == goldens.end()) return;
  EXPECT_EQ(hash, golden->second) << name;
}

}  // namespace holdfast::kernels
