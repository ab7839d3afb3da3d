// SPDX-License-Identifier: Apache-2.0
//
// Video instructions of one number: parts of operands, a second operation with
// c, and results that are merged with c.
#include <algorithm>
#include <iterator>

#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

using Wide = __int128;

constexpr const char* kParts[] = {"b0", "b1", "b2", "b3", "h0", "h1"};

// What an instruction names behind its operands; "" where it names nothing.
struct Names {
  std::string d, a, b;
};

std::string Behind(const std::string& operand, const std::string& part) {
  return part.empty() ? operand : operand + "." + part;
}

int BitsIn(const std::string& part) {
  return part.empty() ? 32 : part[0] == 'b' ? 8 : 16;
}

int PlaceOf(const std::string& part) {
  return part.empty() ? 0 : (part[1] - '0') * BitsIn(part);
}

Wide PartOf(const std::string& part, const Kind& kind, uint64_t word) {
  return ToInteger(kind[0] + std::to_string(BitsIn(part)),
                   word >> PlaceOf(part));
}

Wide Clamp(const Kind& kind, int bits, Wide value) {
  const Wide low = IsSigned(kind) ? -(Wide{1} << (bits - 1)) : 0;
  return std::clamp(value, low, low + (Wide{1} << bits) - 1);
}

Wide Of(const Words& words, Wide a, Wide b) {
  const std::string& opcode = words.opcode();
  if (opcode == "vadd") return a + b;
  if (opcode == "vsub") return a - b;
  if (opcode == "vmin") return std::min(a, b);
  if (opcode == "vmax") return std::max(a, b);
  if (opcode == "vabsdiff") return a < b ? b - a : a - b;
  if (opcode == "vshl" || opcode == "vshr") {
    const Wide count = words.Has("wrap") ? b % 32 : std::min<Wide>(b, 32);
    const Wide power = Wide{1} << static_cast<int>(count);
    if (opcode == "vshl") return a * power;
    return a >= 0 ? a / power : -((-a + power - 1) / power);
  }
  const std::string comparison =
      words.OneOf({"eq", "ne", "lt", "le", "gt", "ge"});
  return comparison == "eq"   ? a == b
         : comparison == "ne" ? a != b
         : comparison == "lt" ? a < b
         : comparison == "le" ? a <= b
         : comparison == "gt" ? a > b
                              : a >= b;
}

// Everything but vmad.
class Calculation {
 public:
  Calculation(const Words& words, Names names)
      : words_(words),
        names_(std::move(names)),
        compares_(words.opcode() == "vset"),
        to_(compares_ ? "u32" : words.Type(0)),
        second_(words.OneOf({"add", "min", "max"})) {}

  Results operator()(const Sources& in) const {
    const Wide value = Saturated(in);
    const Wide c = ToInteger(to_, in[2]);
    const Wide combined = second_ == "add"   ? value + c
                          : second_ == "min" ? std::min(value, c)
                          : second_ == "max" ? std::max(value, c)
                                             : value;
    const uint64_t word = Truncate("u32", combined);
    if (names_.d.empty()) return Results{word};
    const uint64_t mask = Mask(BitsIn(names_.d)) << PlaceOf(names_.d);
    return Results{(word << PlaceOf(names_.d) & mask) | (in[2] & ~mask)};
  }

  // PTX computes in 33 bits, which does not say what the minimum or the maximum
  // of c and a number beyond 32 bits is.
  bool IsOpen(const Sources& in) const {
    if (second_ != "min" && second_ != "max") return false;
    const Wide value = Saturated(in);
    return value != Clamp(to_, 32, value);
  }

 private:
  Wide Saturated(const Sources& in) const {
    const size_t first = compares_ ? 0 : 1;
    const Wide value = Of(words_, PartOf(names_.a, words_.Type(first), in[0]),
                          PartOf(names_.b, words_.Type(first + 1), in[1]));
    return words_.Has("sat") ? Clamp(to_, BitsIn(names_.d), value) : value;
  }

  const Words words_;
  const Names names_;
  const bool compares_;
  const Kind to_;
  const std::string second_;
};

Operation Described(const Words& words, const Names& names) {
  const Calculation calculation(words, names);
  const bool takes_c =
      !names.d.empty() || !words.OneOf({"add", "min", "max"}).empty();
  Operation operation;
  operation.results = {"b32"};
  operation.sources.assign(takes_c ? 3 : 2, "b32");
  operation.code = "$ " + Behind("D0", names.d) + ", " + Behind("S0", names.a) +
                   ", " + Behind("S1", names.b) + (takes_c ? ", S2;\n" : ";\n");
  operation.compute = calculation;
  operation.open = [=](const Sources& in) { return calculation.IsOpen(in); };
  return operation;
}

// Whole operands, parts of sources, and each part of the result.
std::vector<Operation> Numbers(const Words& words) {
  constexpr size_t kCount = std::size(kParts);
  std::vector<Operation> operations = {Described(words, {})};
  if (!words.OneOf({"add", "min", "max"}).empty()) {
    operations.push_back(Described(words, {"", "h1", "b2"}));
    return operations;
  }
  operations.push_back(Described(words, {"", "b3", "h0"}));
  for (size_t i = 0; i < kCount; ++i) {
    operations.push_back(Described(words, {kParts[i], kParts[(i + 1) % kCount],
                                           kParts[(i + 3) % kCount]}));
  }
  operations.push_back(Described(words, {"b1", "", ""}));
  return operations;
}

// vmad with signs in front of its operands: ' ' or '-'.
struct Signs {
  char a, b, c;
};

Operation MultiplyAdd(const Words& words, const Names& names, Signs signs) {
  const Kind a = words.Type(1), b = words.Type(2);
  const bool product = (signs.a == '-') != (signs.b == '-');
  const bool minus_c = signs.c == '-';
  const bool is_signed = IsSigned(a) || IsSigned(b) || product || minus_c;
  const int scale = words.Has("shr7") ? 7 : words.Has("shr15") ? 15 : 0;
  const bool po = words.Has("po"), sat = words.Has("sat");
  const auto spelled = [](char sign, const std::string& text) {
    return sign == '-' ? "-" + text : text;
  };
  Operation operation;
  operation.results = {"b32"};
  operation.sources.assign(3, "b32");
  operation.code = "$ D0, " + spelled(signs.a, Behind("S0", names.a)) + ", " +
                   spelled(signs.b, Behind("S1", names.b)) + ", " +
                   spelled(signs.c, "S2") + ";\n";
  operation.compute = [=](const Sources& in) {
    const Wide factors = PartOf(names.a, a, in[0]) * PartOf(names.b, b, in[1]);
    // A signed c is -c - 1 with its bits inverted, and then gets one.
    const Wide c = ToInteger(is_signed ? "s32" : "u32",
                             minus_c ? ~in[2] & 0xFFFFFFFF : in[2]);
    Wide sum = (product ? -factors : factors) + c + (po || minus_c ? 1 : 0);
    // Division that rounds down.
    const Wide power = Wide{1} << scale;
    sum = (sum - ((sum % power) + power) % power) / power;
    if (sat) sum = Clamp(is_signed ? "s32" : "u32", 32, sum);
    return Results{Truncate("u32", sum)};
  };
  // An unsigned c that is subtracted has no 32 bits of its own.
  const bool narrow = minus_c && !IsSigned(a) && !IsSigned(b);
  operation.open = [narrow](const Sources& in) {
    return narrow && (in[2] >> 31) != 0;
  };
  return operation;
}

std::vector<Operation> MultiplyAdds(const Words& words) {
  const Signs none = {' ', ' ', ' '};
  std::vector<Operation> operations = {
      MultiplyAdd(words, {}, none), MultiplyAdd(words, {"", "b1", "h1"}, none)};
  if (words.Has("po")) return operations;
  operations.push_back(MultiplyAdd(words, {}, {'-', ' ', ' '}));
  operations.push_back(MultiplyAdd(words, {"", "h0", "b3"}, {' ', '-', ' '}));
  operations.push_back(MultiplyAdd(words, {"", "b0", ""}, {'-', '-', ' '}));
  operations.push_back(MultiplyAdd(words, {"", "", "h0"}, {' ', ' ', '-'}));
  return operations;
}

}  // namespace

std::vector<Operation> DescribeScalarVideo(const Words& words) {
  static const std::vector<std::string> opcodes = {
      "vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"};
  if (words.opcode() == "vmad") return MultiplyAdds(words);
  if (std::find(opcodes.begin(), opcodes.end(), words.opcode()) ==
      opcodes.end()) {
    return {};
  }
  return Numbers(words);
}

}  // namespace holdfast::forms
