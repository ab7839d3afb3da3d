// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/archive.h"

#include <ar.h>
#include <elf.h>

#include <cstdint>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace holdfast::cuda {
namespace {

constexpr absl::string_view kArchive(ARMAG, SARMAG);
constexpr absl::string_view kHeaderEnd(ARFMAG, sizeof(ar_hdr::ar_fmag));
constexpr absl::string_view kLongName = "#1/";

template <size_t kSize>
absl::string_view Field(const char (&field)[kSize]) {
  return absl::StripTrailingAsciiWhitespace(absl::string_view(field, kSize));
}

// Takes the first member off `rest`, with the name as its header has it.
bool NextMember(absl::string_view* rest, ArchiveMember* member) {
  ar_hdr header;
  if (rest->size() < sizeof(header)) return false;
  memcpy(&header, rest->data(), sizeof(header));
  rest->remove_prefix(sizeof(header));
  uint64_t size = 0;
  if (absl::string_view(header.ar_fmag, sizeof(header.ar_fmag)) != kHeaderEnd ||
      !absl::SimpleAtoi(Field(header.ar_size), &size) || size > rest->size()) {
    return false;
  }
  member->name = std::string(Field(header.ar_name));
  member->bytes = rest->substr(0, size);
  rest->remove_prefix(size);
  if (size % 2 == 1) absl::ConsumePrefix(rest, "\n");
  return true;
}

// Replaces a name that refers to the table of long names ("/12", GNU), or to
// the beginning of the contents ("#1/12", BSD).
bool ResolveName(absl::string_view long_names, ArchiveMember* member) {
  absl::string_view name = member->name;
  uint64_t number = 0;
  if (absl::ConsumePrefix(&name, kLongName)) {
    if (!absl::SimpleAtoi(name, &number) || number > member->bytes.size()) {
      return false;
    }
    name = member->bytes.substr(0, number);
    member->name = std::string(name.substr(0, name.find('\0')));
    member->bytes.remove_prefix(number);
    return true;
  }
  if (absl::ConsumePrefix(&name, "/")) {
    if (!absl::SimpleAtoi(name, &number) || number > long_names.size()) {
      return false;
    }
    name = long_names.substr(number);
    name = name.substr(0, name.find('\n'));
  }
  member->name = std::string(absl::StripSuffix(name, "/"));
  return true;
}

bool IsSymbolTable(absl::string_view name) {
  return name == "/" || name == "/SYM64/" ||
         absl::StartsWith(name, "__.SYMDEF");
}

bool ReadHeader(absl::string_view bytes, Elf64_Ehdr* header) {
  if (bytes.size() < sizeof(*header)) return false;
  memcpy(header, bytes.data(), sizeof(*header));
  return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
         header->e_ident[EI_CLASS] == ELFCLASS64;
}

// Reads section `index`; false if it goes beyond the file.
bool ReadSection(absl::string_view bytes, const Elf64_Ehdr& header,
                 uint32_t index, Elf64_Shdr* section,
                 absl::string_view* content) {
  const uint64_t offset = uint64_t{index} * sizeof(*section);
  if (header.e_shentsize != sizeof(*section) || header.e_shoff > bytes.size() ||
      offset + sizeof(*section) > bytes.size() - header.e_shoff) {
    return false;
  }
  memcpy(section, bytes.data() + header.e_shoff + offset, sizeof(*section));
  *content = {};
  if (section->sh_type == SHT_NOBITS) return true;
  if (section->sh_offset > bytes.size() ||
      section->sh_size > bytes.size() - section->sh_offset) {
    return false;
  }
  *content = bytes.substr(section->sh_offset, section->sh_size);
  return true;
}

bool HoldsFatbins(absl::string_view section) {
  return section == ".nv_fatbin" || section == "__nv_relfatbin";
}

}  // namespace

bool IsArchive(absl::string_view bytes) {
  return absl::StartsWith(bytes, kArchive) ||
         absl::StartsWith(bytes, "!<thin>\n");
}

bool ReadArchive(absl::string_view bytes, std::vector<ArchiveMember>* members) {
  if (!absl::ConsumePrefix(&bytes, kArchive)) return false;
  absl::string_view long_names;
  while (!bytes.empty()) {
    ArchiveMember member;
    if (!NextMember(&bytes, &member)) return false;
    if (member.name == "//") {
      long_names = member.bytes;
    } else if (!IsSymbolTable(member.name)) {
      if (!ResolveName(long_names, &member)) return false;
      members->push_back(member);
    }
  }
  return true;
}

bool IsHostObject(absl::string_view bytes) {
  Elf64_Ehdr header;
  return ReadHeader(bytes, &header) && header.e_machine != EM_CUDA;
}

std::vector<absl::string_view> FatbinSections(absl::string_view object) {
  std::vector<absl::string_view> found;
  Elf64_Ehdr header;
  Elf64_Shdr section;
  absl::string_view names, content;
  if (!ReadHeader(object, &header) ||
      !ReadSection(object, header, header.e_shstrndx, &section, &names)) {
    return found;
  }
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    if (!ReadSection(object, header, i, &section, &content)) return {};
    if (section.sh_name >= names.size()) continue;
    const absl::string_view name = names.substr(section.sh_name);
    if (HoldsFatbins(name.substr(0, name.find('\0')))) found.push_back(content);
  }
  return found;
}

}  // namespace holdfast::cuda
