// SPDX-License-Identifier: Apache-2.0
//
// Reads the prototype of a kernel or device function: the text between .entry
// or .func and the body.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_PROTOTYPE_PARSER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_PROTOTYPE_PARSER_H_

#include <cstdint>
#include <vector>

#include "core/software/ptx/declaration.h"
#include "core/software/ptx/token_stream.h"
#include "core/software/ptx/variable_parser.h"

namespace holdfast::software::ptx {

class PrototypeParser {
 public:
  // The arguments must outlive this object.
  PrototypeParser(TokenStream& tokens, VariableParser& variables)
      : tokens_(tokens), variables_(variables) {}

  // Reads the results, name, parameters and directives into *function, and the
  // names of the formals into *names. Reports an error and returns false if the
  // text is no prototype. REQUIRES: function->kernel is set.
  bool Parse(Function* function, Names* names);

 private:
  bool ParseFormals(std::vector<Operand>* formals, Function* function,
                    Names* names);
  // Reads a formal: a .reg, which becomes a register of the function, or a
  // .param, which becomes a variable of the function.
  bool ParseFormal(Operand* formal, Function* function, Names* names);
  // Reads .maxntid, .reqntid and other directives after the formals. Ignores
  // hints for the compiler.
  bool ParseDirectives(Function* function);
  bool ParseDirective(absl::string_view word, Function* function);
  // Reads one to three numbers; missing numbers are 1.
  bool ParseNumbers(uint32_t numbers[3]);
  // Reads one to three numbers, and sets *number to the first.
  bool ParseNumber(uint32_t* number);

  TokenStream& tokens_;
  VariableParser& variables_;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_PROTOTYPE_PARSER_H_
