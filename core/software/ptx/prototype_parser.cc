// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/prototype_parser.h"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::software::ptx {

bool PrototypeParser::Parse(Function* function, Names* names) {
  if (!function->kernel && tokens_.PeekIs('(') &&
      !ParseFormals(&function->results, function, names)) {
    return false;
  }
  function->location = tokens_.Peek().location;
  absl::string_view name;
  if (!tokens_.ExpectWord(&name)) return false;
  function->name = std::string(name);
  if (tokens_.PeekIs('(') &&
      !ParseFormals(&function->parameters, function, names)) {
    return false;
  }
  return ParseDirectives(function);
}

bool PrototypeParser::ParseFormals(std::vector<Operand>* formals,
                                   Function* function, Names* names) {
  if (!tokens_.Expect('(')) return false;
  if (tokens_.TakeIf(')')) return true;
  do {
    Operand formal;
    if (!ParseFormal(&formal, function, names)) return false;
    formals->push_back(formal);
  } while (tokens_.TakeIf(','));
  return tokens_.Expect(')');
}

bool PrototypeParser::ParseFormal(Operand* formal, Function* function,
                                  Names* names) {
  const bool is_register = tokens_.TakeIfDot("reg");
  if (!is_register && !tokens_.TakeIfDot("param")) {
    return tokens_.Fail("expected .param or .reg");
  }
  Variable variable;
  if (!variables_.ParseOne(Space::kParam, &variable)) return false;
  formal->kind =
      is_register ? Operand::Kind::kRegister : Operand::Kind::kLocalVariable;
  formal->index = static_cast<uint32_t>(
      is_register ? function->registers.size() : function->variables.size());
  if (!names->emplace(variable.name, *formal).second && variable.name != "_") {
    return tokens_.Fail(
        absl::StrCat("'", variable.name, "' is declared twice"));
  }
  if (is_register) {
    function->registers.push_back({variable.name, variable.type});
  } else {
    function->variables.push_back(std::move(variable));
  }
  return true;
}

bool PrototypeParser::ParseDirectives(Function* function) {
  while (tokens_.Peek().kind == TokenKind::kDotWord) {
    if (!ParseDirective(tokens_.Take().text, function)) return false;
  }
  return true;
}

bool PrototypeParser::ParseDirective(absl::string_view word,
                                     Function* function) {
  if (word == "maxntid") return ParseNumbers(function->max_block);
  if (word == "reqntid") return ParseNumbers(function->required_block);
  if (word == "reqnctapercluster") {
    return ParseNumbers(function->required_cluster);
  }
  if (word == "maxnreg") return ParseNumber(&function->max_registers);
  if (word == "maxclusterrank") {
    return ParseNumber(&function->max_cluster_blocks);
  }
  if (word == "minnctapersm" || word == "maxnctapersm") {
    return ParseNumber(&function->min_blocks);
  }
  if (word == "explicitcluster") {
    function->cluster_must_be_set = true;
  } else if (word == "pragma") {
    tokens_.SkipStatement();
  } else if (word != "noreturn" && word != "blocksareclusters" &&
             word != "abi_preserve") {
    return tokens_.Fail(absl::StrCat("unknown directive '.", word, "'"));
  }
  return true;
}

bool PrototypeParser::ParseNumbers(uint32_t numbers[3]) {
  numbers[0] = numbers[1] = numbers[2] = 1;
  for (int i = 0; i < 3; ++i) {
    uint64_t value = 0;
    if (!tokens_.ExpectInteger(&value)) return false;
    numbers[i] = static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
    if (!tokens_.TakeIf(',')) return true;
  }
  return true;
}

bool PrototypeParser::ParseNumber(uint32_t* number) {
  uint32_t numbers[3];
  if (!ParseNumbers(numbers)) return false;
  *number = numbers[0];
  return true;
}

}  // namespace holdfast::software::ptx
