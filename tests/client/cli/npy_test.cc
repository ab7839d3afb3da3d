// SPDX-License-Identifier: Apache-2.0
#include "client/cli/npy.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace holdfast::cli {
namespace {

std::string File(const std::string& header, const std::string& data,
                 char major = 1) {
  std::string file =
      absl::StrCat("\x93NUMPY", std::string(1, major), std::string(1, '\0'));
  const size_t width = major == 1 ? 2 : 4;
  for (size_t i = 0; i < width; ++i) {
    file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  return file + header + data;
}

std::string Header(const std::string& descr, const std::string& order,
                   const std::string& shape) {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", order,
                      ", 'shape': ", shape, ", }\n");
}

void ExpectRefused(const std::string& file, const std::string& text) {
  const auto array = ParseNpy(file);
  ASSERT_FALSE(array.ok()) << text;
  EXPECT_TRUE(absl::IsInvalidArgument(array.status())) << array.status();
  EXPECT_TRUE(absl::StrContains(array.status().message(), text))
      << array.status();
}

TEST(NpyTest, WhatIsWrittenIsRead) {
  for (const std::vector<uint64_t>& shape :
       {std::vector<uint64_t>{}, {3}, {2, 3}, {0}, {1, 2, 3, 4}}) {
    Array array{ElementType::kF64, shape, ""};
    array.bytes.assign(*ByteSize(array.type, shape), 'x');
    const auto read = ParseNpy(SerializeNpy(array));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->type, array.type);
    EXPECT_EQ(read->shape, shape);
    EXPECT_EQ(read->bytes, array.bytes);
  }
}

TEST(NpyTest, WritesTheHeaderThatNumPyWrites) {
  const Array array{ElementType::kF32, {3}, std::string(12, '\0')};
  const std::string file = SerializeNpy(array);
  EXPECT_EQ(file.size(), 128u + 12u);
  EXPECT_EQ(file.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(file.substr(10, 58),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } ");
  EXPECT_EQ(file[127], '\n');
}

TEST(NpyTest, ReadsEveryVersion) {
  const std::string header = Header("<i2", "False", "(2,)");
  for (const char version : {1, 2, 3}) {
    const auto array = ParseNpy(File(header, "abcd", version));
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(array->type, ElementType::kI16);
    EXPECT_EQ(array->bytes, "abcd");
  }
  ExpectRefused(File(header, "abcd", 4), "version 4");
}

TEST(NpyTest, KeysMayStandInAnyOrder) {
  const auto array = ParseNpy(
      File("{\"shape\": (2,1), 'descr': '|u1', 'fortran_order': False}", "ab"));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->shape, (std::vector<uint64_t>{2, 1}));
}

TEST(NpyTest, RefusesWhatItDoesNotSupport) {
  ExpectRefused(File(Header("<f4", "True", "(2, 2)"), std::string(16, 'x')),
                "Fortran order");
  ExpectRefused(File(Header(">f4", "False", "(1,)"), "abcd"), "big-endian");
  ExpectRefused(File(Header("|O", "False", "(1,)"), "abcd"), "Python objects");
  ExpectRefused(File(Header("<U1", "False", "(1,)"), "abcd"), "strings");
  ExpectRefused(File(Header("<M8[s]", "False", "(1,)"), "abcdefgh"),
                "not supported");
  ExpectRefused(File("{'descr': [('a', '<f4')], 'fortran_order': False, "
                     "'shape': (1,)}",
                     "abcd"),
                "structured");
}

TEST(NpyTest, RefusesWhatIsMalformed) {
  ExpectRefused("", "wrong magic");
  ExpectRefused("PK\x03\x04 a zip file", "wrong magic");
  ExpectRefused("\x93NUMPY", "truncated");
  ExpectRefused(std::string("\x93NUMPY\x01\x00\x40", 9), "truncated");
  ExpectRefused(std::string("\x93NUMPY\x01\x00\xff\xff{}", 12), "65545");
  ExpectRefused(File("{}", ""), "lacks");
  ExpectRefused(File("", ""), "dictionary");
  ExpectRefused(File("{'descr': '<f4'", ""), "entries");
  ExpectRefused(File("{'descr': '<f4", ""), "does not end");
  ExpectRefused(File("{'what': 1}", ""), "unknown key");
  ExpectRefused(File(Header("<f4", "Maybe", "(1,)"), "abcd"), "fortran_order");
  ExpectRefused(File(Header("<f4", "False", "(-1,)"), "abcd"), "no number");
  ExpectRefused(File(Header("<f4", "False", "1"), "abcd"), "tuple");
}

TEST(NpyTest, DataMustHaveTheSizeOfTheShape) {
  ExpectRefused(File(Header("<f4", "False", "(2,)"), "abcd"),
                "4 bytes of data, f32[2] has 8");
  ExpectRefused(File(Header("<f4", "False", "(1,)"), "abcdefgh"),
                "8 bytes of data");
}

TEST(NpyTest, ShapeThatOverflowsIsRefused) {
  ExpectRefused(File(Header("<f8", "False", "(4611686018427387904, 4)"), ""),
                "64 bits");
  // The product wraps to 0 bytes, which is what the file has.
  ExpectRefused(File(Header("<f8", "False", "(4294967296, 536870912)"), ""),
                "64 bits");
  ExpectRefused(File(Header("<f8", "False", "(99999999999999999999,)"), ""),
                "no number");
}

// Mutated files are read or refused; a crash or an out-of-bounds read (under
// AddressSanitizer) fails the test, and so does an array of the wrong size.
TEST(NpyTest, MutatedFilesAreReadOrRefused) {
  const std::string valid =
      File(Header("<f4", "False", "(2, 3)"), std::string(24, 'x'));
  std::mt19937 random(7);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string file = valid;
    for (unsigned edits = random() % 4 + 1; edits > 0; --edits) {
      const size_t at = random() % file.size();
      switch (random() % 4) {
        case 0:
          file[at] = static_cast<char>(random());
          break;
        case 1:
          file.erase(at, random() % 8);
          break;
        case 2:
          file.insert(at, valid.substr(random() % valid.size(), random() % 8));
          break;
        case 3:
          file.resize(at + 1);
          break;
      }
      if (file.empty()) file = "x";
    }
    const auto array = ParseNpy(file);
    if (!array.ok()) {
      ++refused;
      continue;
    }
    ++accepted;
    EXPECT_EQ(array->bytes.size(), *ByteSize(array->type, array->shape));
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace holdfast::cli
