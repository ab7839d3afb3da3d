// SPDX-License-Identifier: Apache-2.0
//
// Reads a whole PTX text: the directives, variables and functions of a module.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_MODULE_PARSER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_MODULE_PARSER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "core/software/ptx/declaration.h"
#include "core/software/ptx/parser.h"
#include "core/software/ptx/token_stream.h"
#include "core/software/ptx/variable_parser.h"

namespace holdfast::software::ptx {

// The parser of one text. Parse (parser.h) makes a ModuleParser for each text
// and calls Run. The classes of the parser are a recursive descent over one
// TokenStream. PrototypeParser and BodyParser read a function, VariableParser
// reads a declaration, InstructionParser and OperandParser read an instruction.
//
// Each function of these classes reads one construct. On an error, it reports
// the first error and returns false. The parser then skips the statement and
// continues, so that one run finds many errors.
class ModuleParser {
 public:
  // `text` and `result` must outlive this object.
  ModuleParser(absl::string_view text, ParseResult* result)
      : result_(*result),
        module_(result->module),
        tokens_(text, &result->errors),
        variables_(tokens_, globals_) {}
  ModuleParser(const ModuleParser&) = delete;
  ModuleParser& operator=(const ModuleParser&) = delete;

  // Reads the whole text, and sets the result. Must be called once. Stops if
  // the PTX version is too new.
  void Run();

 private:
  // Reads one directive, variable or function.
  bool ParseTopLevel();
  // Reads a variable or a function.
  bool ParseDeclaration();
  // Reads .version, which has to be the first directive.
  bool ParseVersion();
  // Reads .target, and ignores words that do not begin with sm_.
  bool ParseTarget();
  bool ParseAddressSize();
  // Reads .file, which gives a number to the name of a source file.
  bool ParseFile();
  // Reads .alias, which gives the definition of a function a second name.
  bool ParseAlias();
  // Gives the aliases their definitions. Called after all functions were read.
  // Stops at the first error.
  void ResolveAliases();
  // Skips .section and its braces, which only debuggers use.
  bool SkipSection();
  // Reads the linkage words, of which there may be none.
  Linkage ParseLinkage();
  // Reads a function from its results on, with its body if there is one.
  bool ParseFunction(const Linkage& linkage, bool kernel);
  // Adds the function to the module, and returns the module's object. A
  // definition replaces its declaration.
  Function& DeclareFunction(Function function);

  ParseResult& result_;
  Module& module_;
  TokenStream tokens_;
  Names globals_;  // the module's variables and functions
  // Pairs of indices of functions: an alias, and the function with the
  // definition.
  std::vector<std::pair<uint32_t, uint32_t>> aliases_;
  VariableParser variables_;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_MODULE_PARSER_H_
