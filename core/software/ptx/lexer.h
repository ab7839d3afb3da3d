// SPDX-License-Identifier: Apache-2.0
//
// Splits PTX text into tokens with their locations.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_LEXER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_LEXER_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast::software::ptx {

// A location in the text. Lines and columns count from 1.
struct Location {
  int line = 0;
  int column = 0;
};

enum class TokenKind : uint8_t {
  kEnd,
  kWord,         // add  %r1  $L__BB0_2  _Z3fooPf
  kDotWord,      // .global  .x  .L2::128B; text without the dot
  kInteger,      // the value is in `bits`
  kFloat32,      // 0f3F800000; the value is in `bits`
  kFloat64,      // 0d..., 1.5; the value is in `bits`
  kString,       // text without the quotes
  kPunctuation,  // one character
  kInvalid,      // a character or literal that PTX does not have
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  absl::string_view text;
  // The integer, or the bits of the floating-point number.
  uint64_t bits = 0;
  Location location;

  // Returns true if the token is this character.
  bool Is(char punctuation) const {
    return kind == TokenKind::kPunctuation && text[0] == punctuation;
  }
};

// Returns the tokens, without comments. The last token is kEnd. The tokens
// refer to `text`, which must outlive them. Never fails: unknown text becomes
// kInvalid.
std::vector<Token> Tokenize(absl::string_view text);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_LEXER_H_
