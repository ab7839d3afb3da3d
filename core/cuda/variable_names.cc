// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/variable_names.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace holdfast::cuda {
namespace {

constexpr absl::string_view kZero("\0", 1);

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

// Returns the text there, or its first `most` bytes.
absl::string_view TextAt(absl::string_view image, uint64_t offset,
                         size_t most) {
  if (offset >= image.size()) return "";
  const absl::string_view rest = image.substr(offset, most);
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
  // As much of it as tells what the section holds: many sections may share one
  // long name.
  absl::string_view NameOf(uint32_t index) const {
    constexpr size_t kMostBytes = 64;
    const auto section = Get(index);
    const auto names = Get(header_->e_shstrndx);
    if (!section.has_value() || !names.has_value()) return "";
    return TextAt(image_, names->sh_offset + section->sh_name, kMostBytes);
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

// Reads the symbols of variables. Images are hostile: symbols by the million
// may share one long name.
class CubinNames {
 public:
  explicit CubinNames(absl::string_view image)
      : image_(image), sections_(image), bytes_left_(image.size()) {}

  std::vector<std::string> Find() && {
    const auto table = FindTable();
    const auto strings =
        table.has_value() ? sections_.Get(table->sh_link) : std::nullopt;
    if (!strings.has_value()) return {};
    FindSectionsOfVariables();
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size;
         at += sizeof(Elf64_Sym)) {
      const auto symbol = ReadAt<Elf64_Sym>(image_, table->sh_offset + at);
      if (!symbol.has_value()) break;
      if (IsVariable(*symbol) && !Add(strings->sh_offset + symbol->st_name)) {
        break;
      }
    }
    return std::move(names_);
  }

 private:
  // An image has one at most.
  std::optional<Elf64_Shdr> FindTable() const {
    for (uint32_t i = 0; i < sections_.size(); ++i) {
      const auto section = sections_.Get(i);
      if (section.has_value() && section->sh_type == SHT_SYMTAB) return section;
    }
    return std::nullopt;
  }

  void FindSectionsOfVariables() {
    has_variables_.resize(sections_.size());
    for (uint32_t i = 0; i < sections_.size(); ++i) {
      has_variables_[i] = HoldsVariables(sections_.NameOf(i));
    }
  }

  bool IsVariable(const Elf64_Sym& symbol) const {
    return ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT &&
           symbol.st_shndx < has_variables_.size() &&
           has_variables_[symbol.st_shndx];
  }

  // Adds the name there. Returns false if all names together have more bytes
  // than the image, which is then none that a compiler has made.
  bool Add(uint64_t offset) {
    const absl::string_view name = TextAt(image_, offset, bytes_left_ + 1);
    if (name.size() > bytes_left_) return false;
    bytes_left_ -= name.size();
    if (!name.empty() && seen_.insert(name).second) names_.emplace_back(name);
    return true;
  }

  const absl::string_view image_;
  const Sections sections_;
  size_t bytes_left_;
  std::vector<bool> has_variables_;  // by section
  absl::flat_hash_set<absl::string_view> seen_;
  std::vector<std::string> names_;
};

// PTX without its comments and the contents of its strings, in which braces and
// semicolons mean nothing. A string ends with its line at the latest.
std::string WithoutComments(absl::string_view ptx) {
  std::string text;
  text.reserve(ptx.size());
  for (size_t i = 0; i < ptx.size();) {
    if (absl::StartsWith(ptx.substr(i), "//")) {
      i = std::min(ptx.find('\n', i), ptx.size());
    } else if (absl::StartsWith(ptx.substr(i), "/*")) {
      const size_t end = ptx.find("*/", i + 2);
      i = end == absl::string_view::npos ? ptx.size() : end + 2;
    } else if (ptx[i] == '"') {
      const size_t end = std::min(ptx.find_first_of("\"\n", i + 1), ptx.size());
      text.append(2, '"');
      i = std::min(end + (end < ptx.size() && ptx[end] == '"'), ptx.size());
    } else {
      const size_t next = std::min(ptx.find_first_of("/\"", i + 1), ptx.size());
      text.append(ptx.data() + i, next - i);
      i = next;
    }
  }
  return text;
}

// The parts between commas outside of parentheses.
std::vector<absl::string_view> Declarators(absl::string_view declaration) {
  std::vector<absl::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < declaration.size(); ++i) {
    const char c = declaration[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c != ',' || depth > 0) continue;
    parts.push_back(declaration.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(declaration.substr(begin));
  return parts;
}

// Words end at blanks, and before the dot of a directive.
std::vector<std::string> Words(absl::string_view declarator) {
  declarator = declarator.substr(0, declarator.find('='));
  declarator = declarator.substr(0, declarator.find('['));
  return absl::StrSplit(absl::StrReplaceAll(declarator, {{".", " ."}}),
                        absl::ByAnyChar(" \t\r\n\v\f"), absl::SkipEmpty());
}

// ".visible .global .align 4 .b8 table[16] = , other": table and other.
std::vector<std::string> NamesInDeclaration(absl::string_view declaration) {
  bool is_variable = false;
  std::vector<std::string> names;
  for (const absl::string_view declarator : Declarators(declaration)) {
    const std::vector<std::string> words = Words(declarator);
    for (const std::string& word : words) {
      if (word == ".extern" || word == ".texref" || word == ".samplerref" ||
          word == ".surfref" || word == ".func" || word == ".entry") {
        return {};
      }
      if (word == ".global" || word == ".const") is_variable = true;
    }
    if (!is_variable) return {};
    if (!words.empty() && !absl::StartsWith(words.back(), ".")) {
      names.push_back(words.back());
    }
  }
  return names;
}

// Declarations end with a semicolon outside all braces. A function's body, and
// the values of a variable, are in braces.
std::vector<std::string> NamesInPtx(absl::string_view ptx) {
  const std::string text = WithoutComments(ptx);
  std::vector<std::string> names;
  std::string declaration;
  bool assigned = false;  // the declaration has a value
  int depth = 0;
  const auto begin_next = [&] {
    declaration.clear();
    assigned = false;
  };
  for (const char c : text) {
    if (c == '{') {
      ++depth;
    } else if (c == '}') {
      depth = std::max(depth - 1, 0);
      // The end of a function, which no semicolon follows.
      if (depth == 0 && !assigned) begin_next();
    } else if (depth == 0 && c == ';') {
      for (std::string& name : NamesInDeclaration(declaration)) {
        names.push_back(std::move(name));
      }
      begin_next();
    } else if (depth == 0) {
      assigned = assigned || c == '=';
      declaration.push_back(c);
    }
  }
  return names;
}

// Other images are binary.
bool IsPtx(absl::string_view image) {
  while (absl::EndsWith(image, kZero)) image.remove_suffix(1);
  return !absl::StrContains(image, kZero) &&
         absl::StrContains(image, ".version");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> VariableNames(
    absl::string_view image) {
  if (absl::StartsWith(image, absl::string_view(ELFMAG, SELFMAG))) {
    return CubinNames(image).Find();
  }
  if (IsPtx(image)) return NamesInPtx(image);
  return absl::UnimplementedError(
      "the variables of an image that is neither PTX nor a cubin");
}

}  // namespace holdfast::cuda
