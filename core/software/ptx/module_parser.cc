// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/module_parser.h"

#include <cstddef>
#include <string>
#include <utility>

#include "core/software/ptx/body_parser.h"
#include "core/software/ptx/prototype_parser.h"

namespace holdfast::software::ptx {
namespace {

// The most instructions, registers and variables of all aliases together: an
// alias is a copy of its function.
constexpr size_t kMostCopied = size_t{1} << 18;

}  // namespace

void ModuleParser::Run() {
  while (!tokens_.AtEnd()) {
    const Token before = tokens_.Peek();
    if (ParseTopLevel()) continue;
    if (result_.unsupported_version) return;
    tokens_.SkipStatement();
    tokens_.TakeIf('}');
    if (tokens_.Peek().text.data() == before.text.data()) tokens_.Take();
  }
  ResolveAliases();
  if (module_.version == 0 && result_.ok()) {
    tokens_.FailAt({1, 1}, "no .version directive");
  }
}

bool ModuleParser::ParseTopLevel() {
  const Token& token = tokens_.Peek();
  if (tokens_.TakeIf(';')) return true;
  if (token.kind != TokenKind::kDotWord) {
    return tokens_.Fail(
        absl::StrCat("expected a directive before '", token.text, "'"));
  }
  if (tokens_.TakeIfDot("version")) return ParseVersion();
  if (module_.version == 0) {
    return tokens_.Fail("the first directive must be .version");
  }
  if (tokens_.TakeIfDot("target")) return ParseTarget();
  if (tokens_.TakeIfDot("address_size")) return ParseAddressSize();
  if (tokens_.TakeIfDot("file")) return ParseFile();
  if (tokens_.TakeIfDot("section")) return SkipSection();
  if (tokens_.TakeIfDot("alias")) return ParseAlias();
  if (tokens_.TakeIfDot("pragma")) {
    tokens_.SkipStatement();
    return true;
  }
  return ParseDeclaration();
}

bool ModuleParser::ParseDeclaration() {
  const Linkage linkage = ParseLinkage();
  if (tokens_.TakeIfDot("entry")) return ParseFunction(linkage, true);
  if (tokens_.TakeIfDot("func")) return ParseFunction(linkage, false);
  const Token& word = tokens_.Peek();
  const auto space = SpaceFromSpelling(word.text);
  if (word.kind != TokenKind::kDotWord || !space || *space == Space::kParam ||
      *space == Space::kLocal) {
    return tokens_.Fail(absl::StrCat("unknown directive '.", word.text, "'"));
  }
  tokens_.Take();
  return variables_.ParseAll(
      *space, linkage,
      {&module_.variables, Operand::Kind::kVariable, &globals_});
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
  for (const char c : token.text) {
    if (c >= '0' && c <= '9') version = version * 10 + (c - '0');
  }
  module_.version = version;
  if (version <= kNewestVersion) return true;
  result_.unsupported_version = true;
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
    for (const char c : token.text.substr(3, 4)) {
      module_.own_features = c < '0' || c > '9';
      if (module_.own_features) break;
      module_.target = module_.target * 10 + (c - '0');
    }
  } while (tokens_.TakeIf(','));
  return true;
}

bool ModuleParser::ParseAddressSize() {
  uint64_t bits = 0;
  if (!tokens_.ExpectInteger(&bits)) return false;
  module_.address_bits = bits == 32 ? 32 : 64;
  return bits == 64 ||
         tokens_.Fail("Holdfast runs PTX with .address_size 64 only");
}

// .file 1 "kernel.cu", and perhaps a time and a size
bool ModuleParser::ParseFile() {
  constexpr uint64_t kMaxFiles = 1 << 16;
  uint64_t number = 0;
  if (!tokens_.ExpectInteger(&number)) return false;
  if (tokens_.Peek().kind == TokenKind::kString && number < kMaxFiles) {
    if (module_.files.size() <= number) module_.files.resize(number + 1);
    module_.files[number] = std::string(tokens_.Peek().text);
  }
  while (tokens_.Peek().kind == TokenKind::kInteger ||
         tokens_.Peek().kind == TokenKind::kString || tokens_.PeekIs(',')) {
    tokens_.Take();
  }
  return true;
}

// .alias name, function;
bool ModuleParser::ParseAlias() {
  uint32_t indices[2] = {0, 0};
  for (uint32_t& index : indices) {
    absl::string_view name;
    if (&index != indices && !tokens_.Expect(',')) return false;
    if (!tokens_.ExpectWord(&name)) return false;
    const auto found = globals_.find(name);
    if (found == globals_.end() ||
        found->second.kind != Operand::Kind::kFunction) {
      return tokens_.Fail(absl::StrCat("'", name, "' is no declared function"));
    }
    index = found->second.index;
  }
  aliases_.emplace_back(indices[0], indices[1]);
  return tokens_.Expect(';');
}

// An alias is a function of its own, with the same body: nothing but its
// address tells the two apart.
void ModuleParser::ResolveAliases() {
  size_t copied = 0;
  for (const auto& [alias, target] : aliases_) {
    const Function& declared = module_.functions[alias];
    const Function& defined = module_.functions[target];
    copied += defined.body.size() + defined.registers.size() +
              defined.variables.size();
    if (!defined.defined || declared.defined || defined.kernel ||
        copied > kMostCopied) {
      tokens_.FailAt(
          declared.location,
          absl::StrCat("'", declared.name, "' cannot be an alias of '",
                       defined.name, "'",
                       copied > kMostCopied ? ": aliases are too large" : ""));
      return;
    }
    Function function = defined;
    function.name = declared.name;
    function.visible = declared.visible;
    function.weak = declared.weak;
    function.external = false;
    module_.functions[alias] = std::move(function);
  }
}

bool ModuleParser::SkipSection() {
  tokens_.Take();  // its name
  if (!tokens_.Expect('{')) return false;
  while (!tokens_.AtEnd() && !tokens_.TakeIf('}')) tokens_.Take();
  return true;
}

Linkage ModuleParser::ParseLinkage() {
  Linkage linkage;
  for (;;) {
    if (tokens_.TakeIfDot("extern")) {
      linkage.external = true;
    } else if (tokens_.TakeIfDot("visible")) {
      linkage.visible = true;
    } else if (tokens_.TakeIfDot("weak") || tokens_.TakeIfDot("common")) {
      linkage.visible = true;
      linkage.weak = true;
    } else {
      return linkage;
    }
  }
}

bool ModuleParser::ParseFunction(const Linkage& linkage, bool kernel) {
  Function function;
  function.kernel = kernel;
  function.external = linkage.external;
  function.visible = linkage.visible;
  function.weak = linkage.weak;
  Names formals;
  if (!PrototypeParser(tokens_, variables_).Parse(&function, &formals)) {
    return false;
  }
  const bool has_body = tokens_.PeekIs('{');
  if (!has_body && !tokens_.Expect(';')) return false;
  Function& declared = DeclareFunction(std::move(function));
  if (!has_body) return true;
  // A body declares no functions, so that the reference stays good.
  declared.defined = true;
  return BodyParser(tokens_, globals_, std::move(formals), module_, declared)
      .Parse();
}

Function& ModuleParser::DeclareFunction(Function function) {
  std::vector<Function>& functions = module_.functions;
  Operand operand;
  operand.kind = Operand::Kind::kFunction;
  operand.index = static_cast<uint32_t>(functions.size());
  const auto [it, added] = globals_.emplace(function.name, operand);
  if (added) return functions.emplace_back(std::move(function));
  const Operand& known = it->second;
  if (known.kind == Operand::Kind::kFunction &&
      !functions[known.index].defined) {
    return functions[known.index] = std::move(function);
  }
  tokens_.Fail(absl::StrCat("'", function.name, "' is declared twice"));
  function.name.clear();
  return functions.emplace_back(std::move(function));
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
