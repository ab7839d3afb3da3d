// SPDX-License-Identifier: Apache-2.0
//
// The parser's class. module_parser.cc reads directives and variables,
// body_parser.cc reads functions.
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

// Parse (parser.h) makes one ModuleParser for each text and calls Run. The
// parser is a recursive descent over TokenStream. Each function reads one
// construct; on an error, it reports the first error and returns false. The
// statement is then skipped and parsing continues, so that one run finds many
// errors.
class ModuleParser {
 public:
  // `text` and `result` must outlive this object.
  ModuleParser(absl::string_view text, ParseResult* result)
      : result_(result),
        module_(&result->module),
        tokens_(text, &result->errors) {}

  // Reads the whole text. Called once. Stops if the PTX version is too new.
  void Run();

 private:
  // The meaning of each name of a scope.
  using Names = std::map<std::string, Operand, std::less<>>;
  // The linkage words before a variable or a function. External symbols are
  // also visible.
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

  // In module_parser.cc. Each returns false after having reported an error.
  //
  // Reads one directive, variable or function.
  bool ParseTopLevel();
  // Reads .version, which has to be the first directive.
  bool ParseVersion();
  // Reads .target, and ignores words that do not begin with sm_.
  bool ParseTarget();
  // Reads the linkage words. Never fails, because all words are optional.
  bool ParseLinkage(Linkage* linkage);
  // Reads .file, which gives a number to the name of a source file.
  bool ParseFile();
  // Skips .section and its braces, which only debuggers use.
  bool SkipSection();
  // Reads variables of one type up to the semicolon, and enters their names. A
  // declaration and its definition become one variable.
  bool ParseVariables(Space space, Linkage linkage,
                      std::vector<Variable>* variables, Operand::Kind kind,
                      Names* names);
  // Reads one variable with alignment, type, name, dimensions and initial
  // value. The variable may be a parameter, whose .ptr describes the memory
  // that the parameter points at.
  bool ParseVariable(Space space, Variable* variable);
  // Multiplies `bytes` by the dimensions, up to 64 GiB. `open`: one dimension
  // is missing, so the initial values determine the size.
  bool ParseDimensions(Variable* variable, bool* open);
  // Reads one value, or a list in braces of any depth.
  bool ParseInitializer(Variable* variable);
  bool ParseInitialValue(Variable* variable);
  // Reads name, name+8 or generic(name)+8. Appends zeros and a relocation.
  bool ParseInitialAddress(Variable* variable);
  // Reads a .reg or .param, which becomes a register or a variable of the
  // function.
  bool ParseFormalParameter(Function* function, Operand* operand);
  // Appends the low bytes of `value`, as many as the variable's type has.
  bool AppendInitial(Variable* variable, uint64_t value);
  // Reads a function from its results on, with its body if there is one.
  bool ParseFunction(Linkage linkage, bool kernel);
  bool ParseFormals(Function* function, std::vector<Operand>* formals);
  // Reads .maxntid, .reqntid and other directives between the formals and the
  // body. Ignores hints for the compiler.
  bool ParseFunctionDirectives(Function* function);
  // Reads one to three numbers; missing numbers are 1.
  bool ParseBlockShape(uint32_t shape[3]);
  // Enters the function and returns its index. A definition replaces its
  // declaration.
  uint32_t DeclareFunction(Function function);

  // In body_parser.cc.
  //
  // Reads statements until the scope that '{' opens is closed, then checks
  // labels.
  bool ParseBody(Function* function);
  // Reads one statement; skips it on an error.
  void ParseStatement();
  // Leaves the innermost scope. Its undefined labels move to the enclosing
  // scope.
  void CloseScope();
  // Reads .reg. The registers of a range such as %r<7> are made when they are
  // named.
  bool ParseRegisters();
  // Reads .loc, which gives the source line of the instructions that follow.
  void ParseLoc();
  // Reads the targets of a brx.idx. `label` is the name of their list.
  bool ParseBranchTargets(absl::string_view label);
  // Reads one instruction with its guard. Fails if no form fits the words or
  // the operands.
  bool ParseInstruction();
  // Handles an instruction without a form: an error, unless it is a PTX
  // instruction; then the function can be loaded but not run.
  bool ParseUnserved(const Instruction& instruction, absl::string_view opcode,
                     const std::vector<absl::string_view>& words);
  // Reads @%p or @!%p in front of an instruction.
  bool ParseGuard(Operand* guard);
  // Reads operands in the order of the text; "d|p" gives two operands.
  bool ParseOperands(Instruction* instruction);
  // Reads the operands of call: (results), callee, (arguments). See
  // Instruction::results.
  bool ParseCall(Instruction* instruction);
  bool ParseCallList(Instruction* instruction);
  // Reads a number, a name, a vector or, in brackets, an address. Not checked
  // against the form yet.
  bool ParseOperand(Operand* operand);
  bool ParseMemoryOperand(Operand* operand);
  bool ParseVectorOperand(Operand* operand);
  bool ParseInteger(Operand* operand);
  bool ParseFloat(Operand* operand);
  // Reads a name. It is a label if nothing else has the name, and the name does
  // not begin with '%'. A register may have a selector behind it.
  bool ParseName(Operand* operand);
  // Reads name.word, such as %tid.x or a register with a selector.
  bool ParseDottedName(const Token& name, Operand* operand);
  // Reads the word behind a register, such as b0 or h10.
  bool ParseSelector(Selector* selector);
  // Adds up the offsets behind a name; there may be none.
  bool ParseOffset(Operand* operand);
  // Searches the scopes from the innermost. Makes a register of a range when it
  // is first named.
  bool FindRegister(absl::string_view name, Operand* operand);
  // Searches, in this order: registers and variables of the scopes, special
  // registers, and names of the module.
  bool FindName(absl::string_view name, Operand* operand);
  // Returns the label with this name in the present scope. The label may be
  // defined later.
  Operand LabelNamed(absl::string_view name);
  bool DefineLabel(const Token& name);
  // Merges the labels that CloseScope joined, in instructions and lists.
  void UniteLabels();
  // Fails if a label is not defined anywhere in the body.
  bool CheckLabels();

  ParseResult* result_;
  Module* module_;
  TokenStream tokens_;
  // Names of the module: variables and functions.
  Names globals_;
  // Set while a body is read: its function, the nested scopes' names and the
  // register ranges.
  Function* function_ = nullptr;
  std::vector<Names> scopes_;
  std::vector<std::map<std::string, RegisterRange, std::less<>>> ranges_;
  // The labels of each scope. A label that a scope uses but does not define
  // belongs to the enclosing scope: same_labels_ then holds both label numbers,
  // the inner number first.
  std::vector<std::map<std::string, uint32_t, std::less<>>> labels_;
  std::vector<std::pair<uint32_t, uint32_t>> same_labels_;
  // The sum of the sizes of the body's register ranges; at most 1 Mi.
  uint64_t register_limit_ = 0;
  SourceLine source_;  // of the instructions that follow
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_MODULE_PARSER_H_
