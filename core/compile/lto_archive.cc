// SPDX-License-Identifier: Apache-2.0
#include "core/compile/lto_archive.h"

#include <ar.h>

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace holdfast::compile {
namespace {

constexpr absl::string_view kMagic(ARMAG, SARMAG);
constexpr absl::string_view kHeaderEnd(ARFMAG, sizeof(ar_hdr::ar_fmag));

absl::Status Malformed(absl::string_view name, absl::string_view how) {
  return absl::InvalidArgumentError(absl::StrCat(
      "link input \"", name, "\" is an archive of LTO IR that ", how));
}

// Takes the first member off `rest`.
absl::StatusOr<absl::string_view> NextMember(absl::string_view name,
                                             absl::string_view* rest) {
  ar_hdr header;
  if (rest->size() < sizeof header) return Malformed(name, "is truncated");
  std::memcpy(&header, rest->data(), sizeof header);
  rest->remove_prefix(sizeof header);
  const absl::string_view digits = absl::StripAsciiWhitespace(
      absl::string_view(header.ar_size, sizeof header.ar_size));
  uint64_t size = 0;
  if (absl::string_view(header.ar_fmag, sizeof header.ar_fmag) != kHeaderEnd ||
      !absl::SimpleAtoi(digits, &size)) {
    return Malformed(name, "has no member where one must be");
  }
  if (size > rest->size()) return Malformed(name, "is truncated");
  const absl::string_view member = rest->substr(0, size);
  rest->remove_prefix(size);
  if (size % 2 == 1) absl::ConsumePrefix(rest, "\n");
  if (absl::StartsWith(member, kMagic)) {
    return Malformed(name, "has an archive in it");
  }
  return member;
}

}  // namespace

std::string MakeLtoArchive(absl::Span<const LinkInput> pieces) {
  if (pieces.size() == 1) return std::string(pieces[0].bytes);
  std::string archive(kMagic);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const absl::string_view bytes = pieces[i].bytes;
    // Name, time, user, group, mode, size.
    absl::StrAppendFormat(&archive, "%-16s%-12d%-6d%-6d%-8s%-10d%s",
                          absl::StrCat(i, ".ltoir/"), 0, 0, 0, "644",
                          bytes.size(), kHeaderEnd);
    absl::StrAppend(&archive, bytes, bytes.size() % 2 == 1 ? "\n" : "");
  }
  return archive;
}

absl::StatusOr<std::vector<LinkInput>> WithLtoPieces(
    absl::Span<const LinkInput> inputs) {
  std::vector<LinkInput> pieces;
  for (const LinkInput& input : inputs) {
    absl::string_view rest = input.bytes;
    if (input.format != ObjectFormat::kLtoir ||
        !absl::ConsumePrefix(&rest, kMagic)) {
      pieces.push_back(input);
      continue;
    }
    if (rest.empty()) return Malformed(input.name, "has no member");
    for (size_t i = 0; !rest.empty(); ++i) {
      LinkInput piece = {absl::StrCat(input.name, "(", i, ")"), input.format};
      HOLDFAST_ASSIGN_OR_RETURN(piece.bytes, NextMember(input.name, &rest));
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

}  // namespace holdfast::compile
