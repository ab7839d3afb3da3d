// SPDX-License-Identifier: Apache-2.0
//
// Statements that compute values from values.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tests/conformance/forms/operation.h"
#include "tests/conformance/forms/spellings.h"
#include "tests/conformance/random/statements.h"

namespace holdfast::random_ptx {
namespace {

using forms::Kind;
using forms::Operation;
using forms::Results;
using forms::Sources;

Class ClassOf(const Kind& kind) {
  static const auto& classes = *new std::map<Kind, Class>{
      {"pred", Class::kPred},     {"b16", Class::k16},
      {"u16", Class::k16},        {"s16", Class::k16},
      {"b32", Class::k32},        {"u32", Class::k32},
      {"s32", Class::k32},        {"count", Class::k32},
      {"u16x2", Class::k32},      {"s16x2", Class::k32},
      {"b64", Class::k64},        {"u64", Class::k64},
      {"s64", Class::k64},        {"f16", Class::kF16},
      {"bf16", Class::kBF16},     {"f32", Class::kF32},
      {"f64", Class::kF64},       {"f16x2", Class::kF16x2},
      {"bf16x2", Class::kBF16x2},
  };
  const auto found = classes.find(kind);
  return found == classes.end() ? Class::kNone : found->second;
}

struct Choice {
  std::string spelling;
  Operation operation;
};
using Choices = std::vector<Choice>;

// No approximation, and nothing that would show the sign of a NaN.
bool Usable(const forms::Words& words, const Operation& operation) {
  if (!operation.compute || words.opcode() == "copysign" ||
      words.Has("xorsign") || words.Has("b128")) {
    return false;
  }
  auto usable = [](const Kind& kind) { return ClassOf(kind) != Class::kNone; };
  return std::all_of(operation.results.begin(), operation.results.end(),
                     usable) &&
         std::all_of(operation.sources.begin(), operation.sources.end(),
                     usable);
}

std::vector<Choices> ByOpcode() {
  std::map<std::string, Choices> all;
  for (const std::string& spelling : forms::ValueSpellings()) {
    const forms::Words words(spelling);
    for (const Operation& operation : forms::Describe(spelling)) {
      if (!Usable(words, operation)) continue;
      all[words.opcode()].push_back({spelling, operation});
    }
  }
  std::vector<Choices> list;
  for (auto& [opcode, choices] : all) list.push_back(std::move(choices));
  return list;
}

// Addresses and counters: the values whose shapes are analysed.
Choices Common() {
  Choices list;
  for (const char* spelling :
       {"add.s32",      "add.u32",      "sub.s32",     "mul.lo.s32",
        "mul.wide.s32", "mul.wide.u32", "mad.lo.s32",  "mad.wide.u32",
        "shl.b32",      "shl.b64",      "shr.u32",     "shr.s32",
        "and.b32",      "or.b32",       "xor.b32",     "mov.b32",
        "mov.b64",      "add.s64",      "sub.s64",     "mul.lo.s64",
        "cvt.u64.u32",  "cvt.s64.s32",  "cvt.u32.u64", "cvt.u16.u32",
        "cvt.u32.u16",  "cvt.s32.s16",  "min.s32",     "max.u32",
        "selp.b32",     "selp.b64",     "setp.lt.s32", "setp.lt.u32",
        "setp.eq.s32",  "neg.s32",      "and.pred",    "or.pred",
        "not.pred",     "add.f32",      "mul.f32",     "fma.rn.f32",
        "add.f64"}) {
    for (const Operation& operation : forms::Describe(spelling)) {
      if (Usable(forms::Words(spelling), operation)) {
        list.push_back({spelling, operation});
      }
    }
  }
  return list;
}

const Choice& Choose(Random& random) {
  static const auto& all = *new std::vector<Choices>(ByOpcode());
  static const auto& common = *new Choices(Common());
  return random.Chance(45) ? random.Pick(common)
                           : random.Pick(random.Pick(all));
}

bool TakesConstants(const forms::Words& words) {
  static const auto& opcodes = *new std::set<std::string>{
      "add", "sub", "mul", "mad", "and", "or",   "xor", "shl",
      "shr", "min", "max", "fma", "div", "selp", "setp"};
  return opcodes.count(words.opcode()) != 0 && !words.Has("cc");
}

std::string Literal(const Kind& kind, uint64_t bits) {
  if (kind == "f32") return absl::StrFormat("0f%08X", bits);
  if (kind == "f64") return absl::StrFormat("0d%016X", bits);
  if (forms::IsSigned(kind)) {
    const auto value = static_cast<int64_t>(forms::ToInteger(kind, bits));
    return absl::StrCat(value);
  }
  return absl::StrFormat("0x%X", bits);
}

bool HasLiterals(const Kind& kind) {
  const Class of = ClassOf(kind);
  if (kind == "u16x2" || kind == "s16x2") return false;
  return of == Class::k16 || of == Class::k32 || of == Class::k64 ||
         kind == "f32" || kind == "f64";
}

// A register, or a constant.
struct Source {
  size_t at = 0;
  bool constant = false;
  uint64_t bits = 0;
  std::string text;
};

// Packed integers want registers without a type.
size_t RegisterOf(Builder& b, const Kind& kind) {
  const Class of = ClassOf(kind);
  if (kind != "u16x2" && kind != "s16x2") return b.Any(of);
  std::vector<size_t> untyped;
  for (const size_t at : b.Pool(of)) {
    if (b.function().registers[at].type == "b32") untyped.push_back(at);
  }
  return b.random.Pick(untyped);
}

Source SourceOf(Builder& b, const Kind& kind, bool constant) {
  Source source;
  source.constant = constant && HasLiterals(kind);
  if (source.constant) {
    source.bits = b.random.Number() & forms::Mask(forms::BitsOf(kind));
    source.text = Literal(kind, source.bits);
  } else {
    source.at = RegisterOf(b, kind);
    source.text = b.Name(source.at);
  }
  return source;
}

std::vector<Source> SourcesOf(Builder& b, const Choice& choice) {
  const forms::Words words(choice.spelling);
  const auto& kinds = choice.operation.sources;
  const bool may = choice.operation.code.empty() && kinds.size() > 1 &&
                   TakesConstants(words) && b.random.Chance(40);
  const size_t constant = may ? 1 + b.random.Below(kinds.size() - 1) : 0;
  std::vector<Source> list;
  for (size_t i = 0; i < kinds.size(); ++i) {
    list.push_back(SourceOf(b, kinds[i], constant != 0 && i == constant));
  }
  return list;
}

// Different ones, if they are of one class.
std::vector<size_t> ResultsOf(Builder& b, const Operation& operation) {
  const auto& kinds = operation.results;
  if (kinds.size() == 1) return {RegisterOf(b, kinds[0])};
  const Class first = ClassOf(kinds[0]);
  std::vector<size_t> list = b.Several(first, kinds.size());
  for (size_t i = 1; i < kinds.size(); ++i) {
    if (ClassOf(kinds[i]) != first) list[i] = b.Any(ClassOf(kinds[i]));
  }
  return list;
}

std::string CodeOf(Builder& b, const Choice& choice,
                   const std::vector<Source>& sources,
                   const std::vector<size_t>& results) {
  std::string code = choice.operation.code;
  if (code.empty()) {
    code = "$ D0";
    for (size_t i = 0; i < sources.size(); ++i)
      absl::StrAppend(&code, ", S", i);
    code += ";\n";
  }
  std::vector<std::pair<std::string, std::string>> names = {
      {"$", choice.spelling}, {"T0", "%t0"}};
  for (size_t i = 0; i < sources.size(); ++i) {
    names.emplace_back(absl::StrCat("S", i), sources[i].text);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    names.emplace_back(absl::StrCat("D", i), b.Name(results[i]));
  }
  return absl::StrReplaceAll(code, names);
}

// The halves of packed numbers apart.
uint64_t CanonicalHalf(uint64_t bits, uint64_t infinity) {
  return (bits & 0x7FFF) > infinity ? 0x7FFF : bits & 0xFFFF;
}

std::string CanonicalHalfText(const std::string& half, const char* type) {
  return absl::StrCat("setp.nan.", type, " %q0, ", half, ", ", half,
                      ";\nselp.b16 ", half, ", 0x7FFF, ", half, ", %q0;\n");
}

}  // namespace

void Compute(Builder& b) {
  const Choice& choice = Choose(b.random);
  const Operation& operation = choice.operation;
  const std::vector<Source> sources = SourcesOf(b, choice);
  const std::vector<size_t> results = ResultsOf(b, operation);
  b.Plain(CodeOf(b, choice, sources, results), [=](Thread& t) {
    Sources in = {};
    for (size_t i = 0; i < sources.size(); ++i) {
      in[i] = sources[i].constant ? sources[i].bits : t[sources[i].at];
    }
    if (operation.open && operation.open(in)) undefined = true;
    const Results out = operation.compute(in);
    for (size_t i = 0; i < results.size(); ++i) {
      t[results[i]] = out[i] & forms::Mask(forms::BitsOf(operation.results[i]));
    }
  });
}

std::string Canonical(const std::string& from, Class of,
                      const std::string& to) {
  switch (of) {
    case Class::kF32:
      return absl::StrCat("setp.nan.f32 %q0, ", from, ", ", from,
                          ";\nselp.b32 ", to, ", 0x7FFFFFFF, ", from,
                          ", %q0;\n");
    case Class::kF64:
      return absl::StrCat("setp.nan.f64 %q0, ", from, ", ", from,
                          ";\nselp.b64 ", to, ", 0x7FFFFFFFFFFFFFFF, ", from,
                          ", %q0;\n");
    case Class::kF16:
      return absl::StrCat("mov.b16 %u0, ", from, ";\n",
                          CanonicalHalfText("%u0", "f16"), "mov.b16 ", to,
                          ", %u0;\n");
    case Class::kBF16:
      return absl::StrCat("mov.b16 %u0, ", from, ";\n",
                          CanonicalHalfText("%u0", "bf16"), "mov.b16 ", to,
                          ", %u0;\n");
    default:
      break;
  }
  const char* type = of == Class::kF16x2 ? "f16" : "bf16";
  return absl::StrCat(
      "mov.b32 {%u0, %u2}, ", from, ";\n", CanonicalHalfText("%u0", type),
      CanonicalHalfText("%u2", type), "mov.b32 ", to, ", {%u0, %u2};\n");
}

uint64_t Canonical(uint64_t bits, Class of) {
  switch (of) {
    case Class::kF32:
      return (bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFFFFFF : bits;
    case Class::kF64:
      return (bits << 1) > (uint64_t{0x7FF} << 53) ? ~uint64_t{0} >> 1 : bits;
    case Class::kF16:
      return CanonicalHalf(bits, 0x7C00);
    case Class::kBF16:
      return CanonicalHalf(bits, 0x7F80);
    case Class::kF16x2:
      return CanonicalHalf(bits, 0x7C00) | CanonicalHalf(bits >> 16, 0x7C00)
                                               << 16;
    case Class::kBF16x2:
      return CanonicalHalf(bits, 0x7F80) | CanonicalHalf(bits >> 16, 0x7F80)
                                               << 16;
    default:
      return bits;
  }
}

void Convey(Builder& b) {
  static constexpr Class kFloats[] = {Class::kF16,   Class::kBF16,
                                      Class::kF32,   Class::kF64,
                                      Class::kF16x2, Class::kBF16x2};
  const Class of = kFloats[b.random.Below(std::size(kFloats))];
  const int bits = BitsOf(of);
  const Class same = bits == 16   ? Class::k16
                     : bits == 32 ? Class::k32
                                  : Class::k64;
  const size_t real = b.Any(of), integer = b.Any(same);
  if (b.random.Chance(50)) {
    b.Plain(Canonical(b.Name(real), of, b.Name(integer)),
            [=](Thread& t) { t[integer] = Canonical(t[real], of); });
  } else {
    b.Plain(absl::StrCat("mov.b", bits, " ", b.Name(real), ", ",
                         b.Name(integer), ";\n"),
            [=](Thread& t) { t[real] = t[integer]; });
  }
}

}  // namespace holdfast::random_ptx
