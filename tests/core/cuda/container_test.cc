// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/container.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace holdfast::cuda {
namespace {

void Append(uint64_t value, size_t bytes, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), bytes);
}

// An entry of 64 bytes and its content: kind 1 is PTX, 2 a cubin.
std::string Entry(uint16_t kind, const std::string& content, uint64_t flags = 0,
                  uint64_t size = 100) {
  std::string entry;
  Append(kind, 2, &entry);
  Append(0x101, 2, &entry);  // version
  Append(72, 4, &entry);     // of the header
  Append(content.size(), 8, &entry);
  Append(flags == 0 ? 0 : content.size(), 4, &entry);  // compressed size
  entry.append(8, '\0');                               // options, minor, major
  Append(90, 4, &entry);                               // architecture
  entry.append(8, '\0');                               // name
  Append(flags, 8, &entry);
  entry.append(8, '\0');                     // reserved
  Append(flags == 0 ? 0 : size, 8, &entry);  // uncompressed size
  entry.append(8, '\0');
  return entry + content;
}

std::string Fatbin(const std::string& entries) {
  std::string fatbin;
  Append(0xba55ed50, 4, &fatbin);
  Append(1, 2, &fatbin);
  Append(16, 2, &fatbin);
  Append(entries.size(), 8, &fatbin);
  return fatbin + entries;
}

using Parts = std::vector<std::string>;

Parts PartsOf(const std::string& fatbin) {
  Parts parts;
  EXPECT_EQ(
      VisitFatbinParts(
          fatbin, [&](absl::string_view part) { parts.emplace_back(part); }),
      FatbinState::kWhole);
  return parts;
}

TEST(FatbinPartsTest, AllPartsAreReadWithTheirZeros) {
  const std::string cubin(
      "\x7f"
      "ELF\0\1",
      6);
  EXPECT_EQ(PartsOf(Fatbin(Entry(2, cubin) + Entry(1, ".version 8.0"))),
            (Parts{cubin, ".version 8.0"}));
}

// Otherwise variables in them would not be charged.
TEST(FatbinPartsTest, DamagedPartsAreNotPassedOver) {
  constexpr uint64_t kZstd = 0x8000;
  int parts = 0;
  const auto visit = [&](const std::string& fatbin) {
    return VisitFatbinParts(fatbin, [&](absl::string_view) { ++parts; });
  };
  EXPECT_EQ(visit(Fatbin(Entry(1, "no frame", kZstd) + Entry(1, "a"))),
            FatbinState::kDamaged);
  const std::string whole = Fatbin(Entry(1, "a"));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(visit(whole.substr(0, size)), FatbinState::kDamaged) << size;
  }
  EXPECT_EQ(parts, 0);
}

// Otherwise large parts would hide another part.
TEST(FatbinPartsTest, PartsBeyondTheLimitsAreNotPassedOver) {
  constexpr uint64_t kLz4 = 0x2000;
  constexpr uint64_t kMost = uint64_t{256} << 20;
  const auto state = [](const std::string& entries) {
    return VisitFatbinParts(Fatbin(entries), [](absl::string_view) {});
  };
  const std::string large = Entry(1, "no frame", kLz4, kMost);
  EXPECT_EQ(state(large + Entry(1, "a")), FatbinState::kDamaged);
  EXPECT_EQ(state(Entry(1, "no frame", kLz4, kMost + 1)),
            FatbinState::kTooLarge);
  std::string many;
  for (int i = 0; i < 16; ++i) many += large;
  EXPECT_EQ(state(many), FatbinState::kDamaged);
  EXPECT_EQ(state(many + Entry(1, "a")), FatbinState::kTooLarge);
}

}  // namespace
}  // namespace holdfast::cuda
