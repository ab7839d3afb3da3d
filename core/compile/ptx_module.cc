// SPDX-License-Identifier: Apache-2.0
#include "core/compile/ptx_module.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace holdfast::compile {
namespace {

using Kind = PtxStatement::Kind;
using Linkage = PtxStatement::Linkage;

bool IsWordByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         (c != '\0' && std::strchr("_$%.", c) != nullptr);
}

// Walks over tokens: words, strings and single characters.
class Scanner {
 public:
  explicit Scanner(absl::string_view text) : text_(text) {}

  size_t position() const { return position_; }
  absl::string_view From(size_t begin) const {
    return text_.substr(begin, position_ - begin);
  }

  // Empty at the end. An open comment or string ends with the text.
  absl::string_view Next() {
    SkipSpace();
    const size_t begin = position_;
    if (begin == text_.size()) return "";
    if (text_[begin] == '"') {
      position_ = After(text_.find('"', begin + 1), 1);
    } else if (IsWordByte(text_[begin])) {
      while (position_ < text_.size() && IsWordByte(text_[position_])) {
        ++position_;
      }
    } else {
      ++position_;
    }
    return text_.substr(begin, position_ - begin);
  }

  // The rest of the line.
  absl::string_view Line() {
    const size_t begin = position_;
    position_ = After(text_.find('\n', begin), 0);
    return text_.substr(begin, position_ - begin);
  }

 private:
  size_t After(size_t found, size_t more) const {
    return found == absl::string_view::npos ? text_.size() : found + more;
  }

  void SkipSpace() {
    while (position_ < text_.size()) {
      const absl::string_view rest = text_.substr(position_);
      if (absl::StartsWith(rest, "//")) {
        position_ = After(text_.find('\n', position_), 1);
      } else if (absl::StartsWith(rest, "/*")) {
        position_ = After(text_.find("*/", position_ + 2), 2);
      } else if (rest[0] == '\0' ||
                 absl::ascii_isspace(static_cast<unsigned char>(rest[0]))) {
        ++position_;
      } else {
        return;
      }
    }
  }

  absl::string_view text_;
  size_t position_ = 0;
};

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the PTX ", what));
}

bool IsName(absl::string_view word) {
  return IsWordByte(word[0]) && word[0] != '.' &&
         !absl::ascii_isdigit(static_cast<unsigned char>(word[0]));
}

// Notes in `statement` what a word at its beginning says about it.
void Note(absl::string_view word, PtxStatement* statement) {
  if (word == ".visible") statement->linkage = Linkage::kVisible;
  if (word == ".extern") statement->linkage = Linkage::kExtern;
  if (word == ".weak" || word == ".common") {
    statement->linkage = Linkage::kWeak;
  }
  if (word == ".func" || word == ".entry") statement->kind = Kind::kFunction;
  if (word == ".entry") statement->entry = true;
  if (word == ".global" || word == ".const" || word == ".shared") {
    statement->kind = Kind::kVariable;
  }
  if (word == ".shared") statement->shared = true;
}

// Reads one statement that begins with `word`, at `begin`.
class StatementReader {
 public:
  StatementReader(Scanner* scanner, size_t begin)
      : scanner_(*scanner), begin_(begin) {}

  absl::StatusOr<PtxStatement> Read(absl::string_view word) {
    for (; !word.empty(); word = scanner_.Next()) {
      if (depth_ == 0 && word == ";") return Finish();
      if (depth_ == 0) NoteOutside(word);
      if (depth_ == 0 && several_) {
        return Malformed(absl::StrCat("declares several variables at once: ",
                                      statement_.name));
      }
      depth_ += Step(word);
      if (depth_ < 0) return Malformed("closes a bracket that is not open");
      if (word == "}" && depth_ == 0 && statement_.kind == Kind::kFunction) {
        return Finish();
      }
    }
    return Malformed("ends within a statement");
  }

 private:
  static int Step(absl::string_view word) {
    if (word == "{" || word == "(" || word == "[") return 1;
    return word == "}" || word == ")" || word == "]" ? -1 : 0;
  }

  // A word outside of all brackets.
  void NoteOutside(absl::string_view word) {
    if (statement_.name.empty()) Note(word, &statement_);
    const bool function = statement_.kind == Kind::kFunction;
    if (word == "=") initialized_ = true;
    if (word == "," && statement_.kind == Kind::kVariable && !initialized_) {
      several_ = true;
    }
    if (function && word == "{") {
      statement_.defined = true;
      statement_.head = scanner_.From(begin_);
      statement_.head.remove_suffix(1);
    }
    if (statement_.kind != Kind::kOther && statement_.name.empty() &&
        IsName(word)) {
      statement_.name = word;
    }
  }

  absl::StatusOr<PtxStatement> Finish() {
    statement_.text = scanner_.From(begin_);
    if (statement_.kind == Kind::kVariable) {
      statement_.defined = statement_.linkage != Linkage::kExtern;
    }
    if (statement_.kind != Kind::kOther && statement_.name.empty()) {
      return Malformed("declares something without a name");
    }
    return statement_;
  }

  Scanner& scanner_;
  const size_t begin_;
  PtxStatement statement_;
  int depth_ = 0;
  bool initialized_ = false;
  bool several_ = false;
};

// "9.0" is 90.
absl::StatusOr<int> ParseVersion(absl::string_view text) {
  const size_t dot = text.find('.');
  int major = 0;
  int minor = 0;
  if (dot == absl::string_view::npos ||
      !absl::SimpleAtoi(text.substr(0, dot), &major) ||
      !absl::SimpleAtoi(text.substr(dot + 1), &minor) || major < 1 ||
      major > 99 || minor < 0 || minor > 9) {
    return Malformed(absl::StrCat("has the version \"", text, "\""));
  }
  return 10 * major + minor;
}

void SkipSection(Scanner* scanner) {
  absl::string_view word = scanner->Next();
  while (!word.empty() && word != "}") word = scanner->Next();
}

}  // namespace

absl::StatusOr<PtxModule> PtxModule::Parse(absl::string_view ptx) {
  PtxModule module;
  Scanner scanner(ptx);
  for (absl::string_view word = scanner.Next(); !word.empty();
       word = scanner.Next()) {
    const size_t begin = scanner.position() - word.size();
    if (word == ".version") {
      HOLDFAST_ASSIGN_OR_RETURN(module.version, ParseVersion(scanner.Next()));
    } else if (word == ".target") {
      module.target = scanner.Next();
      scanner.Line();
    } else if (word == ".address_size") {
      module.address_size = scanner.Next();
    } else if (word == ".file") {
      scanner.Line();
    } else if (word == ".section") {
      SkipSection(&scanner);
    } else {
      HOLDFAST_ASSIGN_OR_RETURN(PtxStatement statement,
                                StatementReader(&scanner, begin).Read(word));
      module.statements.push_back(statement);
    }
  }
  if (module.version == 0) return Malformed("has no .version");
  if (!absl::StartsWith(module.target, "sm_")) {
    return Malformed("has no .target sm_...");
  }
  return module;
}

std::string RenamePtx(absl::string_view text, const PtxNames& names) {
  std::string renamed;
  Scanner scanner(text);
  size_t copied = 0;
  const auto copy_to = [&](size_t end) {
    renamed.append(text.data() + copied, end - copied);
  };
  for (absl::string_view word = scanner.Next(); !word.empty();
       word = scanner.Next()) {
    const size_t begin = scanner.position() - word.size();
    const auto found = names.find(word);
    if (word != ".loc" && found == names.end()) continue;
    copy_to(begin);
    if (word == ".loc") {
      scanner.Line();
    } else {
      renamed.append(found->second);
    }
    copied = scanner.position();
  }
  copy_to(text.size());
  return renamed;
}

std::vector<absl::string_view> PtxWords(absl::string_view text) {
  std::vector<absl::string_view> words;
  Scanner scanner(text);
  for (absl::string_view word = scanner.Next(); !word.empty();
       word = scanner.Next()) {
    words.push_back(word);
  }
  return words;
}

}  // namespace holdfast::compile
