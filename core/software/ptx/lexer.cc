// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/lexer.h"

#include <cstring>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace holdfast::software::ptx {
namespace {

bool StartsWord(char c) {
  return absl::ascii_isalpha(c) || c == '_' || c == '$' || c == '%';
}

bool ContinuesWord(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '$';
}

class Lexer {
 public:
  explicit Lexer(absl::string_view text) : text_(text) {}

  std::vector<Token> Run() {
    std::vector<Token> tokens;
    tokens.reserve(text_.size() / 4);
    do {
      tokens.push_back(Next());
    } while (tokens.back().kind != TokenKind::kEnd);
    return tokens;
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void Advance(size_t count = 1) {
    for (; count > 0 && at_ < text_.size(); --count, ++at_) {
      if (text_[at_] == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      }
    }
  }

  void SkipBlanksAndComments() {
    while (at_ < text_.size()) {
      if (absl::ascii_isspace(Peek())) {
        Advance();
      } else if (Peek() == '/' && Peek(1) == '/') {
        while (at_ < text_.size() && Peek() != '\n') Advance();
      } else if (Peek() == '/' && Peek(1) == '*') {
        size_t end = text_.find("*/", at_ + 2);
        Advance(end == absl::string_view::npos ? text_.size() - at_
                                               : end + 2 - at_);
      } else {
        return;
      }
    }
  }

  Token Next() {
    SkipBlanksAndComments();
    Token token;
    token.location = {line_, static_cast<int>(at_ - line_start_) + 1};
    start_ = at_;
    if (at_ >= text_.size()) return token;
    const char c = Peek();
    if (StartsWord(c)) {
      LexWord(&token);
    } else if (c == '.' && (ContinuesWord(Peek(1)))) {
      LexDotWord(&token);
    } else if (absl::ascii_isdigit(c)) {
      LexNumber(&token);
    } else if (c == '"') {
      LexString(&token);
    } else {
      token.kind = std::strchr("{}[]()<>,;:|!@+-*/%=~&^?_", c) != nullptr
                       ? TokenKind::kPunctuation
                       : TokenKind::kInvalid;
      Advance();
      token.text = text_.substr(start_, 1);
    }
    return token;
  }

  void LexWord(Token* token) {
    Advance();
    while (ContinuesWord(Peek())) Advance();
    token->kind = TokenKind::kWord;
    token->text = text_.substr(start_, at_ - start_);
  }

  void LexDotWord(Token* token) {
    Advance();
    while (ContinuesWord(Peek()) || (Peek() == ':' && Peek(1) == ':')) {
      Advance(Peek() == ':' ? 2 : 1);
    }
    token->kind = TokenKind::kDotWord;
    token->text = text_.substr(start_ + 1, at_ - start_ - 1);
  }

  void LexString(Token* token) {
    Advance();
    while (at_ < text_.size() && Peek() != '"' && Peek() != '\n') {
      Advance(Peek() == '\\' ? 2 : 1);
    }
    token->text = text_.substr(start_ + 1, at_ - start_ - 1);
    token->kind = Peek() == '"' ? TokenKind::kString : TokenKind::kInvalid;
    if (Peek() == '"') Advance();
  }

  // 0f and 0d take exactly eight and sixteen hexadecimal digits.
  bool LexHexFloat(Token* token) {
    const char mark = absl::ascii_tolower(Peek(1));
    if (Peek() != '0' || (mark != 'f' && mark != 'd')) return false;
    const size_t digits = mark == 'f' ? 8 : 16;
    Advance(2);
    const absl::string_view hex = text_.substr(at_, digits);
    const bool valid =
        hex.size() == digits && absl::SimpleHexAtoi(hex, &token->bits);
    token->kind = !valid        ? TokenKind::kInvalid
                  : mark == 'f' ? TokenKind::kFloat32
                                : TokenKind::kFloat64;
    Advance(hex.size());
    token->text = text_.substr(start_, at_ - start_);
    return true;
  }

  void LexNumber(Token* token) {
    if (LexHexFloat(token)) return;
    if (LexRadix(token)) return;
    while (absl::ascii_isdigit(Peek())) Advance();
    if ((Peek() == '.' && absl::ascii_isdigit(Peek(1))) ||
        absl::ascii_tolower(Peek()) == 'e') {
      return LexDecimalFloat(token);
    }
    token->text = text_.substr(start_, at_ - start_);
    const bool octal = token->text.size() > 1 && token->text[0] == '0';
    token->kind = ParseInteger(token->text, octal ? 8 : 10, &token->bits)
                      ? TokenKind::kInteger
                      : TokenKind::kInvalid;
    if (absl::ascii_toupper(Peek()) == 'U') Advance();
  }

  bool LexRadix(Token* token) {
    const char mark = absl::ascii_tolower(Peek(1));
    if (Peek() != '0' || (mark != 'x' && mark != 'b')) return false;
    Advance(2);
    const size_t digits = at_;
    while (absl::ascii_isxdigit(Peek())) Advance();
    token->kind = ParseInteger(text_.substr(digits, at_ - digits),
                               mark == 'x' ? 16 : 2, &token->bits)
                      ? TokenKind::kInteger
                      : TokenKind::kInvalid;
    token->text = text_.substr(start_, at_ - start_);
    if (absl::ascii_toupper(Peek()) == 'U') Advance();
    return true;
  }

  static bool ParseInteger(absl::string_view digits, unsigned radix,
                           uint64_t* value) {
    if (digits.empty()) return false;
    *value = 0;
    for (char c : digits) {
      const unsigned digit =
          absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
      if (digit >= radix || __builtin_mul_overflow(*value, radix, value) ||
          __builtin_add_overflow(*value, digit, value)) {
        return false;
      }
    }
    return true;
  }

  void LexDecimalFloat(Token* token) {
    while (absl::ascii_isdigit(Peek()) || Peek() == '.' ||
           absl::ascii_tolower(Peek()) == 'e' ||
           ((Peek() == '+' || Peek() == '-') &&
            absl::ascii_tolower(text_[at_ - 1]) == 'e')) {
      Advance();
    }
    token->text = text_.substr(start_, at_ - start_);
    double value = 0;
    token->kind = absl::SimpleAtod(token->text, &value) ? TokenKind::kFloat64
                                                        : TokenKind::kInvalid;
    std::memcpy(&token->bits, &value, sizeof(value));
  }

  const absl::string_view text_;
  size_t at_ = 0;
  size_t start_ = 0;
  size_t line_start_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> Tokenize(absl::string_view text) {
  return Lexer(text).Run();
}

}  // namespace holdfast::software::ptx
