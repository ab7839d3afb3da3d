// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/variable_names.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace holdfast::cuda {
namespace {

// Copies a structure out of the image; nullopt: it does not lie in it.
template <typename T>
std::optional<T> ReadAt(absl::string_view image, uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) {
    return std::nullopt;
  }
  T value;
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

absl::string_view TextAt(absl::string_view image, uint64_t offset) {
  if (offset >= image.size()) return "";
  const absl::string_view rest = image.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

// The section headers of an ELF image.
class Sections {
 public:
  explicit Sections(absl::string_view image)
      : image_(image), header_(ReadAt<Elf64_Ehdr>(image, 0)) {}

  uint32_t size() const { return header_.has_value() ? header_->e_shnum : 0; }
  std::optional<Elf64_Shdr> Get(uint32_t index) const {
    if (index >= size()) return std::nullopt;
    return ReadAt<Elf64_Shdr>(
        image_, header_->e_shoff + uint64_t{index} * sizeof(Elf64_Shdr));
  }
  absl::string_view NameOf(uint32_t index) const {
    const auto section = Get(index);
    const auto names = Get(header_->e_shstrndx);
    if (!section.has_value() || !names.has_value()) return "";
    return TextAt(image_, names->sh_offset + section->sh_name);
  }

 private:
  const absl::string_view image_;
  const std::optional<Elf64_Ehdr> header_;
};

bool HoldsVariables(absl::string_view section) {
  // Bank 3 is what programs declare; the others are the compiler's.
  return absl::StartsWith(section, ".nv.global") ||
         absl::StartsWith(section, ".nv.constant3");
}

std::vector<std::string> NamesInCubin(absl::string_view image) {
  std::vector<std::string> names;
  const Sections sections(image);
  for (uint32_t i = 0; i < sections.size(); ++i) {
    const auto table = sections.Get(i);
    if (!table.has_value() || table->sh_type != SHT_SYMTAB) continue;
    const auto strings = sections.Get(table->sh_link);
    if (!strings.has_value()) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size;
         at += sizeof(Elf64_Sym)) {
      const auto symbol = ReadAt<Elf64_Sym>(image, table->sh_offset + at);
      if (!symbol.has_value()) break;
      if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT) continue;
      if (!HoldsVariables(sections.NameOf(symbol->st_shndx))) continue;
      const absl::string_view name =
          TextAt(image, strings->sh_offset + symbol->st_name);
      if (!name.empty()) names.emplace_back(name);
    }
  }
  return names;
}

// PTX without its comments.
std::string WithoutComments(absl::string_view ptx) {
  std::string text;
  text.reserve(ptx.size());
  for (size_t i = 0; i < ptx.size();) {
    if (absl::StartsWith(ptx.substr(i), "//")) {
      i = std::min(ptx.find('\n', i), ptx.size());
    } else if (absl::StartsWith(ptx.substr(i), "/*")) {
      const size_t end = ptx.find("*/", i + 2);
      i = end == absl::string_view::npos ? ptx.size() : end + 2;
    } else {
      text.push_back(ptx[i++]);
    }
  }
  return text;
}

// ".visible .global .align 4 .b8 table[16] = ": table.
std::string NameInDeclaration(absl::string_view declaration) {
  declaration = declaration.substr(0, declaration.find('='));
  declaration = declaration.substr(0, declaration.find('['));
  bool is_variable = false;
  absl::string_view last;
  for (const absl::string_view word : absl::StrSplit(
           declaration, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty())) {
    if (word == ".extern" || word == ".texref" || word == ".samplerref" ||
        word == ".surfref" || word == ".func" || word == ".entry") {
      return "";
    }
    if (word == ".global" || word == ".const") is_variable = true;
    last = word;
  }
  return is_variable && !absl::StartsWith(last, ".") ? std::string(last) : "";
}

// Declarations end with a semicolon outside all braces. A function's body, and
// the values of a variable, are in braces.
std::vector<std::string> NamesInPtx(absl::string_view ptx) {
  const std::string text = WithoutComments(ptx);
  std::vector<std::string> names;
  std::string declaration;
  int depth = 0;
  for (const char c : text) {
    if (c == '{') {
      ++depth;
    } else if (c == '}') {
      depth = std::max(depth - 1, 0);
      // The end of a function, which no semicolon follows.
      if (depth == 0 && !absl::StrContains(declaration, "=")) {
        declaration.clear();
      }
    } else if (depth == 0 && c == ';') {
      std::string name = NameInDeclaration(declaration);
      if (!name.empty()) names.push_back(std::move(name));
      declaration.clear();
    } else if (depth == 0) {
      declaration.push_back(c);
    }
  }
  return names;
}

bool IsPtx(absl::string_view image) {
  return absl::StrContains(image.substr(0, 4096), ".version");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> VariableNames(
    absl::string_view image) {
  if (absl::StartsWith(image, absl::string_view(ELFMAG, SELFMAG))) {
    return NamesInCubin(image);
  }
  if (IsPtx(image)) return NamesInPtx(image);
  return absl::UnimplementedError(
      "the variables of an image that is neither PTX nor a cubin");
}

}  // namespace holdfast::cuda
