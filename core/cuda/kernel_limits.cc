// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/kernel_limits.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace holdfast::cuda {
namespace {

constexpr uint32_t kMostRegisters = 255;
constexpr uint32_t kFewestRegisters = 24;
constexpr uint32_t kRegisterUnit = 8;
constexpr uint32_t kMostThreads = 1024;
constexpr uint64_t kWarp = 32;
// A multiprocessor has 64 warps, a quarter of them in each of its parts.
constexpr uint64_t kMostWarps = 64;
constexpr uint64_t kParts = 4;
constexpr uint64_t kRegistersOfPart = 16384;

uint64_t DivideUp(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

// A place in the text, and what stands there.
struct Word {
  size_t at = 0;
  absl::string_view text;
};

bool IsWordByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
         c == '_' || c == '$' || c == '%';
}

// Splits PTX into words and single characters, without comments and strings.
class Words {
 public:
  explicit Words(absl::string_view text) : text_(text) {}

  // The text is empty at the end.
  Word Next() {
    Skip();
    const size_t begin = at_;
    while (at_ < text_.size() && IsWordByte(text_[at_])) ++at_;
    if (at_ == begin && at_ < text_.size()) ++at_;
    return {begin, text_.substr(begin, at_ - begin)};
  }

 private:
  void SkipPast(absl::string_view end, size_t from) {
    const size_t found = text_.find(end, from);
    at_ = found == absl::string_view::npos ? text_.size() : found + end.size();
  }

  void Skip() {
    while (at_ < text_.size()) {
      const absl::string_view rest = text_.substr(at_);
      if (absl::StartsWith(rest, "//")) {
        SkipPast("\n", at_);
      } else if (absl::StartsWith(rest, "/*")) {
        SkipPast("*/", at_ + 2);
      } else if (rest[0] == '"') {
        SkipPast("\"", at_ + 1);
      } else if (rest[0] == '\0' ||
                 absl::ascii_isspace(static_cast<unsigned char>(rest[0]))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  const absl::string_view text_;
  size_t at_ = 0;
};

// A directive with its numbers, as a part of the text.
struct Directive {
  size_t begin = 0;
  size_t end = 0;
  bool given = false;
};

}  // namespace

// The directives of one kernel that limit it.
struct KernelLimits::Kernel {
  Directive registers;  // .maxnreg
  Directive threads;    // .maxntid
  Directive block;      // .reqntid
  Directive blocks;     // .minnctapersm
  size_t body = 0;      // the place of its first brace

  Directive* Find(absl::string_view word) {
    if (word == ".maxnreg") return &registers;
    if (word == ".maxntid") return &threads;
    if (word == ".reqntid") return &block;
    return word == ".minnctapersm" || word == ".maxnctapersm" ? &blocks
                                                              : nullptr;
  }

  // Reads what is behind the word ".entry". Returns false for a declaration.
  bool Read(Words* words) {
    Directive* open = nullptr;
    for (Word word = words->Next(); !word.text.empty(); word = words->Next()) {
      if (open != nullptr &&
          (word.text == "," || absl::ascii_isdigit(word.text[0]))) {
        open->end = word.at + word.text.size();
        continue;
      }
      body = word.at;
      if (word.text == "{") return true;
      if (word.text == ";") return false;
      open = Find(word.text);
      if (open != nullptr) *open = {word.at, word.at + word.text.size(), true};
    }
    return false;
  }
};

// The text with pieces left out and added.
class KernelLimits::Edits {
 public:
  explicit Edits(absl::string_view text) : text_(text) {}

  void Insert(size_t at, std::string added) {
    edits_.push_back({at, at, std::move(added)});
  }
  // Leaves blanks, so that columns stay the same. A directive over several
  // lines keeps them.
  void Remove(Directive* directive) {
    if (!directive->given) return;
    std::string blanks(
        text_.substr(directive->begin, directive->end - directive->begin));
    for (char& c : blanks) {
      if (c != '\n') c = ' ';
    }
    edits_.push_back({directive->begin, directive->end, std::move(blanks)});
    directive->given = false;
  }
  std::string Text() {
    std::stable_sort(
        edits_.begin(), edits_.end(),
        [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::string text;
    size_t copied = 0;
    for (const Edit& edit : edits_) {
      absl::StrAppend(&text, text_.substr(copied, edit.begin - copied),
                      edit.text);
      copied = edit.end;
    }
    absl::StrAppend(&text, text_.substr(copied));
    return text;
  }

 private:
  struct Edit {
    size_t begin;
    size_t end;
    std::string text;
  };
  const absl::string_view text_;
  std::vector<Edit> edits_;
};

// A program may write any numbers: no product of them is computed.
uint32_t RegistersThatFit(uint64_t threads, uint64_t blocks) {
  const uint64_t block =
      DivideUp(std::clamp<uint64_t>(threads, 1, kMostWarps * kWarp), kWarp);
  const bool fits = blocks > 0 && blocks <= kMostWarps / block;
  const uint64_t of_part = DivideUp(fits ? block * blocks : block, kParts);
  return AllowedRegisters(static_cast<uint32_t>(std::min<uint64_t>(
      kRegistersOfPart / (of_part * kWarp), kMostRegisters)));
}

uint32_t AllowedRegisters(uint32_t registers) {
  if (registers >= kMostRegisters) return kMostRegisters;
  return std::max(registers / kRegisterUnit * kRegisterUnit, kFewestRegisters);
}

CUresult KernelLimits::Read(CUjit_option option, void** value) {
  const auto number =
      static_cast<uint32_t>(reinterpret_cast<uintptr_t>(*value));
  switch (option) {
    case CU_JIT_MAX_REGISTERS:
      if (number == 0) return CUDA_ERROR_INVALID_VALUE;
      max_registers_ = number;
      return CUDA_SUCCESS;
    case CU_JIT_THREADS_PER_BLOCK:
      if (number == 0) return CUDA_ERROR_INVALID_VALUE;
      threads_per_block_ = static_cast<uint32_t>(
          std::min<uint64_t>(DivideUp(number, kWarp) * kWarp, kMostThreads));
      *value = reinterpret_cast<void*>(uintptr_t{threads_per_block_});
      return CUDA_SUCCESS;
    case CU_JIT_MAX_THREADS_PER_BLOCK:
      max_threads_ = number;
      return CUDA_SUCCESS;
    case CU_JIT_MIN_CTA_PER_SM:
      min_blocks_ = number;
      return CUDA_SUCCESS;
    case CU_JIT_OVERRIDE_DIRECTIVE_VALUES:
      overrides_ = number != 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_SUCCESS;
  }
}

void KernelLimits::Replace(const KernelLimits& others) {
  const auto replace = [](uint32_t* own, uint32_t other) {
    if (other != 0) *own = other;
  };
  replace(&max_registers_, others.max_registers_);
  replace(&threads_per_block_, others.threads_per_block_);
  replace(&max_threads_, others.max_threads_);
  replace(&min_blocks_, others.min_blocks_);
  overrides_ |= others.overrides_;
}

uint32_t KernelLimits::Registers() const {
  uint32_t registers = max_registers_;
  if (threads_per_block_ != 0) {
    const uint32_t fit = RegistersThatFit(threads_per_block_, 1);
    registers = registers == 0 ? fit : std::min(registers, fit);
  }
  return registers == 0 ? 0 : AllowedRegisters(registers);
}

std::string KernelLimits::DirectivesFor(Kernel* kernel, Edits* edits) const {
  std::string added;
  const uint32_t registers = Registers();
  if (overrides_ && registers != 0) {
    edits->Remove(&kernel->registers);
    edits->Remove(&kernel->blocks);
  }
  if (registers != 0 && !kernel->registers.given &&
      (overrides_ || (!kernel->threads.given && !kernel->block.given))) {
    absl::StrAppend(&added, " .maxnreg ", registers);
  }
  if (max_threads_ != 0 && !kernel->block.given) {
    if (overrides_) edits->Remove(&kernel->threads);
    if (!kernel->threads.given) {
      absl::StrAppend(&added, " .maxntid ", max_threads_);
    }
    kernel->threads.given = true;
  }
  if (min_blocks_ != 0 && registers == 0 && kernel->threads.given) {
    if (overrides_) edits->Remove(&kernel->blocks);
    if (!kernel->blocks.given) {
      absl::StrAppend(&added, " .minnctapersm ", min_blocks_);
    }
  }
  return added;
}

std::string KernelLimits::Apply(absl::string_view ptx) const {
  if (IsEmpty()) return std::string(ptx);
  Edits edits(ptx);
  Words words(ptx);
  for (Word word = words.Next(); !word.text.empty(); word = words.Next()) {
    Kernel kernel;
    if (word.text != ".entry" || !kernel.Read(&words)) continue;
    const std::string added = DirectivesFor(&kernel, &edits);
    if (!added.empty()) edits.Insert(kernel.body, added + " ");
  }
  return edits.Text();
}

}  // namespace holdfast::cuda
