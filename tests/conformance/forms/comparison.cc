// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

// -1, 0, 1; 2 if a NaN is among them.
int Order(const Kind& kind, uint64_t a, uint64_t b, bool ftz) {
  if (!IsFloat(kind)) {
    const __int128 x = ToInteger(kind, a), y = ToInteger(kind, b);
    return x < y ? -1 : x > y;
  }
  a &= Mask(BitsOf(kind)), b &= Mask(BitsOf(kind));
  if (IsNan(kind, a) || IsNan(kind, b)) return 2;
  if (ftz) a = Flushed(kind, a), b = Flushed(kind, b);
  const long double x = Decode(kind, a), y = Decode(kind, b);
  return x < y ? -1 : x > y;
}

bool Holds(const std::string& comparison, int order) {
  if (comparison == "num") return order != 2;
  if (comparison == "nan") return order == 2;
  if (order == 2) return comparison.size() == 3;  // equ, ltu, ...
  const std::string name = comparison.substr(0, 2);
  if (name == "eq") return order == 0;
  if (name == "ne") return order != 0;
  if (name == "lt" || name == "lo") return order < 0;
  if (name == "le" || name == "ls") return order <= 0;
  if (name == "gt" || name == "hi") return order > 0;
  return order >= 0;
}

bool Combine(const std::string& with, bool a, bool b) {
  return with == "and"   ? a && b
         : with == "or"  ? a || b
         : with == "xor" ? a != b
                         : a;
}

struct Comparison {
  Kind kind;
  std::string name;
  std::string with;  // and, or, xor, or empty
  bool ftz;

  // For the half at `shift` of packed numbers.
  bool Of(const Sources& in, int shift = 0) const {
    return Holds(name, Order(kind, in[0] >> shift, in[1] >> shift, ftz));
  }
};

Comparison ComparisonOf(const Words& words, const Kind& kind) {
  const Kind half = HalfOf(kind);
  return {
      half.empty() ? kind : half,
      words.OneOf({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs",
                   "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}),
      words.OneOf({"and", "or", "xor"}), words.Has("ftz")};
}

// One result, two, and with the third source negated.
std::vector<Operation> SetPredicate(const Words& words) {
  const Kind kind = words.Type();
  const Comparison comparison = ComparisonOf(words, kind);
  const bool packed = !HalfOf(kind).empty();
  const std::string source = comparison.with.empty() ? "" : ", S2";
  std::vector<Operation> operations;
  auto add = [&](size_t results, bool negated) {
    Operation operation;
    operation.results.assign(results, "pred");
    operation.sources = {kind, kind};
    if (!source.empty()) operation.sources.push_back("pred");
    operation.code = std::string("$ D0") + (results == 2 ? "|D1" : "") +
                     ", S0, S1" + (negated ? ", !S2" : source) + ";\n";
    operation.compute = [=](const Sources& in) {
      const bool with = (in[2] != 0) != negated;
      const bool first = comparison.Of(in);
      const bool second = packed ? comparison.Of(in, 16) : !first;
      Results out = {uint64_t{Combine(comparison.with, first, with)}};
      if (results == 2) out[1] = Combine(comparison.with, second, with);
      return out;
    };
    operations.push_back(operation);
  };
  // Numbers of 16 bits give one predicate, pairs of them always two.
  if (!packed) add(1, false);
  if (kind != "f16" && kind != "bf16") add(2, false);
  if (!source.empty()) add(packed ? 2 : 1, true);
  return operations;
}

std::vector<Operation> Set(const Words& words) {
  const Kind to = words.Type(0), kind = words.Type(1);
  const Comparison comparison = ComparisonOf(words, kind);
  const bool packed = !HalfOf(kind).empty();
  const Kind each = HalfOf(to).empty() ? to : HalfOf(to);
  const uint64_t yes =
      IsFloat(each) ? Encode(each, 1) : Mask(packed ? 16 : BitsOf(each));
  Operation operation;
  operation.results = {to};
  operation.sources = {kind, kind};
  if (!comparison.with.empty()) operation.sources.push_back("pred");
  operation.compute = [=](const Sources& in) {
    const bool with = in[2] != 0;
    uint64_t out = Combine(comparison.with, comparison.Of(in), with) ? yes : 0;
    if (packed && Combine(comparison.with, comparison.Of(in, 16), with)) {
      out |= yes << 16;
    }
    return Results{out};
  };
  return {operation};
}

std::vector<Operation> Select(const Words& words) {
  const Kind kind = words.Type(0);
  Operation operation;
  operation.results = {kind};
  operation.sources = {kind, kind, "pred"};
  if (words.opcode() == "selp") {
    operation.compute = [](const Sources& in) {
      return Results{in[2] != 0 ? in[0] : in[1]};
    };
    return {operation};
  }
  const Kind with = words.Type(1);
  const bool ftz = words.Has("ftz");
  operation.sources[2] = with;
  operation.compute = [=](const Sources& in) {
    const int order = Order(with, in[2], 0, ftz);
    return Results{order == 0 || order == 1 ? in[0] : in[1]};
  };
  return {operation};
}

}  // namespace

std::vector<Operation> DescribeComparison(const Words& words) {
  if (words.opcode() == "setp") return SetPredicate(words);
  if (words.opcode() == "set") return Set(words);
  if (words.opcode() == "selp" || words.opcode() == "slct") {
    return Select(words);
  }
  return {};
}

}  // namespace holdfast::forms
