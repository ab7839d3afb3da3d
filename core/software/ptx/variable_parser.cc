// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/variable_parser.h"

#include <string>
#include <utility>

#include "core/software/ptx/constant_expression.h"

namespace holdfast::software::ptx {
namespace {

// A variable larger than this is a mistake, not a wish.
constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 36;

}  // namespace

std::optional<Space> SpaceFromSpelling(absl::string_view word) {
  if (word == "global") return Space::kGlobal;
  if (word == "const") return Space::kConst;
  if (word == "shared") return Space::kShared;
  if (word == "local") return Space::kLocal;
  if (word == "param") return Space::kParam;
  return std::nullopt;
}

bool VariableParser::ParseAll(Space space, const Linkage& linkage,
                              const VariableScope& scope) {
  Variable shared_part;
  do {
    // In ".global .u32 a, b" the type stands once.
    Variable variable = shared_part;
    variable.external = linkage.external;
    variable.visible = linkage.visible;
    variable.weak = linkage.weak;
    if (!ParseOne(space, &variable)) return false;
    shared_part.type = variable.type;
    shared_part.alignment = variable.alignment;
    if (!Enter(std::move(variable), scope)) return false;
  } while (tokens_.TakeIf(','));
  return tokens_.Expect(';');
}

bool VariableParser::Enter(Variable variable, const VariableScope& scope) {
  std::vector<Variable>& variables = *scope.variables;
  Operand operand;
  operand.kind = scope.kind;
  operand.index = static_cast<uint32_t>(variables.size());
  const auto [it, added] = scope.names->emplace(variable.name, operand);
  if (added) {
    variables.push_back(std::move(variable));
    return true;
  }
  // A declaration and its definition are one variable.
  const Operand& known = it->second;
  if (known.kind != scope.kind ||
      !(variables[known.index].external || variable.external)) {
    return tokens_.Fail(
        absl::StrCat("'", variable.name, "' is declared twice"));
  }
  if (!variable.external) variables[known.index] = std::move(variable);
  return true;
}

bool VariableParser::ParseOne(Space space, Variable* variable) {
  variable->space = space;
  Layout layout;
  layout.aligned = variable->alignment > 1;
  while (tokens_.Peek().kind == TokenKind::kDotWord) {
    if (!ParseWord(tokens_.Take().text, &layout, variable)) return false;
  }
  if (variable->type == Type::kNone || variable->type == Type::kPred) {
    return tokens_.Fail("a variable needs a type");
  }
  variable->location = tokens_.Peek().location;
  absl::string_view name;
  if (!tokens_.ExpectWord(&name)) return false;
  variable->name = std::string(name);
  const uint64_t element = BytesOf(variable->type) * layout.lanes;
  if (!layout.aligned) variable->alignment = static_cast<uint32_t>(element);
  variable->bytes = element;
  bool open = false;
  return ParseDimensions(variable, &open) && ParseInitial(variable, open);
}

bool VariableParser::ParseWord(absl::string_view word, Layout* layout,
                               Variable* variable) {
  if (word == "align") {
    layout->aligned = true;
    return ParseAlignment(variable);
  }
  if (word == "v2" || word == "v4" || word == "v8") {
    layout->lanes = word[1] - '0';
  } else if (word == "ptr" || SpaceFromSpelling(word).has_value()) {
    return true;  // describes what a parameter points at
  } else if (word == "attribute") {
    while (!tokens_.AtEnd() && !tokens_.TakeIf(')')) tokens_.Take();
  } else if (const auto type = TypeFromSpelling(word)) {
    variable->type = *type;
    if (tokens_.PeekIsDot("ptr")) SkipPointee();
  } else if (word == "texref" || word == "samplerref" || word == "surfref") {
    variable->type = Type::kU64;
  } else {
    return tokens_.Fail(absl::StrCat("unknown word '.", word, "'"));
  }
  return true;
}

bool VariableParser::ParseAlignment(Variable* variable) {
  uint64_t alignment = 0;
  if (!tokens_.ExpectInteger(&alignment)) return false;
  if (alignment == 0 || alignment > 65536 ||
      (alignment & (alignment - 1)) != 0) {
    return tokens_.Fail("the alignment must be a power of two");
  }
  variable->alignment = static_cast<uint32_t>(alignment);
  return true;
}

// In ".param .u64 .ptr .global .align 1 p" the alignment is the pointee's, so
// what follows the type must not count.
void VariableParser::SkipPointee() {
  while (tokens_.Peek().kind == TokenKind::kDotWord) {
    if (tokens_.Take().text == "align") tokens_.Take();
  }
}

bool VariableParser::ParseDimensions(Variable* variable, bool* open) {
  while (tokens_.TakeIf('[')) {
    uint64_t count = 0;
    if (tokens_.TakeIf(']')) {
      *open = true;
      variable->bytes = 0;
      continue;
    }
    if (!ConstantExpression(tokens_).Parse(&count) || !tokens_.Expect(']')) {
      return false;
    }
    if (__builtin_mul_overflow(variable->bytes, count, &variable->bytes) ||
        variable->bytes > kMaxVariableBytes) {
      return tokens_.Fail(absl::StrCat("'", variable->name, "' is too large"));
    }
  }
  return true;
}

bool VariableParser::ParseInitial(Variable* variable, bool open) {
  if (!tokens_.TakeIf('=')) return true;
  if (!initializer_.Parse(variable)) return false;
  if (open) variable->bytes = variable->initial.size();
  return variable->initial.size() <= variable->bytes ||
         tokens_.Fail("more initial values than elements");
}

}  // namespace holdfast::software::ptx
