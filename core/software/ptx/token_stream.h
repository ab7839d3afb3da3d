// SPDX-License-Identifier: Apache-2.0
//
// A cursor over tokens, which reports errors and continues after them.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_TOKEN_STREAM_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_TOKEN_STREAM_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/software/ptx/lexer.h"

namespace holdfast::software::ptx {

// The tokens of one text. The parser looks ahead with Peek, takes tokens with
// Take, and returns false as soon as a call has failed:
//
//   absl::string_view name;
//   if (!tokens.ExpectWord(&name) || !tokens.Expect(';')) return false;
//
// Not thread-safe.
class TokenStream {
 public:
  // Tokenizes all of `text`. `text` and `errors` must outlive the stream.
  TokenStream(absl::string_view text, std::vector<std::string>* errors)
      : tokens_(Tokenize(text)), errors_(errors) {}

  // Returns the token that is `ahead` tokens after the next one; kEnd after the
  // last token. Valid as long as the stream.
  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  // Returns the next token, and moves to the token after it unless it is kEnd.
  // The result is valid as long as the stream.
  const Token& Take() {
    const Token& token = Peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool AtEnd() const { return Peek().kind == TokenKind::kEnd; }

  bool PeekIs(char punctuation) const { return Peek().Is(punctuation); }
  // Returns true if the next token is a dot-word with the text `word`, which
  // has no dot.
  bool PeekIsDot(absl::string_view word) const {
    return Peek().kind == TokenKind::kDotWord && Peek().text == word;
  }
  // Return true and take the next token if it is the expected token.
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
  // Take the next token, and set *word or *value, if it is a word or an
  // integer. Otherwise report an error, return false, and do not take the
  // token.
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

  // Reports an error at the next token. Always returns false, so that the
  // caller can return the result.
  bool Fail(absl::string_view reason) {
    return FailAt(Peek().location, reason);
  }
  // Appends "line:column: reason" to the errors, unless there are 20 errors.
  // Always returns false.
  bool FailAt(Location location, absl::string_view reason) {
    constexpr size_t kMaxErrors = 20;
    if (errors_->size() < kMaxErrors) {
      errors_->push_back(
          absl::StrCat(location.line, ":", location.column, ": ", reason));
    }
    return false;
  }

  // Skips the rest of the statement: moves after the next ';' or block in
  // braces, or before the next '}' or the end. Braces inside a statement, such
  // as the braces of a vector, belong to the statement.
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
