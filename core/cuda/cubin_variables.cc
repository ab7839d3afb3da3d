// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/cubin_variables.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

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
  // Returns the beginning of the name, which tells what the section holds: many
  // sections may share one long name.
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

}  // namespace

std::vector<std::string> NamesInCubin(absl::string_view cubin) {
  return CubinNames(cubin).Find();
}

uint64_t VariableBytesInCubin(absl::string_view cubin) {
  const Sections sections(cubin);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < sections.size(); ++i) {
    const auto section = sections.Get(i);
    if (section.has_value() && HoldsVariables(sections.NameOf(i))) {
      if (__builtin_add_overflow(bytes, section->sh_size, &bytes)) {
        return UINT64_MAX;
      }
    }
  }
  return bytes;
}

}  // namespace holdfast::cuda
