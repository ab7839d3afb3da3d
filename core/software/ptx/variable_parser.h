// SPDX-License-Identifier: Apache-2.0
//
// Reads declarations of the variables of a module or a function.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_VARIABLE_PARSER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_VARIABLE_PARSER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/software/ptx/declaration.h"
#include "core/software/ptx/initializer_parser.h"
#include "core/software/ptx/token_stream.h"

namespace holdfast::software::ptx {

// Returns the space in which a directive such as .global declares variables;
// nullopt if `word`, which has no dot, is no such directive.
std::optional<Space> SpaceFromSpelling(absl::string_view word);

// The lists to which a declaration adds variables and names. An operand that
// names one of the variables has the kind `kind`.
struct VariableScope {
  std::vector<Variable>* variables;
  Operand::Kind kind;
  Names* names;
};

// The parser of variables. Each function reports an error and returns false if
// the text is not of the expected form.
class VariableParser {
 public:
  // `globals` has the names whose addresses initial values may have. Both
  // arguments must outlive this object.
  VariableParser(TokenStream& tokens, const Names& globals)
      : tokens_(tokens), initializer_(tokens, globals) {}

  // Reads variables of one type up to the semicolon, and adds them to `scope`.
  // A declaration and its definition become one variable.
  bool ParseAll(Space space, const Linkage& linkage,
                const VariableScope& scope);
  // Reads one variable into *variable: its alignment, type, name, dimensions
  // and initial value. The variable may be a parameter, whose .ptr describes
  // the memory to which the parameter points. A type or alignment that
  // *variable already has stays unless the text names another.
  bool ParseOne(Space space, Variable* variable);

 private:
  // The number of elements of a vector type, and whether the text names an
  // alignment.
  struct Layout {
    uint64_t lanes = 1;
    bool aligned = false;
  };

  bool Enter(Variable variable, const VariableScope& scope);
  // Handles a word before the name, and reads the text that belongs to the
  // word.
  bool ParseWord(absl::string_view word, Layout* layout, Variable* variable);
  bool ParseAlignment(Variable* variable);
  void SkipPointee();
  // Reads the dimensions, and multiplies variable->bytes by them, up to 64 GiB.
  // Sets *open if a dimension is missing. The initial values then determine the
  // size.
  bool ParseDimensions(Variable* variable, bool* open);
  bool ParseInitial(Variable* variable, bool open);

  TokenStream& tokens_;
  InitializerParser initializer_;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_VARIABLE_PARSER_H_
