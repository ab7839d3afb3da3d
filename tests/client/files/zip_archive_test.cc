// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <zlib.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/files/zip_directory.h"
#include "client/files/zip_reader.h"
#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

std::string Number(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xff);
  }
  return bytes;
}

std::string Deflate(const std::string& text) {
  std::string bytes(compressBound(text.size()), '\0');
  uLongf size = bytes.size();
  EXPECT_EQ(compress(reinterpret_cast<Bytef*>(bytes.data()), &size,
                     reinterpret_cast<const Bytef*>(text.data()), text.size()),
            Z_OK);
  // Without zlib's header and checksum.
  return bytes.substr(2, size - 6);
}

// An entry as it is written; every number may be another than it should be.
struct Part {
  std::string name;
  std::string bytes;
  uint64_t size = 0;
  uint64_t stored_size = 0;
  uint32_t crc = 0;
  uint16_t method = 0;
  uint16_t flags = 0;
  bool is64 = false;
  // In the directory alone.
  std::string listed_name;
  uint64_t listed_size = 0;
  int64_t shift = 0;
  std::string more_extra;
};

Part Entry(const std::string& name, const std::string& text, bool deflated) {
  Part part;
  part.name = part.listed_name = name;
  part.bytes = deflated ? Deflate(text) : text;
  part.size = part.listed_size = text.size();
  part.stored_size = part.bytes.size();
  part.method = deflated ? 8 : 0;
  part.crc = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
  return part;
}

std::string Sizes(const Part& part, uint64_t size) {
  if (part.is64) return Number(~0ull, 4) + Number(~0ull, 4);
  return Number(part.stored_size, 4) + Number(size, 4);
}

std::string Extra(const Part& part, uint64_t size) {
  if (!part.is64) return "";
  return Number(1, 2) + Number(16, 2) + Number(size, 8) +
         Number(part.stored_size, 8);
}

struct Layout {
  bool end64 = false;
  uint64_t more_entries = 0;
  int64_t directory_shift = 0;
  std::string comment;
};

std::string Archive(const std::vector<Part>& parts, const Layout& layout = {}) {
  std::string file, directory;
  for (const Part& part : parts) {
    const std::string extra = Extra(part, part.listed_size) + part.more_extra;
    directory += absl::StrCat(
        "PK\x01\x02", Number(45, 4), Number(part.flags, 2),
        Number(part.method, 2), Number(0, 4), Number(part.crc, 4),
        Sizes(part, part.listed_size), Number(part.listed_name.size(), 2),
        Number(extra.size(), 2), Number(0, 2), Number(0, 8),
        Number(file.size() + part.shift, 4), part.listed_name, extra);
    const std::string own = Extra(part, part.size);
    file +=
        absl::StrCat("PK\x03\x04", Number(45, 2), Number(part.flags, 2),
                     Number(part.method, 2), Number(0, 4), Number(part.crc, 4),
                     Sizes(part, part.size), Number(part.name.size(), 2),
                     Number(own.size(), 2), part.name, own, part.bytes);
  }
  const uint64_t at = file.size() + layout.directory_shift;
  const uint64_t count = parts.size() + layout.more_entries;
  file += directory;
  if (layout.end64) {
    const uint64_t end = file.size();
    file += absl::StrCat("PK\x06\x06", Number(44, 8), Number(45, 4),
                         Number(0, 8), Number(count, 8), Number(count, 8),
                         Number(directory.size(), 8), Number(at, 8));
    file +=
        absl::StrCat("PK\x06\x07", Number(0, 4), Number(end, 8), Number(1, 4));
  }
  return absl::StrCat(file, "PK\x05\x06", Number(0, 4), Number(count, 2),
                      Number(count, 2), Number(directory.size(), 4),
                      Number(at, 4), Number(layout.comment.size(), 2),
                      layout.comment);
}

UniqueFd FileOf(const std::string& bytes) {
  UniqueFd fd(memfd_create("zip", MFD_CLOEXEC));
  EXPECT_EQ(write(fd.get(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  return fd;
}

// Reads all of an entry, some bytes at a time.
absl::StatusOr<std::string> ReadAll(int fd, const ZipEntry& entry) {
  ZipReader reader(fd, entry);
  std::string text, piece;
  while (text.size() < entry.size) {
    piece.resize(std::min<uint64_t>(1000, entry.size - text.size()));
    const absl::Status status = reader.Read(piece.data(), piece.size());
    if (!status.ok()) return status;
    text += piece;
  }
  const absl::Status status = reader.Finish();
  if (!status.ok()) return status;
  return text;
}

void ExpectRefused(const std::string& bytes, const std::string& says) {
  const UniqueFd fd = FileOf(bytes);
  const auto entries = ReadZipDirectory(fd.get());
  ASSERT_FALSE(entries.ok()) << says;
  EXPECT_TRUE(absl::StrContains(entries.status().message(), says))
      << entries.status();
}

// The directory is right, the contents are not.
void ExpectDamaged(const Part& part, const std::string& says) {
  const UniqueFd fd = FileOf(Archive({part}));
  const auto entries = ReadZipDirectory(fd.get());
  ASSERT_TRUE(entries.ok()) << entries.status();
  const auto text = ReadAll(fd.get(), entries->at(0));
  ASSERT_FALSE(text.ok()) << says;
  EXPECT_TRUE(absl::IsDataLoss(text.status())) << text.status();
  EXPECT_TRUE(absl::StrContains(text.status().message(), says))
      << text.status();
}

std::string Numbers(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) absl::StrAppend(&text, i, " ");
  return text;
}

TEST(ZipArchiveTest, StoredAndDeflatedEntriesAreRead) {
  const std::string texts[] = {Numbers(300'000), "", Numbers(7)};
  for (const bool is64 : {false, true}) {
    for (const bool end64 : {false, true}) {
      std::vector<Part> parts;
      for (const std::string& text : texts) {
        for (const bool deflated : {false, true}) {
          parts.push_back(
              Entry(absl::StrCat(parts.size(), ".npy"), text, deflated));
          parts.back().is64 = is64;
        }
      }
      const UniqueFd fd = FileOf(
          Archive(parts, {.end64 = end64, .comment = "PK\x05\x06 no end"}));
      const auto entries = ReadZipDirectory(fd.get());
      ASSERT_TRUE(entries.ok()) << entries.status();
      ASSERT_EQ(entries->size(), 6u);
      for (size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(entries->at(i).name, absl::StrCat(i, ".npy"));
        const auto text = ReadAll(fd.get(), entries->at(i));
        ASSERT_TRUE(text.ok()) << text.status();
        EXPECT_EQ(*text, texts[i / 2]);
      }
    }
  }
}

TEST(ZipArchiveTest, AnArchiveMayBeEmpty) {
  const UniqueFd fd = FileOf(Archive({}));
  EXPECT_TRUE(ReadZipDirectory(fd.get())->empty());
}

TEST(ZipArchiveTest, ASizeBehindTheEntryIsTheDirectorys) {
  Part part = Entry("a.npy", Numbers(9), true);
  part.flags = 1 << 3;
  part.size = 0;
  const UniqueFd fd = FileOf(Archive({part}));
  const auto entries = ReadZipDirectory(fd.get());
  ASSERT_TRUE(entries.ok()) << entries.status();
  EXPECT_EQ(ReadAll(fd.get(), entries->at(0)).value(), Numbers(9));
}

TEST(ZipArchiveTest, EndsThatLieAreRefused) {
  const std::vector<Part> one = {Entry("a.npy", "text", false)};
  ExpectRefused("", "too short");
  ExpectRefused(std::string(100, 'x'), "no end record");
  ExpectRefused(Archive(one).substr(1), "has to end at byte");
  ExpectRefused(Archive(one) + "x", "no end record");
  ExpectRefused(Archive(one, {.directory_shift = 4}), "has to end at byte");
  ExpectRefused(Archive(one, {.more_entries = 1}), "1 entries, its end tells");
  ExpectRefused(Archive(one, {.more_entries = 65534}), "tells of 65535");
  ExpectRefused(Archive(one, {.end64 = true, .more_entries = 1'000'000}),
                "1000001 entries; limit: 100000");
  ExpectRefused(Archive(one, {.end64 = true, .directory_shift = -1}),
                "has to end at byte");
  std::string no64 = Archive(one, {.end64 = true});
  no64[no64.find("PK\x06\x06")] = 'x';
  ExpectRefused(no64, "no zip64 record at byte");
  std::string far = Archive(one, {.end64 = true});
  far[far.find("PK\x06\x07") + 15] = '\x7f';
  ExpectRefused(far, "zip64 record is to be at byte");
  std::string disks = Archive(one);
  disks[disks.size() - 18] = 1;
  ExpectRefused(disks, "several files");
}

TEST(ZipArchiveTest, EntriesThatLieAreRefusedByName) {
  const auto refuse = [](const std::function<void(Part&)>& change,
                         const std::string& says) {
    std::vector<Part> parts = {Entry("a.npy", "text", false),
                               Entry("b.npy", Numbers(99), true)};
    change(parts[1]);
    ExpectRefused(Archive(parts), absl::StrCat("entry \"", says));
  };
  refuse([](Part& b) { b.listed_name = "c.npy"; }, "c.npy\": its header at");
  refuse([](Part& b) { b.listed_size += 1; }, "b.npy\": its header at byte");
  refuse([](Part& b) { b.shift = 1; }, "b.npy\": its header at byte");
  refuse([](Part& b) { b.shift = 1 << 30; }, "b.npy\": at byte 1073741");
  refuse([](Part& b) { b.stored_size += 999; }, "b.npy\": at byte 39 with");
  refuse([](Part& b) { b.is64 = true, b.stored_size = ~0ull; },
         "b.npy\": at byte 39 with 18446744073709551615");
  refuse([](Part& b) { b.name = b.listed_name = "\x1b\xff"; },
         "\\x1b\\xff\": its name is not UTF-8");
  refuse([](Part& b) { b.flags = 1; }, "b.npy\": flags 0x1: encrypted");
  refuse([](Part& b) { b.method = 12; }, "b.npy\": compressed by method 12");
  refuse([](Part& b) { b.method = 0; }, "b.npy\": 287 bytes cannot be of");
  refuse([](Part& b) { b.is64 = true, b.size = b.listed_size = 1ull << 40; },
         "b.npy\": 1099511627776 bytes cannot be of");
  refuse([](Part& b) { b.more_extra = Number(1, 2) + Number(99, 2); },
         "b.npy\": its extra fields");
}

TEST(ZipArchiveTest, EntriesThatOverlapAreRefused) {
  // Both entries of the directory are of the one header.
  const std::string text = Archive({Entry("a.npy", "text", false)});
  const size_t directory = text.find("PK\x01\x02");
  const size_t end = text.find("PK\x05\x06");
  const std::string entry = text.substr(directory, end - directory);
  std::string twice = text.substr(0, end) + entry + text.substr(end);
  twice[twice.size() - 14] = twice[twice.size() - 12] = 2;
  twice[twice.size() - 10] = static_cast<char>(2 * entry.size());
  ExpectRefused(twice, "the entry before it ends at 39");
}

TEST(ZipArchiveTest, ContentsThatLieAreDataLoss) {
  const std::string text = Numbers(99);
  Part part = Entry("a.npy", text, true);
  part.crc ^= 1;
  ExpectDamaged(part, "checksum");
  part = Entry("a.npy", text, false);
  part.crc ^= 1;
  ExpectDamaged(part, "checksum");
  part = Entry("a.npy", text, true);
  part.size = part.listed_size = text.size() + 1;
  ExpectDamaged(part, "fewer bytes than its 288");
  part.size = part.listed_size = text.size() - 1;
  ExpectDamaged(part, "more bytes than its 286");
  part.size = part.listed_size = 0;
  ExpectDamaged(part, "more bytes than its 0");
  part = Entry("a.npy", text, true);
  part.bytes += "x";
  part.stored_size += 1;
  ExpectDamaged(part, "something follows");
  part = Entry("a.npy", text, true);
  part.bytes.resize(part.stored_size = part.bytes.size() / 2);
  ExpectDamaged(part, "cut short");
  part = Entry("a.npy", text, true);
  part.bytes[0] = '\x07';
  ExpectDamaged(part, "damaged: invalid block type");
}

// Every archive that is changed at random is refused, or its entries are read
// to their ends without a byte more than they tell.
TEST(ZipArchiveTest, DamagedArchivesAreReadOrRefused) {
  std::vector<Part> parts = {Entry("a.npy", Numbers(40), false),
                             Entry("b.npy", Numbers(99), true)};
  parts[0].is64 = true;
  const std::string good = Archive(parts, {.end64 = true});
  std::mt19937 random(7);
  int taken = 0, refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = good;
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    const UniqueFd fd = FileOf(bytes);
    const auto entries = ReadZipDirectory(fd.get());
    refused += entries.ok() ? 0 : 1;
    if (!entries.ok()) continue;
    for (const ZipEntry& entry : *entries) {
      ASSERT_LE(entry.size, 1032 * bytes.size() + 1032);
      const auto text = ReadAll(fd.get(), entry);
      taken += text.ok() ? 1 : 0;
      EXPECT_TRUE(text.ok() || absl::IsDataLoss(text.status()));
    }
  }
  EXPECT_GT(taken, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace holdfast
