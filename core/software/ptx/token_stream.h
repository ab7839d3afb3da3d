// SPDX-License-Identifier: Apache-2.0
//
// A cursor over tokens, with error reporting and recovery.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_TOKEN_STREAM_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_TOKEN_STREAM_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/software/ptx/lexer.h"

namespace holdfast::software::ptx {

// The parser looks ahead with Peek, takes tokens with Take, and returns false
// as soon as one call has failed:
//
//   absl::string_view name;
//   if (!tokens.ExpectWord(&name) || !tokens.Expect(';')) return false;
//
// Not thread-safe.
class TokenStream {
 public:
  // Tokenizes all of `text`, which must outlive the stream, as must `errors`.
  TokenStream(absl::string_view text, std::vector<std::string>* errors)
      : tokens_(Tokenize(text)), errors_(errors) {}

  // Returns kEnd beyond the last token.
  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  // Does not go beyond kEnd. Valid as long as the stream.
  const Token& Take() {
    const Token& token = Peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool AtEnd() const { return Peek().kind == TokenKind::kEnd; }

  bool PeekIs(char punctuation) const { return Peek().Is(punctuation); }
  // `word` is the text without the dot.
  bool PeekIsDot(absl::string_view word) const {
    return Peek().kind == TokenKind::kDotWord && Peek().text == word;
  }
  // Both take the token only if it is the expected one.
  bool TakeIf(char punctuation) {
    if (!PeekIs(punctuation)) return false;
    Take();
    return true;
  }
  bool TakeIfDot(absl::string_view word) {
    if (!PeekIsDot(word)) return false;
    Take();
    return true;
  }

  // Takes the token if it is `punctuation`. Otherwise reports an error and
  // returns false.
  bool Expect(char punctuation) {
    if (TakeIf(punctuation)) return true;
    return Fail(absl::StrCat("expected '", absl::string_view(&punctuation, 1),
                             "' before '", Peek().text, "'"));
  }
  // Both leave the token in place on an error.
  bool ExpectWord(absl::string_view* word) {
    if (Peek().kind != TokenKind::kWord) {
      return Fail(absl::StrCat("expected a name before '", Peek().text, "'"));
    }
    *word = Take().text;
    return true;
  }
  bool ExpectInteger(uint64_t* value) {
    if (Peek().kind != TokenKind::kInteger) {
      return Fail(
          absl::StrCat("expected an integer before '", Peek().text, "'"));
    }
    *value = Take().bits;
    return true;
  }

  // Always false, so that it can be returned.
  bool Fail(absl::string_view reason) {
    return FailAt(Peek().location, reason);
  }
  // Only the first 20 errors of a text are kept, as "line:column: reason".
  bool FailAt(Location location, absl::string_view reason) {
    constexpr size_t kMaxErrors = 20;
    if (errors_->size() < kMaxErrors) {
      errors_->push_back(
          absl::StrCat(location.line, ":", location.column, ": ", reason));
    }
    return false;
  }

  // Skips to the end of the statement: after the next ';' or block, or before
  // the next '}' or the end. Braces inside a statement, such as a vector's,
  // belong to it.
  void SkipStatement() {
    size_t open = 0;
    while (!AtEnd() && (open > 0 || !PeekIs('}'))) {
      const Token token = Take();
      if (token.Is('{')) ++open;
      if (token.Is(';') && open == 0) return;
      if (!token.Is('}') || --open > 0) continue;
      if (!PeekIs(',') && !PeekIs(';') && !PeekIs(']')) return;
    }
  }

 private:
  std::vector<Token> tokens_;
  std::vector<std::string>* errors_;
  size_t at_ = 0;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_TOKEN_STREAM_H_
