// SPDX-License-Identifier: Apache-2.0
//
// Reads the body of a function: the statements between its braces.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_BODY_PARSER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_BODY_PARSER_H_

#include <utility>

#include "core/software/ptx/body_labels.h"
#include "core/software/ptx/body_names.h"
#include "core/software/ptx/instruction_parser.h"
#include "core/software/ptx/operand_parser.h"
#include "core/software/ptx/token_stream.h"
#include "core/software/ptx/variable_parser.h"

namespace holdfast::software::ptx {

// The parser of the body of one function. It skips a statement with an error,
// so that one run finds many errors.
class BodyParser {
 public:
  // `globals` has the names of the module, and `formals` the names of the
  // formal parameters. The parser adds the body to `function`, which may be a
  // function of `module`, and the body's shared, global and constant variables
  // to `module`. The arguments must outlive this object.
  BodyParser(TokenStream& tokens, const Names& globals, Names formals,
             Module& module, Function& function)
      : tokens_(tokens),
        module_(module),
        function_(function),
        names_(globals, std::move(formals), function),
        labels_(function),
        variables_(tokens, globals),
        operands_(tokens, module, function, names_, labels_),
        instructions_(tokens, operands_, function, module.own_features) {}
  BodyParser(const BodyParser&) = delete;
  BodyParser& operator=(const BodyParser&) = delete;

  // Reads from '{' to the matching '}'. Must be called once. Returns false, and
  // reports an error to the token stream, if there is no matching '}', scopes
  // are nested too deeply, or a label is not defined. Only reports errors in
  // statements.
  bool Parse();

 private:
  // Reads one statement; skips it on an error.
  void ParseStatement();
  void OpenScope();
  void CloseScope();

  // The functions below report an error and return false if the text is not of
  // the expected form.

  // Reads the text after "name:".
  bool ParseLabelled(const Token& name);
  // Reads a statement that begins with a word such as .reg.
  bool ParseDirective();
  bool ParseVariables(Space space);
  // Reads the text after .reg.
  bool ParseRegisters();
  // `lanes` is 1, or for a vector 2 or 4.
  bool ParseRegister(Type type, int lanes);
  // Reads .loc, which gives the source line of the instructions that follow.
  void ParseLoc();
  // Reads the targets of a brx.idx. `label` is the name of the list of targets.
  bool ParseBranchTargets(absl::string_view label);

  TokenStream& tokens_;
  Module& module_;
  Function& function_;
  BodyNames names_;
  BodyLabels labels_;
  VariableParser variables_;
  OperandParser operands_;
  InstructionParser instructions_;
  SourceLine source_;  // the source line of the next instructions
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_BODY_PARSER_H_
