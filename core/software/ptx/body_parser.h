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

// For one function. A statement with an error is skipped, so that one run finds
// many errors.
class BodyParser {
 public:
  // `globals` has the names of the module, and `formals` those of the formal
  // parameters. The body goes into `function`, which may be one of the module's
  // functions, and its shared and global variables into `module`. The arguments
  // must outlive this object.
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

  // Reads from '{' to the '}' that belongs to it. Called once. Reports an error
  // and returns false if there is no such '}' or a label is not defined; other
  // errors are only reported.
  bool Parse();

 private:
  // Reads one statement; skips it on an error.
  void ParseStatement();
  void OpenScope();
  void CloseScope();

  // Each reports an error and returns false if the text is not as it says.
  //
  // Reads what follows "name:".
  bool ParseLabelled(const Token& name);
  // Reads a statement that begins with a word such as .reg.
  bool ParseDirective();
  bool ParseVariables(Space space);
  // Reads what follows .reg.
  bool ParseRegisters();
  // `lanes` is 1, or for a vector 2 or 4.
  bool ParseRegister(Type type, int lanes);
  // Reads .loc, which gives the source line of the instructions that follow.
  void ParseLoc();
  // Reads the targets of a brx.idx. `label` is the name of their list.
  bool ParseBranchTargets(absl::string_view label);

  TokenStream& tokens_;
  Module& module_;
  Function& function_;
  BodyNames names_;
  BodyLabels labels_;
  VariableParser variables_;
  OperandParser operands_;
  InstructionParser instructions_;
  SourceLine source_;  // of the instructions that follow
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_BODY_PARSER_H_
