// SPDX-License-Identifier: Apache-2.0
//
// Reads the initial values of a variable: the text after '='.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_INITIALIZER_PARSER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_INITIALIZER_PARSER_H_

#include <cstdint>

#include "core/software/ptx/declaration.h"
#include "core/software/ptx/token_stream.h"

namespace holdfast::software::ptx {

// The parser of initial values. A value is a number, or the address of a
// variable or a function. An address is known only when the module is loaded.
// So the parser stores zeros and a relocation for it.
class InitializerParser {
 public:
  // `globals` has the names whose addresses may be taken. Both arguments must
  // outlive this object.
  InitializerParser(TokenStream& tokens, const Names& globals)
      : tokens_(tokens), globals_(globals) {}

  // Reads one value, or a list in braces of any depth. Appends the values to
  // the variable's initial values and relocations. REQUIRES: the type of the
  // variable is set. Reports an error and returns false if the text is no such
  // value.
  bool Parse(Variable* variable);

 private:
  bool ParseValues(Variable* variable);
  bool ParseValue(Variable* variable);
  bool ParseFloat(Variable* variable);
  bool ParseAddress(Variable* variable);
  // Reads one byte of an address. NVVM writes pointers of packed structs as
  // eight bytes: 0xFF(name), 0xFF00(name), ... to 0xFF00000000000000(name).
  bool ParseByteOfAddress(Variable* variable);
  // Reads name, name+8 or generic(name)+8.
  bool ParseSum(Relocation* relocation);
  bool ParseSymbol(Relocation* relocation);
  // Reports that the bytes of an address are incomplete, and returns false.
  bool FailForBytes();

  TokenStream& tokens_;
  const Names& globals_;
  int next_byte_ = 0;  // the next byte of the address that is being read
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_INITIALIZER_PARSER_H_
