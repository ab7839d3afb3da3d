// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/module_parser.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/software/ptx/constant_expression.h"

namespace holdfast::software::ptx {
namespace {

// A variable larger than this is a mistake, not a wish.
constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 36;

std::optional<Space> SpaceOf(absl::string_view word) {
  if (word == "global") return Space::kGlobal;
  if (word == "const") return Space::kConst;
  if (word == "shared") return Space::kShared;
  if (word == "local") return Space::kLocal;
  if (word == "param") return Space::kParam;
  return std::nullopt;
}

}  // namespace

void ModuleParser::Run() {
  while (!tokens_.AtEnd()) {
    const Token before = tokens_.Peek();
    if (ParseTopLevel()) continue;
    if (result_->unsupported_version) return;
    tokens_.SkipStatement();
    tokens_.TakeIf('}');
    if (tokens_.Peek().text.data() == before.text.data()) tokens_.Take();
  }
  if (module_->version == 0 && result_->ok()) {
    tokens_.FailAt({1, 1}, "no .version directive");
  }
}

bool ModuleParser::ParseTopLevel() {
  const Token& token = tokens_.Peek();
  if (token.Is(';')) return tokens_.Take().Is(';');
  if (token.kind != TokenKind::kDotWord) {
    return tokens_.Fail(
        absl::StrCat("expected a directive before '", token.text, "'"));
  }
  if (tokens_.TakeIfDot("version")) return ParseVersion();
  if (module_->version == 0) {
    return tokens_.Fail("the first directive must be .version");
  }
  if (tokens_.TakeIfDot("target")) return ParseTarget();
  if (tokens_.TakeIfDot("address_size")) {
    uint64_t bits = 0;
    if (!tokens_.ExpectInteger(&bits)) return false;
    module_->address_bits = bits == 32 ? 32 : 64;
    return bits == 64 ||
           tokens_.Fail("Holdfast runs PTX with .address_size 64 only");
  }
  if (tokens_.TakeIfDot("file")) return ParseFile();
  if (tokens_.PeekIsDot("section")) return SkipSection();
  if (tokens_.TakeIfDot("pragma") || tokens_.TakeIfDot("alias")) {
    tokens_.SkipStatement();
    return true;
  }
  Linkage linkage;
  if (!ParseLinkage(&linkage)) return false;
  if (tokens_.TakeIfDot("entry")) return ParseFunction(linkage, true);
  if (tokens_.TakeIfDot("func")) return ParseFunction(linkage, false);
  const auto space = SpaceOf(tokens_.Peek().text);
  if (tokens_.Peek().kind != TokenKind::kDotWord || !space ||
      *space == Space::kParam || *space == Space::kLocal) {
    return tokens_.Fail(
        absl::StrCat("unknown directive '.", tokens_.Peek().text, "'"));
  }
  tokens_.Take();
  return ParseVariables(*space, linkage, &module_->variables,
                        Operand::Kind::kVariable, &globals_);
}

bool ModuleParser::ParseVersion() {
  // "9.0" reads as a floating-point literal.
  const Token token = tokens_.Take();
  const size_t dot = token.text.find('.');
  if (token.kind != TokenKind::kFloat64 || dot == absl::string_view::npos ||
      token.text.size() > 5) {
    return tokens_.FailAt(token.location, "expected a version such as 9.0");
  }
  int version = 0;
  for (char c : token.text) {
    if (c >= '0' && c <= '9') version = version * 10 + (c - '0');
  }
  module_->version = version;
  if (version <= kNewestVersion) return true;
  result_->unsupported_version = true;
  return tokens_.FailAt(
      token.location,
      absl::StrCat("PTX ISA ", token.text, " is newer than ",
                   kNewestVersion / 10, ".", kNewestVersion % 10));
}

bool ModuleParser::ParseTarget() {
  do {
    const Token token = tokens_.Take();
    if (token.kind != TokenKind::kWord) {
      return tokens_.FailAt(token.location, "expected a target such as sm_90");
    }
    if (token.text.substr(0, 3) != "sm_") continue;
    for (char c : token.text.substr(3, 4)) {
      module_->own_features = c < '0' || c > '9';
      if (module_->own_features) break;
      module_->target = module_->target * 10 + (c - '0');
    }
  } while (tokens_.TakeIf(','));
  return true;
}

// .file 1 "kernel.cu", and perhaps a time and a size
bool ModuleParser::ParseFile() {
  constexpr uint64_t kMaxFiles = 1 << 16;
  uint64_t number = 0;
  if (!tokens_.ExpectInteger(&number)) return false;
  if (tokens_.Peek().kind == TokenKind::kString && number < kMaxFiles) {
    if (module_->files.size() <= number) module_->files.resize(number + 1);
    module_->files[number] = std::string(tokens_.Peek().text);
  }
  while (tokens_.Peek().kind == TokenKind::kInteger ||
         tokens_.Peek().kind == TokenKind::kString || tokens_.PeekIs(',')) {
    tokens_.Take();
  }
  return true;
}

bool ModuleParser::SkipSection() {
  tokens_.Take();
  tokens_.Take();  // its name
  if (!tokens_.Expect('{')) return false;
  while (!tokens_.AtEnd() && !tokens_.TakeIf('}')) tokens_.Take();
  return true;
}

bool ModuleParser::ParseLinkage(Linkage* linkage) {
  for (;;) {
    if (tokens_.TakeIfDot("extern")) {
      linkage->external = true;
    } else if (tokens_.TakeIfDot("visible")) {
      linkage->visible = true;
    } else if (tokens_.TakeIfDot("weak") || tokens_.TakeIfDot("common")) {
      linkage->visible = true;
      linkage->weak = true;
    } else {
      return true;
    }
  }
}

bool ModuleParser::ParseVariables(Space space, Linkage linkage,
                                  std::vector<Variable>* variables,
                                  Operand::Kind kind, Names* names) {
  Variable shared_part;
  do {
    // In ".global .u32 a, b" the type stands once.
    Variable variable = shared_part;
    variable.external = linkage.external;
    variable.visible = linkage.visible;
    variable.weak = linkage.weak;
    if (!ParseVariable(space, &variable)) return false;
    shared_part.type = variable.type;
    shared_part.alignment = variable.alignment;
    Operand operand;
    operand.kind = kind;
    operand.index = static_cast<uint32_t>(variables->size());
    auto [it, added] = names->emplace(variable.name, operand);
    if (!added) {
      // A declaration and its definition are one variable.
      if (it->second.kind != kind ||
          !((*variables)[it->second.index].external || variable.external)) {
        return tokens_.Fail(
            absl::StrCat("'", variable.name, "' is declared twice"));
      }
      if (!variable.external) {
        (*variables)[it->second.index] = std::move(variable);
      }
      continue;
    }
    variables->push_back(std::move(variable));
  } while (tokens_.TakeIf(','));
  return tokens_.Expect(';');
}

bool ModuleParser::ParseVariable(Space space, Variable* variable) {
  variable->space = space;
  uint64_t lanes = 1;
  bool aligned = variable->alignment > 1;
  while (tokens_.Peek().kind == TokenKind::kDotWord) {
    const absl::string_view word = tokens_.Take().text;
    if (word == "align") {
      uint64_t alignment = 0;
      if (!tokens_.ExpectInteger(&alignment)) return false;
      if (alignment == 0 || alignment > 65536 ||
          (alignment & (alignment - 1)) != 0) {
        return tokens_.Fail("the alignment must be a power of two");
      }
      variable->alignment = static_cast<uint32_t>(alignment);
      aligned = true;
    } else if (word == "v2" || word == "v4" || word == "v8") {
      lanes = word[1] - '0';
    } else if (word == "ptr" || SpaceOf(word).has_value()) {
      continue;  // describes what a parameter points at
    } else if (word == "attribute") {
      while (!tokens_.AtEnd() && !tokens_.TakeIf(')')) tokens_.Take();
    } else if (auto type = TypeFromSpelling(word)) {
      // In ".param .u64 .ptr .global .align 1 p" the alignment is the
      // pointee's, so what follows the type must not count.
      variable->type = *type;
      if (!tokens_.PeekIsDot("ptr")) continue;
      while (tokens_.Peek().kind == TokenKind::kDotWord) {
        if (tokens_.Take().text == "align") tokens_.Take();
      }
    } else if (word == "texref" || word == "samplerref" || word == "surfref") {
      variable->type = Type::kU64;
    } else {
      return tokens_.Fail(absl::StrCat("unknown word '.", word, "'"));
    }
  }
  if (variable->type == Type::kNone || variable->type == Type::kPred) {
    return tokens_.Fail("a variable needs a type");
  }
  variable->location = tokens_.Peek().location;
  absl::string_view name;
  if (!tokens_.ExpectWord(&name)) return false;
  variable->name = std::string(name);
  const uint64_t element = BytesOf(variable->type) * lanes;
  if (!aligned) variable->alignment = static_cast<uint32_t>(element);
  variable->bytes = element;
  bool open = false;
  if (!ParseDimensions(variable, &open)) return false;
  if (tokens_.TakeIf('=')) {
    if (!ParseInitializer(variable)) return false;
    if (open) variable->bytes = variable->initial.size();
    if (variable->initial.size() > variable->bytes) {
      return tokens_.Fail("more initial values than elements");
    }
  }
  return true;
}

bool ModuleParser::ParseDimensions(Variable* variable, bool* open) {
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

bool ModuleParser::ParseInitializer(Variable* variable) {
  if (!tokens_.PeekIs('{')) return ParseInitialValue(variable);
  int depth = 0;
  do {
    if (tokens_.TakeIf('{')) {
      ++depth;
    } else if (tokens_.TakeIf('}')) {
      --depth;
    } else if (tokens_.TakeIf(',')) {
      continue;
    } else if (tokens_.AtEnd() || !ParseInitialValue(variable)) {
      return tokens_.Fail("bad initial value");
    }
  } while (depth > 0);
  return true;
}

bool ModuleParser::AppendInitial(Variable* variable, uint64_t value) {
  const size_t at = variable->initial.size();
  const size_t bytes = BytesOf(variable->type);
  variable->initial.resize(at + bytes);
  std::memcpy(variable->initial.data() + at, &value,
              std::min(bytes, sizeof(value)));
  return true;
}

bool ModuleParser::ParseInitialValue(Variable* variable) {
  uint64_t number = 0;
  if (ConstantExpression(tokens_).Begins()) {
    return ConstantExpression(tokens_).Parse(&number) &&
           AppendInitial(variable, number);
  }
  const bool negative = tokens_.TakeIf('-');
  if (!negative) tokens_.TakeIf('+');
  const Token& token = tokens_.Peek();
  if (token.kind == TokenKind::kWord) {
    return ParseInitialAddress(variable);
  }
  uint64_t bits = token.bits;
  if (token.kind == TokenKind::kFloat64 && variable->type == Type::kF32) {
    double wide;
    std::memcpy(&wide, &bits, sizeof(wide));
    const float narrow = static_cast<float>(negative ? -wide : wide);
    bits = 0;
    std::memcpy(&bits, &narrow, sizeof(narrow));
  } else if (token.kind == TokenKind::kFloat64) {
    bits ^= uint64_t{negative} << 63;
  } else if (token.kind != TokenKind::kFloat32) {
    return tokens_.Fail("expected an initial value");
  }
  tokens_.Take();
  return AppendInitial(variable, bits);
}

// name, name+8, generic(name)+8
bool ModuleParser::ParseInitialAddress(Variable* variable) {
  Relocation relocation;
  relocation.offset = variable->initial.size();
  absl::string_view name;
  if (!tokens_.ExpectWord(&name)) return false;
  if (name == "generic" && tokens_.TakeIf('(')) {
    relocation.generic = true;
    if (!tokens_.ExpectWord(&name) || !tokens_.Expect(')')) return false;
  }
  auto it = globals_.find(std::string(name));
  if (it == globals_.end()) {
    return tokens_.Fail(absl::StrCat("'", name, "' is not declared"));
  }
  relocation.function = it->second.kind == Operand::Kind::kFunction;
  relocation.index = it->second.index;
  if (tokens_.PeekIs('+') || tokens_.PeekIs('-')) {
    const bool negative = tokens_.Take().Is('-');
    uint64_t addend = 0;
    if (!ConstantExpression(tokens_).ParseTerm(&addend)) return false;
    relocation.addend = static_cast<int64_t>(negative ? 0 - addend : addend);
  }
  if (BytesOf(variable->type) != 8) {
    return tokens_.Fail("an address needs a 64-bit element");
  }
  variable->relocations.push_back(relocation);
  return AppendInitial(variable, 0);
}

uint32_t ModuleParser::DeclareFunction(Function function) {
  Operand operand;
  operand.kind = Operand::Kind::kFunction;
  operand.index = static_cast<uint32_t>(module_->functions.size());
  auto [it, added] = globals_.emplace(function.name, operand);
  if (added) {
    module_->functions.push_back(std::move(function));
    return operand.index;
  }
  const bool same_kind = it->second.kind == Operand::Kind::kFunction;
  if (!same_kind || (module_->functions[it->second.index].defined)) {
    tokens_.Fail(absl::StrCat("'", function.name, "' is declared twice"));
    function.name.clear();
    module_->functions.push_back(std::move(function));
    return operand.index;
  }
  module_->functions[it->second.index] = std::move(function);
  return it->second.index;
}

bool ModuleParser::ParseFunction(Linkage linkage, bool kernel) {
  Function function;
  function.kernel = kernel;
  function.external = linkage.external;
  function.visible = linkage.visible;
  function.weak = linkage.weak;
  scopes_.assign(1, Names());
  ranges_.assign(1, {});
  labels_.assign(1, {});
  same_labels_.clear();
  if (!kernel && tokens_.PeekIs('(') &&
      !ParseFormals(&function, &function.results)) {
    return false;
  }
  function.location = tokens_.Peek().location;
  absl::string_view name;
  if (!tokens_.ExpectWord(&name)) return false;
  function.name = std::string(name);
  if (tokens_.PeekIs('(') && !ParseFormals(&function, &function.parameters)) {
    return false;
  }
  if (!ParseFunctionDirectives(&function)) return false;
  const bool has_body = tokens_.PeekIs('{');
  if (!has_body && !tokens_.Expect(';')) return false;
  const uint32_t index = DeclareFunction(std::move(function));
  if (!has_body) return true;
  // The body may declare nothing at module level, so the pointer stays good.
  Function* declared = &module_->functions[index];
  declared->defined = true;
  return ParseBody(declared);
}

bool ModuleParser::ParseFormals(Function* function,
                                std::vector<Operand>* formals) {
  if (!tokens_.Expect('(')) return false;
  if (tokens_.TakeIf(')')) return true;
  do {
    Operand operand;
    if (!ParseFormalParameter(function, &operand)) return false;
    formals->push_back(operand);
  } while (tokens_.TakeIf(','));
  return tokens_.Expect(')');
}

bool ModuleParser::ParseFormalParameter(Function* function, Operand* operand) {
  const bool is_register = tokens_.TakeIfDot("reg");
  if (!is_register && !tokens_.TakeIfDot("param")) {
    return tokens_.Fail("expected .param or .reg");
  }
  Variable variable;
  if (!ParseVariable(Space::kParam, &variable)) return false;
  operand->kind =
      is_register ? Operand::Kind::kRegister : Operand::Kind::kLocalVariable;
  if (is_register) {
    operand->index = static_cast<uint32_t>(function->registers.size());
    function->registers.push_back({variable.name, variable.type});
  } else {
    operand->index = static_cast<uint32_t>(function->variables.size());
  }
  if (!scopes_[0].emplace(variable.name, *operand).second &&
      variable.name != "_") {
    return tokens_.Fail(
        absl::StrCat("'", variable.name, "' is declared twice"));
  }
  if (!is_register) function->variables.push_back(std::move(variable));
  return true;
}

bool ModuleParser::ParseFunctionDirectives(Function* function) {
  while (tokens_.Peek().kind == TokenKind::kDotWord) {
    const absl::string_view word = tokens_.Take().text;
    uint32_t numbers[3];
    if (word == "maxntid") {
      if (!ParseBlockShape(function->max_block)) return false;
    } else if (word == "reqntid") {
      if (!ParseBlockShape(function->required_block)) return false;
    } else if (word == "maxnreg") {
      if (!ParseBlockShape(numbers)) return false;
      function->max_registers = numbers[0];
    } else if (word == "minnctapersm" || word == "maxnctapersm") {
      if (!ParseBlockShape(numbers)) return false;
    } else if (word == "reqnctapercluster") {
      if (!ParseBlockShape(function->required_cluster)) return false;
    } else if (word == "maxclusterrank") {
      if (!ParseBlockShape(numbers)) return false;
      function->max_cluster_blocks = numbers[0];
    } else if (word == "explicitcluster") {
      function->cluster_must_be_set = true;
    } else if (word == "pragma") {
      tokens_.SkipStatement();
    } else if (word != "noreturn" && word != "blocksareclusters" &&
               word != "abi_preserve") {
      return tokens_.Fail(absl::StrCat("unknown directive '.", word, "'"));
    }
  }
  return true;
}

bool ModuleParser::ParseBlockShape(uint32_t shape[3]) {
  shape[0] = shape[1] = shape[2] = 1;
  for (int i = 0; i < 3; ++i) {
    uint64_t value = 0;
    if (!tokens_.ExpectInteger(&value)) return false;
    shape[i] = static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
    if (!tokens_.TakeIf(',')) return true;
  }
  return true;
}

ParseResult Parse(absl::string_view text) {
  ParseResult result;
  // The C API hands over zero-terminated text of which the length may count
  // the zero.
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  ModuleParser(text, &result).Run();
  return result;
}

}  // namespace holdfast::software::ptx
