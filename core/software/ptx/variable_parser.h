// SPDX-License-Identifier: Apache-2.0
//
// Reads declarations of variables, of a module and of a function.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_VARIABLE_PARSER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_VARIABLE_PARSER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/software/ptx/declaration.h"
#include "core/software/ptx/initializer_parser.h"
#include "core/software/ptx/token_stream.h"

namespace holdfast::software::ptx {

// Returns the space in which a directive such as .global declares variables.
// `word` is without the dot. nullopt: the word is no such directive.
std::optional<Space> SpaceFromSpelling(absl::string_view word);

// The variables and the names that a declaration adds to. An operand that names
// one of the variables has the kind `kind`.
struct VariableScope {
  std::vector<Variable>* variables;
  Operand::Kind kind;
  Names* names;
};

// Each function reports an error and returns false if the text is not as it
// says.
class VariableParser {
 public:
  // `globals` has the names whose addresses initial values may take. Both
  // arguments must outlive this object.
  VariableParser(TokenStream& tokens, const Names& globals)
      : tokens_(tokens), initializer_(tokens, globals) {}

  // Reads variables of one type up to the semicolon, and enters them into
  // `scope`. A declaration and its definition become one variable.
  bool ParseAll(Space space, const Linkage& linkage,
                const VariableScope& scope);
  // Reads one variable with alignment, type, name, dimensions and initial
  // value. The variable may be a parameter, whose .ptr describes the memory
  // that the parameter points at. A type or alignment that `variable` already
  // has holds unless the text gives another one.
  bool ParseOne(Space space, Variable* variable);

 private:
  // The number of lanes of a vector type, and whether there is an alignment.
  struct Layout {
    uint64_t lanes = 1;
    bool aligned = false;
  };

  bool Enter(Variable variable, const VariableScope& scope);
  // Reads what follows a word in front of the name.
  bool ParseWord(absl::string_view word, Layout* layout, Variable* variable);
  bool ParseAlignment(Variable* variable);
  void SkipPointee();
  // Multiplies `bytes` by the dimensions, up to 64 GiB. `open`: one dimension
  // is missing, so the initial values determine the size.
  bool ParseDimensions(Variable* variable, bool* open);
  bool ParseInitial(Variable* variable, bool open);

  TokenStream& tokens_;
  InitializerParser initializer_;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_VARIABLE_PARSER_H_
