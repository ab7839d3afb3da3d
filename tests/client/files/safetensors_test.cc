// SPDX-License-Identifier: Apache-2.0
#include "client/files/safetensors.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/collection_commands.pb.h"

namespace holdfast {
namespace {

constexpr char kTwo[] =
    R"({"__metadata__":{"format":"pt"},)"
    R"("b":{"dtype":"I64","shape":[],"data_offsets":[24,32]},)"
    R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";

struct Refusal {
  const char* name;
  std::string json;
  uint64_t data_size;
  const char* says;
};

std::string One(const std::string& fields) {
  return absl::StrCat(R"({"a":{)", fields, "}}");
}

std::string F32(const std::string& shape, uint64_t begin, uint64_t end) {
  return absl::StrCat(R"("dtype":"F32","shape":[)", shape,
                      R"(],"data_offsets":[)", begin, ",", end, "]");
}

TEST(SafetensorsTest, ArraysComeInTheOrderOfTheirBytes) {
  const auto header = ParseSafetensorsHeader(kTwo, 32);
  ASSERT_TRUE(header.ok()) << header.status();
  ASSERT_EQ(header->arrays.size(), 2u);
  EXPECT_EQ(header->arrays[0].name, "a");
  EXPECT_EQ(header->arrays[0].shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(header->arrays[1].offset, 24u);
  EXPECT_EQ(header->arrays[1].size, 8u);
  EXPECT_EQ(header->metadata.at("format"), "pt");
}

TEST(SafetensorsTest, EmptyArraysTakeNoPlace) {
  const auto header = ParseSafetensorsHeader(
      absl::StrCat(R"({"full":{)", F32("1", 0, 4), R"(},"empty":{)",
                   F32("0,7", 0, 0), R"(},"last":{)", F32("0", 4, 4), "}}"),
      4);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->arrays.front().name, "empty");
  EXPECT_EQ(header->arrays.back().name, "last");
}

// Of more arrays than a collection can have, the rest is not read.
TEST(SafetensorsTest, TooManyArraysAreRefusedWhereTheyAreTooMany) {
  std::string json = "{";
  for (size_t i = 0; i <= kMaxStoredArrays; ++i) {
    absl::StrAppend(&json, "\"", i, "\":{", F32("0", 0, 0), "},");
  }
  const auto header = ParseSafetensorsHeader(json + "no JSON", 0);
  EXPECT_TRUE(absl::IsOutOfRange(header.status())) << header.status();
  EXPECT_TRUE(absl::StrContains(header.status().message(),
                                absl::StrCat("more than ", kMaxStoredArrays)))
      << header.status();
}

// The limit is one of a collection's description.
TEST(SafetensorsTest, NoArrayHasASmallerDescriptionThanTheSmallest) {
  v1::CommitCollection contents;
  v1::ArrayDescription& scalar = *contents.add_arrays();
  scalar.set_name("a");
  scalar.set_dtype("U8");
  scalar.set_size(1);
  EXPECT_EQ(contents.ByteSizeLong(), kMinArrayDescription);
  scalar.clear_size();
  scalar.add_shape(0);
  EXPECT_GE(contents.ByteSizeLong(), kMinArrayDescription);
}

TEST(SafetensorsTest, HeadersThatLieAreRefusedByName) {
  const Refusal refusals[] = {
      {"beyond the end", One(F32("2", 0, 8)), 4, "\"a\" ends at byte 8"},
      {"end before begin", One(F32("1", 8, 4)), 8, "a beginning and an end"},
      {"one offset", One(R"("dtype":"F32","shape":[1],"data_offsets":[0])"), 4,
       "a beginning and an end"},
      {"size unlike shape", One(F32("3", 0, 8)), 8, "has 12 bytes"},
      {"shape that overflows", One(F32("4294967296,4294967296", 0, 0)), 0,
       "more bits than 64 bits can count"},
      {"unknown dtype", One(R"("dtype":"F7","shape":[1],"data_offsets":[0,4])"),
       4, "unknown dtype"},
      {"half a byte", One(R"("dtype":"F4","shape":[1],"data_offsets":[0,0])"),
       0, "whole bytes"},
      {"overlap",
       absl::StrCat(R"({"a":{)", F32("2", 0, 8), R"(},"b":{)", F32("2", 4, 12),
                    "}}"),
       12, "\"b\" begins at byte 4"},
      {"gap",
       absl::StrCat(R"({"a":{)", F32("1", 0, 4), R"(},"b":{)", F32("1", 8, 12),
                    "}}"),
       12, "\"b\" begins at byte 8"},
      {"rest", One(F32("1", 0, 4)), 8, "end at byte 4"},
      {"name twice",
       absl::StrCat(R"({"a":{)", F32("1", 0, 4), R"(},"a":{)", F32("1", 0, 4),
                    "}}"),
       4, "twice"},
      {"field twice", One(F32("1", 0, 4) + "," + F32("1", 0, 4)), 4, "twice"},
      {"field missing", One(R"("dtype":"F32","shape":[1])"), 4, "all needed"},
      {"unknown field", One(F32("1", 0, 4) + R"(,"extra":1)"), 4,
       "unknown field"},
      {"negative", One(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4,
       "a negative number"},
      {"fraction", One(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,4])"),
       4, "not whole"},
      {"nested list", One(R"("dtype":"F32","shape":[[1]],"data_offsets":[0])"),
       4, "a list"},
      {"metadata that is no text", R"({"__metadata__":{"a":1}})", 0,
       "a number"},
      {"no object", "[]", 0, "a list"},
      {"no JSON", "{\"a\":", 0, "not JSON"},
      {"empty", "", 0, "not JSON"},
      {"text behind", "{} x", 0, "not JSON"},
  };
  for (const Refusal& refusal : refusals) {
    const auto header = ParseSafetensorsHeader(refusal.json, refusal.data_size);
    ASSERT_FALSE(header.ok()) << refusal.name;
    EXPECT_TRUE(absl::StrContains(header.status().message(), refusal.says))
        << refusal.name << ": " << header.status();
  }
}

TEST(SafetensorsTest, DepthCostsNothing) {
  std::string deep;
  deep.resize(50'000'000, '[');
  EXPECT_FALSE(ParseSafetensorsHeader(deep, 0).ok());
  EXPECT_FALSE(ParseSafetensorsHeader("{\"a\":" + deep, 0).ok());
}

TEST(SafetensorsTest, TooManyDimensionsAreRefused) {
  std::string shape = "1";
  for (int i = 0; i < 32; ++i) shape += ",1";
  const auto header = ParseSafetensorsHeader(One(F32(shape, 0, 4)), 4);
  EXPECT_EQ(header.status().code(), absl::StatusCode::kOutOfRange);
}

UniqueFd FileOf(const std::string& bytes) {
  UniqueFd fd(memfd_create("safetensors", MFD_CLOEXEC));
  EXPECT_EQ(write(fd.get(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  return fd;
}

TEST(SafetensorsTest, FilesThatAreMadeAreRead) {
  std::vector<StoredArray> arrays = {{"z \"quoted\" \xc3\xa9", "BF16", {3, 5}},
                                     {"empty", "U8", {0}},
                                     {"scalar", "F64", {}}};
  const auto begin = MakeSafetensorsHeader(arrays, {{"key", "value"}});
  ASSERT_TRUE(begin.ok()) << begin.status();
  EXPECT_EQ(begin->size() % 8, 0u);
  const UniqueFd fd = FileOf(*begin + std::string(38, 'x'));
  const auto file = ReadSafetensors(fd.get());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->data_offset, begin->size());
  EXPECT_EQ(file->header.metadata.at("key"), "value");
  ASSERT_EQ(file->header.arrays.size(), 3u);
  EXPECT_EQ(file->header.arrays[0].name, arrays[0].name);
  EXPECT_EQ(file->header.arrays[2].offset, 30u);
}

TEST(SafetensorsTest, NamesThatCannotBeWrittenAreRefused) {
  std::vector<StoredArray> no_text = {{"\xff", "U8", {0}}};
  EXPECT_FALSE(MakeSafetensorsHeader(no_text, {}).ok());
  std::vector<StoredArray> twice = {{"a", "U8", {0}}, {"a", "U8", {0}}};
  EXPECT_FALSE(MakeSafetensorsHeader(twice, {}).ok());
  std::vector<StoredArray> reserved = {{"__metadata__", "U8", {0}}};
  EXPECT_FALSE(MakeSafetensorsHeader(reserved, {}).ok());
}

TEST(SafetensorsTest, ATypeThatTheFormatDoesNotHaveIsNotWritten) {
  std::vector<StoredArray> arrays = {{"wave", "C128", {2}}};
  const auto header = MakeSafetensorsHeader(arrays, {});
  EXPECT_TRUE(absl::StrContains(header.status().message(),
                                "\"wave\": the safetensors format has no"))
      << header.status();
}

TEST(SafetensorsTest, LengthsThatLieAreRefused) {
  for (const uint64_t length : {uint64_t{9}, uint64_t{1} << 40, ~uint64_t{0}}) {
    std::string bytes(16, '{');
    std::memcpy(bytes.data(), &length, 8);
    const UniqueFd fd = FileOf(bytes);
    EXPECT_EQ(ReadSafetensors(fd.get()).status().code(),
              absl::StatusCode::kOutOfRange);
  }
  const UniqueFd shorter = FileOf("seven b");
  EXPECT_FALSE(ReadSafetensors(shorter.get()).ok());
}

// Every header that is changed at random is refused, or describes arrays that
// fill the data.
TEST(SafetensorsTest, DamagedHeadersNeverReachBeyondTheData) {
  std::mt19937 random(7);
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string json = kTwo;
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n) {
      const char byte = "0123456789,:[]{}\"aF-. "[random() % 23];
      json[random() % json.size()] = byte;
    }
    const auto header = ParseSafetensorsHeader(json, 32);
    if (!header.ok()) continue;
    ++taken;
    uint64_t end = 0;
    for (const StoredArray& array : header->arrays) {
      ASSERT_EQ(array.offset, end) << json;
      end += array.size;
    }
    ASSERT_EQ(end, 32u) << json;
  }
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace holdfast
