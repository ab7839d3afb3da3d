// SPDX-License-Identifier: Apache-2.0
#include "client/files/zip_directory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/files/read_range.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "core/base/utf8.h"

namespace holdfast {
namespace {

// Signatures: "PK", and two bytes that tell what begins.
constexpr uint64_t kLocalHeader = 0x04034b50;
constexpr uint64_t kDirectoryHeader = 0x02014b50;
constexpr uint64_t kEnd = 0x06054b50;
constexpr uint64_t kEnd64 = 0x06064b50;
constexpr uint64_t kEnd64Locator = 0x07064b50;

// Bytes of the parts with fields at fixed places.
constexpr size_t kLocalHeaderSize = 30;
constexpr size_t kDirectoryHeaderSize = 46;
constexpr size_t kEndSize = 22;
constexpr size_t kEnd64Size = 56;
constexpr size_t kEnd64LocatorSize = 20;
constexpr size_t kMaxComment = 0xffff;

constexpr uint64_t kIn64 = 0xffffffff;  // The value is in the zip64 field.
constexpr uint16_t kField64 = 0x0001;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
// Deflate's settings, sizes behind the entry, and names in UTF-8.
constexpr uint16_t kSizesBehind = 1 << 3;
constexpr uint16_t kKnownFlags = 1 << 1 | 1 << 2 | kSizesBehind | 1 << 11;
// Deflate makes no more than this of a byte: 258 bytes of two bits.
constexpr uint64_t kMaxExpansion = 1032;

absl::Status Bad(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("not a ZIP archive: ", why));
}

// Takes little-endian numbers from the beginning of bytes.
class Fields {
 public:
  explicit Fields(absl::string_view bytes) : rest_(bytes) {}

  size_t left() const { return rest_.size(); }
  // REQUIRES: so many bytes are left.
  absl::string_view Bytes(size_t size) {
    const absl::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  uint64_t Number(size_t size) {
    uint64_t number = 0;
    const absl::string_view bytes = Bytes(size);
    for (size_t i = 0; i < bytes.size(); ++i) {
      number |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return number;
  }
  uint16_t Number16() { return static_cast<uint16_t>(Number(2)); }
  uint64_t Number32() { return Number(4); }
  uint64_t Number64() { return Number(8); }

 private:
  absl::string_view rest_;
};

absl::StatusOr<std::string> Read(int fd, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  HOLDFAST_RETURN_IF_ERROR(ReadRange(fd, bytes.data(), size, offset));
  return bytes;
}

// The directory's place, as the end of the file tells it.
struct Directory {
  uint64_t entries = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
  // Where the records begin that tell this.
  uint64_t end = 0;
};

absl::Status CheckOneDisk(uint64_t disk, uint64_t first, uint64_t here,
                          uint64_t entries) {
  if (disk == 0 && first == 0 && here == entries) return absl::OkStatus();
  return Bad("it is one of several files");
}

// Reads the zip64 record that the locator in front of the end points at.
absl::StatusOr<Directory> ReadEnd64(int fd, absl::string_view locator,
                                    uint64_t locator_offset) {
  Fields fields(locator);
  fields.Bytes(8);  // The signature and the disk.
  const uint64_t offset = fields.Number64();
  if (locator_offset < kEnd64Size || offset > locator_offset - kEnd64Size) {
    return Bad(absl::StrCat("its zip64 record is to be at byte ", offset));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string record,
                            Read(fd, offset, kEnd64Size));
  Fields in(record);
  if (in.Number32() != kEnd64 ||
      in.Number64() != locator_offset - offset - 12) {
    return Bad(absl::StrCat("no zip64 record at byte ", offset));
  }
  in.Bytes(4);  // Versions.
  const uint64_t disk = in.Number32();
  const uint64_t first = in.Number32();
  const uint64_t here = in.Number64();
  Directory directory;
  directory.entries = in.Number64();
  directory.size = in.Number64();
  directory.offset = in.Number64();
  directory.end = offset;
  HOLDFAST_RETURN_IF_ERROR(CheckOneDisk(disk, first, here, directory.entries));
  return directory;
}

// `record` is the end record, at this place of the file.
absl::StatusOr<Directory> ReadEnd(int fd, absl::string_view record,
                                  uint64_t offset) {
  if (offset >= kEnd64LocatorSize) {
    const uint64_t before = offset - kEnd64LocatorSize;
    HOLDFAST_ASSIGN_OR_RETURN(const std::string locator,
                              Read(fd, before, kEnd64LocatorSize));
    if (Fields(locator).Number32() == kEnd64Locator) {
      return ReadEnd64(fd, locator, before);
    }
  }
  Fields fields(record);
  fields.Bytes(4);  // The signature.
  const uint64_t disk = fields.Number16();
  const uint64_t first = fields.Number16();
  const uint64_t here = fields.Number16();
  Directory directory;
  directory.entries = fields.Number16();
  directory.size = fields.Number32();
  directory.offset = fields.Number32();
  directory.end = offset;
  HOLDFAST_RETURN_IF_ERROR(CheckOneDisk(disk, first, here, directory.entries));
  return directory;
}

// The end record is the last one whose comment ends with the file.
absl::StatusOr<Directory> FindDirectory(int fd) {
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t file_size, FileSize(fd));
  if (file_size < kEndSize) return Bad("too short");
  const uint64_t size = std::min<uint64_t>(file_size, kEndSize + kMaxComment);
  HOLDFAST_ASSIGN_OR_RETURN(const std::string tail,
                            Read(fd, file_size - size, size));
  for (size_t comment = 0; comment <= size - kEndSize; ++comment) {
    const absl::string_view record =
        absl::string_view(tail).substr(size - kEndSize - comment);
    if (Fields(record).Number32() != kEnd) continue;
    if (Fields(record.substr(kEndSize - 2)).Number16() != comment) continue;
    return ReadEnd(fd, record, file_size - kEndSize - comment);
  }
  return Bad("it has no end record");
}

absl::Status CheckDirectory(const Directory& directory) {
  if (directory.entries > kMaxZipEntries) {
    return absl::OutOfRangeError(
        absl::StrCat(directory.entries, " entries; limit: ", kMaxZipEntries));
  }
  if (directory.size > kMaxZipDirectory) {
    return absl::OutOfRangeError(
        absl::StrCat("a directory of ", directory.size,
                     " bytes; limit: ", kMaxZipDirectory));
  }
  if (directory.size > directory.end ||
      directory.offset != directory.end - directory.size) {
    return absl::OutOfRangeError(absl::StrCat(
        "a directory of ", directory.size, " bytes at byte ", directory.offset,
        ", which has to end at byte ", directory.end));
  }
  return absl::OkStatus();
}

// The fields that the directory and an entry's own header both have.
struct Header {
  uint16_t flags = 0;
  uint16_t method = 0;
  uint64_t stored_size = 0;
  uint64_t size = 0;
  uint64_t header_offset = 0;
  uint32_t crc32 = 0;
};

// Takes the values that did not fit into 32 bits, in the format's order.
// False: the field is not well formed.
bool TakeField64(Fields field, Header* header, bool in_directory) {
  const auto take = [&field](uint64_t* value) {
    if (*value != kIn64) return true;
    if (field.left() < 8) return false;
    *value = field.Number64();
    return true;
  };
  return take(&header->size) && take(&header->stored_size) &&
         (!in_directory || take(&header->header_offset));
}

bool TakeExtraFields(absl::string_view extra, Header* header,
                     bool in_directory) {
  Fields fields(extra);
  while (fields.left() > 0) {
    if (fields.left() < 4) return false;
    const uint16_t kind = fields.Number16();
    const size_t size = fields.Number16();
    if (size > fields.left()) return false;
    const absl::string_view field = fields.Bytes(size);
    if (kind != kField64) continue;
    if (!TakeField64(Fields(field), header, in_directory)) return false;
  }
  return true;
}

absl::Status InEntry(absl::string_view name, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("entry \"", ToPrintable(name),
                                                  "\": ", status.message()));
}

absl::Status CheckEntry(const ZipEntry& entry, const Header& header) {
  if (!IsValidUtf8(entry.name)) {
    return absl::InvalidArgumentError("its name is not UTF-8");
  }
  if ((header.flags & ~kKnownFlags) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("flags 0x", absl::Hex(header.flags),
                     ": encrypted and patched entries are not supported"));
  }
  if (header.method != kStored && header.method != kDeflated) {
    return absl::InvalidArgumentError(absl::StrCat(
        "compressed by method ", header.method, "; 0 and 8 are supported"));
  }
  const bool possible = entry.deflated
                            ? entry.size / kMaxExpansion <= entry.stored_size
                            : entry.size == entry.stored_size;
  if (possible) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(entry.size, " bytes cannot be of the ", entry.stored_size,
                   " in the file, ", entry.deflated ? "deflated" : "stored"));
}

// Takes an entry of the directory from `fields`.
absl::StatusOr<ZipEntry> TakeEntry(Fields* fields) {
  if (fields->left() < kDirectoryHeaderSize ||
      fields->Number32() != kDirectoryHeader) {
    return Bad("an entry is missing");
  }
  Header header;
  fields->Bytes(4);  // Versions.
  header.flags = fields->Number16();
  header.method = fields->Number16();
  fields->Bytes(4);  // Time and date.
  header.crc32 = static_cast<uint32_t>(fields->Number32());
  header.stored_size = fields->Number32();
  header.size = fields->Number32();
  const size_t name = fields->Number16();
  const size_t extra = fields->Number16();
  const size_t comment = fields->Number16();
  fields->Bytes(8);  // The disk and attributes.
  header.header_offset = fields->Number32();
  if (fields->left() < name + extra + comment) return Bad("an entry is cut");
  ZipEntry entry;
  entry.name = std::string(fields->Bytes(name));
  if (!TakeExtraFields(fields->Bytes(extra), &header, true)) {
    return InEntry(entry.name, absl::InvalidArgumentError(
                                   "its extra fields are not well formed"));
  }
  fields->Bytes(comment);
  entry.deflated = header.method == kDeflated;
  entry.header_offset = header.header_offset;
  entry.stored_size = header.stored_size;
  entry.size = header.size;
  entry.crc32 = header.crc32;
  const absl::Status status = CheckEntry(entry, header);
  if (!status.ok()) return InEntry(entry.name, status);
  return entry;
}

bool Agrees(const ZipEntry& entry, const Header& local) {
  if ((local.method == kDeflated) != entry.deflated) return false;
  if ((local.flags & kSizesBehind) != 0) return true;
  return local.size == entry.size && local.stored_size == entry.stored_size &&
         local.crc32 == entry.crc32;
}

// Reads the entry's own header, and with it where its bytes begin. They have to
// end before `end`.
absl::Status ReadLocalHeader(int fd, uint64_t end, ZipEntry* entry) {
  const auto beyond = [&] {
    return absl::OutOfRangeError(absl::StrCat(
        "at byte ", entry->header_offset, " with ", entry->stored_size,
        " bytes it reaches beyond byte ", end, ", where the directory begins"));
  };
  const auto differs = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("its header at byte ", entry->header_offset,
                     " and the directory do not agree"));
  };
  if (end < kLocalHeaderSize || entry->header_offset > end - kLocalHeaderSize) {
    return beyond();
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string fixed,
                            Read(fd, entry->header_offset, kLocalHeaderSize));
  Fields fields(fixed);
  if (fields.Number32() != kLocalHeader) return differs();
  Header local;
  fields.Bytes(2);  // Version.
  local.flags = fields.Number16();
  local.method = fields.Number16();
  fields.Bytes(4);  // Time and date.
  local.crc32 = static_cast<uint32_t>(fields.Number32());
  local.stored_size = fields.Number32();
  local.size = fields.Number32();
  const size_t name = fields.Number16();
  const size_t extra = fields.Number16();
  entry->offset = entry->header_offset + kLocalHeaderSize + name + extra;
  if (entry->offset > end || entry->stored_size > end - entry->offset) {
    return beyond();
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const std::string text,
      Read(fd, entry->header_offset + kLocalHeaderSize, name + extra));
  const absl::string_view rest = text;
  if (rest.substr(0, name) != entry->name ||
      !TakeExtraFields(rest.substr(name), &local, false) ||
      !Agrees(*entry, local)) {
    return differs();
  }
  return absl::OkStatus();
}

// Sorted by their places, each has to begin behind the one before it.
absl::Status CheckPlaces(const std::vector<ZipEntry>& entries) {
  uint64_t end = 0;
  for (const ZipEntry& entry : entries) {
    if (entry.header_offset < end) {
      return InEntry(entry.name, absl::OutOfRangeError(absl::StrCat(
                                     "it begins at byte ", entry.header_offset,
                                     ", the entry before it ends at ", end)));
    }
    end = entry.offset + entry.stored_size;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ZipEntry>> ReadZipDirectory(int fd) {
  HOLDFAST_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(fd));
  HOLDFAST_RETURN_IF_ERROR(CheckDirectory(directory));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string text,
                            Read(fd, directory.offset, directory.size));
  Fields fields(text);
  std::vector<ZipEntry> entries;
  while (fields.left() > 0) {
    HOLDFAST_ASSIGN_OR_RETURN(ZipEntry entry, TakeEntry(&fields));
    const absl::Status status = ReadLocalHeader(fd, directory.offset, &entry);
    if (!status.ok()) return InEntry(entry.name, status);
    entries.push_back(std::move(entry));
  }
  if (entries.size() != directory.entries) {
    return Bad(absl::StrCat("its directory has ", entries.size(),
                            " entries, its end tells of ", directory.entries));
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const ZipEntry& a, const ZipEntry& b) {
                     return a.header_offset < b.header_offset;
                   });
  HOLDFAST_RETURN_IF_ERROR(CheckPlaces(entries));
  return entries;
}

}  // namespace holdfast
