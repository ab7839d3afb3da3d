// SPDX-License-Identifier: Apache-2.0
#include "client/cli/npy.h"

#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/cli/file.h"
#include "core/base/error_detail.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMaxDimensions = 64;  // NumPy's own limit

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("not a valid .npy: ", what));
}

// The header's dictionary.
struct Dictionary {
  std::set<std::string> keys;  // that were there
  std::string type;
  bool fortran_order = false;
  std::vector<uint64_t> shape;
};

// Reads the header, a Python literal such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  explicit HeaderParser(absl::string_view text) : rest_(text) {}

  absl::StatusOr<Dictionary> Parse() {
    if (!Take("{")) return Bad("the header is no dictionary");
    Dictionary header;
    while (!Take("}")) {
      HOLDFAST_RETURN_IF_ERROR(ParseEntry(&header));
      if (!Take(",") && !At("}")) return Bad("the header's entries");
    }
    Skip();
    if (!rest_.empty()) return Bad("something follows the header");
    if (header.keys.size() != 3) {
      return Bad("the header lacks descr, fortran_order or shape");
    }
    return header;
  }

 private:
  void Skip() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  bool At(absl::string_view token) {
    Skip();
    return absl::StartsWith(rest_, token);
  }
  bool Take(absl::string_view token) {
    Skip();
    return absl::ConsumePrefix(&rest_, token);
  }

  absl::Status ParseEntry(Dictionary* header) {
    HOLDFAST_ASSIGN_OR_RETURN(const std::string key, ParseString());
    if (!Take(":")) return Bad("no colon after a key of the header");
    header->keys.insert(key);
    if (key == "descr") return ParseType(header);
    if (key == "fortran_order") return ParseOrder(header);
    if (key == "shape") return ParseShape(header);
    return Bad(
        absl::StrCat("unknown key '", ToPrintable(key), "' in the header"));
  }

  absl::StatusOr<std::string> ParseString() {
    Skip();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) {
      return Bad("a string is wanted in the header");
    }
    const size_t end = rest_.find(rest_[0], 1);
    if (end == absl::string_view::npos) return Bad("a string does not end");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  absl::Status ParseType(Dictionary* header) {
    if (At("[")) {
      return absl::InvalidArgumentError(
          "the dtype is a structure: structured arrays are not supported");
    }
    HOLDFAST_ASSIGN_OR_RETURN(header->type, ParseString());
    return absl::OkStatus();
  }

  absl::Status ParseOrder(Dictionary* header) {
    if (Take("True")) {
      header->fortran_order = true;
    } else if (Take("False")) {
      header->fortran_order = false;
    } else {
      return Bad("fortran_order is neither True nor False");
    }
    return absl::OkStatus();
  }

  absl::Status ParseShape(Dictionary* header) {
    if (!Take("(")) return Bad("the shape is no tuple");
    std::vector<uint64_t> shape;
    while (!Take(")")) {
      Skip();
      size_t digits = 0;
      while (digits < rest_.size() && absl::ascii_isdigit(rest_[digits])) {
        ++digits;
      }
      uint64_t extent = 0;
      if (!absl::SimpleAtoi(rest_.substr(0, digits), &extent)) {
        return Bad("an extent of the shape is no number");
      }
      rest_.remove_prefix(digits);
      shape.push_back(extent);
      if (shape.size() > kMaxDimensions) return Bad("too many dimensions");
      if (!Take(",") && !At(")")) return Bad("the shape is no tuple");
    }
    header->shape = std::move(shape);
    return absl::OkStatus();
  }

  absl::string_view rest_;
};

}  // namespace

absl::StatusOr<uint64_t> ByteSize(ElementType type,
                                  const std::vector<uint64_t>& shape) {
  uint64_t size = Size(type);
  for (const uint64_t extent : shape) {
    if (__builtin_mul_overflow(size, extent, &size)) {
      return absl::InvalidArgumentError(absl::StrCat(
          Describe(type, shape), " has more bytes than 64 bits can count"));
    }
  }
  return size;
}

std::string Describe(ElementType type, const std::vector<uint64_t>& shape) {
  return absl::StrCat(Name(type), "[", absl::StrJoin(shape, ","), "]");
}

absl::StatusOr<uint64_t> NpyDataOffset(absl::string_view preamble) {
  absl::string_view rest = preamble;
  if (!absl::ConsumePrefix(&rest, kMagic)) return Bad("wrong magic");
  if (rest.size() < 2) return Bad("truncated before the version");
  const int major = static_cast<unsigned char>(rest[0]);
  if (major < 1 || major > 3) {
    return Bad(absl::StrCat("version ", major, ", known are 1 to 3"));
  }
  rest.remove_prefix(2);
  const size_t width = major == 1 ? 2 : 4;
  if (rest.size() < width) return Bad("truncated before the header's length");
  uint64_t length = 0;
  for (size_t i = 0; i < width; ++i) {
    length |= uint64_t{static_cast<unsigned char>(rest[i])} << (8 * i);
  }
  if (length > kMaxNpyHeader) {
    return Bad(
        absl::StrCat("a header of ", length, " bytes; limit: ", kMaxNpyHeader));
  }
  return kMagic.size() + 2 + width + length;
}

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view beginning) {
  NpyHeader header;
  HOLDFAST_ASSIGN_OR_RETURN(header.data_offset, NpyDataOffset(beginning));
  if (header.data_offset > beginning.size()) {
    return Bad(absl::StrCat("the header ends at byte ", header.data_offset,
                            ", the file at ", beginning.size()));
  }
  const size_t width = beginning[kMagic.size()] == 1 ? 2 : 4;
  const size_t text = kMagic.size() + 2 + width;
  HOLDFAST_ASSIGN_OR_RETURN(
      Dictionary dictionary,
      HeaderParser(beginning.substr(text, header.data_offset - text)).Parse());
  HOLDFAST_ASSIGN_OR_RETURN(header.type,
                            ParseNumpyDescription(dictionary.type));
  header.fortran_order = dictionary.fortran_order;
  header.shape = std::move(dictionary.shape);
  HOLDFAST_ASSIGN_OR_RETURN(header.data_size,
                            ByteSize(header.type, header.shape));
  return header;
}

absl::StatusOr<Array> ParseNpy(absl::string_view file) {
  HOLDFAST_ASSIGN_OR_RETURN(NpyHeader header, ParseNpyHeader(file));
  if (header.fortran_order) {
    return absl::InvalidArgumentError(
        "the array is in Fortran order; save numpy.ascontiguousarray of it");
  }
  const absl::string_view data = file.substr(header.data_offset);
  if (data.size() != header.data_size) {
    return Bad(absl::StrCat("there are ", data.size(), " bytes of data, ",
                            Describe(header.type, header.shape), " has ",
                            header.data_size));
  }
  return Array{header.type, std::move(header.shape), std::string(data)};
}

std::string SerializeNpy(const Array& array) {
  // (3,) is Python's tuple of one.
  std::string header = absl::StrCat("{'descr': '", NumpyDescription(array.type),
                                    "', 'fortran_order': False, 'shape': (",
                                    absl::StrJoin(array.shape, ", "),
                                    array.shape.size() == 1 ? ",), }" : "), }");
  // Data begins at a multiple of 64 bytes, as NumPy aligns it.
  const size_t before = kMagic.size() + 4 + header.size() + 1;
  header.append((64 - before % 64) % 64, ' ').push_back('\n');
  std::string file(kMagic);
  file += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
           static_cast<char>(header.size() >> 8)};
  return absl::StrCat(file, header, array.bytes);
}

absl::StatusOr<Array> ReadNpy(const std::string& path) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
  absl::StatusOr<Array> array = ParseNpy(file);
  if (!array.ok()) return WithPrefix(path, array.status());
  return array;
}

absl::Status WriteNpy(const std::string& path, const Array& array) {
  return WriteFile(path, SerializeNpy(array));
}

}  // namespace holdfast::cli
