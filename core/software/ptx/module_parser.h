// SPDX-License-Identifier: Apache-2.0
//
// The two halves of the parser share this class: module_parser.cc reads
// directives and variables, body_parser.cc reads functions.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_MODULE_PARSER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_MODULE_PARSER_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/software/ptx/parser.h"
#include "core/software/ptx/token_stream.h"

namespace holdfast::software::ptx {

class ModuleParser {
 public:
  ModuleParser(absl::string_view text, ParseResult* result)
      : result_(result),
        module_(&result->module),
        tokens_(text, &result->errors) {}

  void Run();

 private:
  using Names = std::map<std::string, Operand, std::less<>>;
  struct Linkage {
    bool external = false;
    bool visible = false;
    bool weak = false;  // .weak and .common
  };
  // %r<5> declares %r0 .. %r4: the numbered names are made when first used.
  struct RegisterRange {
    Type type;
    uint64_t count;
  };

  // module_parser.cc. Each returns false after having reported an error.
  bool ParseTopLevel();
  bool ParseVersion();
  bool ParseTarget();
  bool ParseLinkage(Linkage* linkage);
  bool ParseFile();
  bool SkipSection();
  bool ParseVariables(Space space, Linkage linkage,
                      std::vector<Variable>* variables, Operand::Kind kind,
                      Names* names);
  bool ParseVariable(Space space, Variable* variable);
  bool ParseDimensions(Variable* variable, bool* open);
  bool ParseInitializer(Variable* variable);
  bool ParseInitialValue(Variable* variable);
  bool ParseInitialAddress(Variable* variable);
  bool ParseFormalParameter(Function* function, Operand* operand);
  bool AppendInitial(Variable* variable, uint64_t value);
  bool ParseFunction(Linkage linkage, bool kernel);
  bool ParseFormals(Function* function, std::vector<Operand>* formals);
  bool ParseFunctionDirectives(Function* function);
  bool ParseBlockShape(uint32_t shape[3]);
  uint32_t DeclareFunction(Function function);

  // body_parser.cc.
  bool ParseBody(Function* function);
  void ParseStatement();
  void CloseScope();
  bool ParseRegisters();
  void ParseLoc();
  bool ParseBranchTargets(absl::string_view label);
  bool ParseInstruction();
  bool ParseGuard(Operand* guard);
  bool ParseOperands(Instruction* instruction);
  bool ParseCall(Instruction* instruction);
  bool ParseCallList(Instruction* instruction);
  bool ParseOperand(Operand* operand);
  bool ParseMemoryOperand(Operand* operand);
  bool ParseVectorOperand(Operand* operand);
  bool ParseNumber(Operand* operand);
  bool ParseName(Operand* operand);
  bool ParseOffset(Operand* operand);
  bool CheckOperands(const Instruction& instruction);
  bool CheckOperand(const Instruction& instruction, const Operand& operand,
                    char letter);
  bool CheckVector(const Instruction& instruction, size_t at, size_t elements);
  bool CheckParts(const Instruction& instruction, size_t at);
  bool IsPredicate(const Operand& operand) const;
  bool FindRegister(absl::string_view name, Operand* operand);
  bool FindName(absl::string_view name, Operand* operand);
  Operand LabelNamed(absl::string_view name);
  bool DefineLabel(const Token& name);
  void UniteLabels();
  bool CheckLabels();

  ParseResult* result_;
  Module* module_;
  TokenStream tokens_;
  Names globals_;
  // While a body is read: its function, the nested scopes' names and the
  // register ranges.
  Function* function_ = nullptr;
  std::vector<Names> scopes_;
  std::vector<std::map<std::string, RegisterRange, std::less<>>> ranges_;
  // The labels of each scope. A label that a scope uses and does not define is
  // of the scope around it: then both numbers are here, the inner one first.
  std::vector<std::map<std::string, uint32_t, std::less<>>> labels_;
  std::vector<std::pair<uint32_t, uint32_t>> same_labels_;
  uint64_t register_limit_ = 0;
  SourceLine source_;  // of the instructions that follow
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_MODULE_PARSER_H_
