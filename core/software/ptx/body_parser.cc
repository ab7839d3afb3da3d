// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/body_parser.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::software::ptx {
namespace {

// A name is looked up in each open scope, and an undefined label moves through
// all of them.
constexpr size_t kMostNested = 256;

}  // namespace

bool BodyParser::Parse() {
  if (!tokens_.Expect('{')) return false;
  while (names_.depth() > 0 && !tokens_.AtEnd()) {
    ParseStatement();
    if (names_.depth() > kMostNested) {
      return tokens_.Fail("scopes are nested too deeply");
    }
  }
  if (names_.depth() > 0) return tokens_.Fail("missing '}' at the end");
  const Label* undefined = labels_.Finish();
  return undefined == nullptr ||
         tokens_.FailAt(
             undefined->location,
             absl::StrCat("label '", undefined->name, "' is not defined"));
}

void BodyParser::OpenScope() {
  names_.Open();
  labels_.Open();
}

void BodyParser::CloseScope() {
  names_.Close();
  labels_.Close();
}

void BodyParser::ParseStatement() {
  if (tokens_.TakeIf('}')) return CloseScope();
  if (tokens_.TakeIf('{')) return OpenScope();
  if (tokens_.TakeIf(';')) return;
  bool ok = true;
  const Token token = tokens_.Peek();
  if (token.kind == TokenKind::kWord && tokens_.Peek(1).Is(':')) {
    tokens_.Take();
    tokens_.Take();
    ok = ParseLabelled(token);
  } else if (token.kind == TokenKind::kDotWord) {
    ok = ParseDirective();
  } else {
    ok = instructions_.Parse(source_);
  }
  if (!ok) tokens_.SkipStatement();
}

bool BodyParser::ParseLabelled(const Token& name) {
  if (tokens_.TakeIfDot("branchtargets")) return ParseBranchTargets(name.text);
  if (tokens_.PeekIsDot("callprototype") || tokens_.PeekIsDot("calltargets")) {
    names_.innermost()[std::string(name.text)].kind = Operand::Kind::kSink;
    tokens_.SkipStatement();
    return true;
  }
  return labels_.Define(name.text, name.location) ||
         tokens_.FailAt(name.location, absl::StrCat("label '", name.text,
                                                    "' is defined twice"));
}

bool BodyParser::ParseDirective() {
  const Token word = tokens_.Take();
  if (word.text == "reg") return ParseRegisters();
  if (word.text == "loc") {
    ParseLoc();
    return true;
  }
  if (word.text == "pragma") {
    tokens_.SkipStatement();
    return true;
  }
  if (const auto space = SpaceFromSpelling(word.text)) {
    return ParseVariables(*space);
  }
  return tokens_.FailAt(word.location,
                        absl::StrCat("unknown directive '.", word.text, "'"));
}

// The name of a shared, global or constant variable belongs to this scope; the
// variable is one for all calls, so that the module has it.
bool BodyParser::ParseVariables(Space space) {
  const bool local = space == Space::kLocal || space == Space::kParam;
  return variables_.ParseAll(
      space, {},
      {local ? &function_.variables : &module_.variables,
       local ? Operand::Kind::kLocalVariable : Operand::Kind::kVariable,
       &names_.innermost()});
}

// .loc file line column, and of inlined code
// ", function_name label, inlined_at file line column"
void BodyParser::ParseLoc() {
  uint64_t numbers[2] = {0, 0};
  for (int i = 0; tokens_.Peek().kind == TokenKind::kInteger; ++i) {
    const uint64_t value = tokens_.Take().bits;
    if (i < 2) numbers[i] = std::min<uint64_t>(value, UINT32_MAX);
  }
  source_ = {static_cast<uint32_t>(numbers[0]),
             static_cast<uint32_t>(numbers[1])};
  if (!tokens_.PeekIs(',')) return;
  const int line = tokens_.Peek().location.line;
  while (!tokens_.AtEnd() && tokens_.Peek().location.line == line) {
    tokens_.Take();
  }
}

// .reg .b32 %r<7>, %t;
// .reg .v4 .f32 %v;
bool BodyParser::ParseRegisters() {
  const int lanes = tokens_.TakeIfDot("v2")   ? 2
                    : tokens_.TakeIfDot("v4") ? 4
                                              : 1;
  const Token word = tokens_.Take();
  const auto type = TypeFromSpelling(word.text);
  if (word.kind != TokenKind::kDotWord || !type ||
      (lanes > 1 && *type == Type::kPred)) {
    return tokens_.FailAt(word.location, "expected the type of a register");
  }
  do {
    if (!ParseRegister(*type, lanes)) return false;
  } while (tokens_.TakeIf(','));
  return tokens_.Expect(';');
}

bool BodyParser::ParseRegister(Type type, int lanes) {
  absl::string_view name;
  if (!tokens_.ExpectWord(&name)) return false;
  if (!tokens_.TakeIf('<')) {
    return names_.Add(name, type, lanes) ||
           tokens_.Fail(absl::StrCat("'", name, "' is declared twice"));
  }
  uint64_t count = 0;
  if (!tokens_.ExpectInteger(&count) || !tokens_.Expect('>')) return false;
  return names_.AddRange(name, type, lanes, count) ||
         tokens_.Fail("too many registers");
}

bool BodyParser::ParseBranchTargets(absl::string_view label) {
  std::vector<uint32_t> targets;
  do {
    absl::string_view name;
    if (!tokens_.ExpectWord(&name)) return false;
    targets.push_back(labels_.Named(name, tokens_.Peek().location).index);
  } while (tokens_.TakeIf(','));
  labels_.DefineTargets(label, tokens_.Peek().location, std::move(targets));
  return tokens_.Expect(';');
}

}  // namespace holdfast::software::ptx
