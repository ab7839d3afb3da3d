// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

using Wide = __int128;
using Compute = std::function<Wide(const std::array<Wide, 4>&)>;

Operation Scalar(const Kind& result, std::vector<Kind> sources,
                 const Compute& compute) {
  Operation operation;
  operation.results = {result};
  operation.sources = sources;
  operation.compute = [=](const Sources& in) {
    std::array<Wide, 4> values = {};
    for (size_t i = 0; i < sources.size(); ++i) {
      values[i] = ToInteger(sources[i], in[i]);
    }
    return Results{Truncate(result, compute(values))};
  };
  return operation;
}

Wide Clamp(const Kind& kind, Wide value) {
  const Wide top = Wide{1} << (BitsOf(kind) - 1);
  return std::clamp(value, -top, top - 1);
}

Kind Widened(const Kind& kind) {
  return kind[0] + std::to_string(2 * BitsOf(kind));
}

// Which part of a product the form gives; mul24 has products of 48 bits.
std::function<Wide(Wide)> PartOf(const Words& words, int bits) {
  const bool high = words.Has("hi");
  return [=](Wide product) { return high ? product >> bits : product; };
}

Wide Low24(const Kind& kind, Wide value) {
  const Wide low = value & 0xFFFFFF;
  return IsSigned(kind) && (low >> 23) != 0 ? low - (Wide{1} << 24) : low;
}

std::vector<Operation> Product(const Words& words) {
  const Kind kind = words.Type();
  const bool adds = words.opcode() == "mad" || words.opcode() == "mad24";
  const bool narrow = words.opcode() == "mul24" || words.opcode() == "mad24";
  const Kind result = words.Has("wide") ? Widened(kind) : kind;
  const bool saturate = words.Has("sat");
  const auto part = PartOf(words, narrow ? 16 : BitsOf(kind));
  std::vector<Kind> sources = {kind, kind};
  if (adds) sources.push_back(result);
  return {Scalar(result, sources, [=](const auto& in) {
    const Wide product =
        narrow ? Low24(kind, in[0]) * Low24(kind, in[1]) : in[0] * in[1];
    // The low half of a product of unsigned 64-bit numbers is exact even if
    // the sign bit of the product is lost; the high half is not.
    const bool unsigned_high = kind == "u64" && words.Has("hi");
    const Wide taken =
        unsigned_high
            ? static_cast<Wide>(static_cast<unsigned __int128>(product) >> 64)
            : part(product);
    const Wide sum = taken + in[2];
    return saturate
               ? Clamp(result, ToInteger(kind, Truncate(kind, taken)) + in[2])
               : sum;
  })};
}

std::vector<Operation> Quotient(const Words& words) {
  const Kind kind = words.Type();
  const bool remainder = words.opcode() == "rem";
  Operation operation = Scalar(kind, {kind, kind}, [=](const auto& in) -> Wide {
    if (in[1] == 0) return 0;
    return remainder ? in[0] % in[1] : in[0] / in[1];
  });
  operation.open = [kind](const Sources& in) {
    return ToInteger(kind, in[1]) == 0;
  };
  return {operation};
}

// One function of numbers, in the scalar type or in both halves.
std::vector<Operation> Plain(const Words& words, size_t count,
                             const Compute& compute) {
  const Kind kind = words.Type();
  const Kind half = HalfOf(kind);
  const Kind each = half.empty() ? kind : half;
  const bool saturate = words.Has("sat");
  const bool relu = words.Has("relu");
  const Operation scalar =
      Scalar(each, std::vector<Kind>(count, each), [=](const auto& in) {
        Wide value = compute(in);
        if (saturate) value = Clamp(each, value);
        return relu ? std::max<Wide>(value, 0) : value;
      });
  if (half.empty()) return {scalar};
  return {Packed(kind, count,
                 [=](const Sources& in) { return scalar.compute(in)[0]; })};
}

}  // namespace

std::vector<Operation> DescribeInteger(const Words& words) {
  const std::string& opcode = words.opcode();
  const Kind kind = words.Type();
  if (kind.empty() || words.types() != 1 || words.Has("cc")) return {};
  const Kind each = HalfOf(kind).empty() ? kind : HalfOf(kind);
  if (IsFloat(each) || each[0] == 'b') return {};
  if (opcode == "add") {
    return Plain(words, 2, [](const auto& in) { return in[0] + in[1]; });
  }
  if (opcode == "sub") {
    return Plain(words, 2, [](const auto& in) { return in[0] - in[1]; });
  }
  if (opcode == "min") {
    return Plain(words, 2,
                 [](const auto& in) { return std::min(in[0], in[1]); });
  }
  if (opcode == "max") {
    return Plain(words, 2,
                 [](const auto& in) { return std::max(in[0], in[1]); });
  }
  if (opcode == "neg") {
    return Plain(words, 1, [](const auto& in) { return -in[0]; });
  }
  if (opcode == "abs") {
    return Plain(words, 1,
                 [](const auto& in) { return in[0] < 0 ? -in[0] : in[0]; });
  }
  if (opcode == "sad") {
    return Plain(words, 3, [](const auto& in) {
      return in[2] + (in[0] < in[1] ? in[1] - in[0] : in[0] - in[1]);
    });
  }
  if (opcode == "mul" || opcode == "mad" || opcode == "mul24" ||
      opcode == "mad24") {
    return Product(words);
  }
  if (opcode == "div" || opcode == "rem") return Quotient(words);
  return {};
}

namespace {

// add.cc and the like leave a carry, which a second instruction shows; addc
// and the like take one, which an instruction in front makes. The flag is the
// carry of an adder that computes a - b as a + ~b + 1. `mixed`: the other
// instruction is a sum for a difference, and a difference for a sum.
Operation CarryOperation(const Words& words, bool mixed) {
  const std::string& opcode = words.opcode();
  const bool takes = opcode == "addc" || opcode == "subc" || opcode == "madc";
  const bool leaves = words.Has("cc");
  const Kind kind = words.Type();
  const int bits = BitsOf(kind);
  const bool subtracts = opcode == "sub" || opcode == "subc";
  const bool multiplies = opcode == "mad" || opcode == "madc";
  const std::string width = std::to_string(bits);
  const size_t carry = multiplies ? 3 : 2;  // the source of the carry
  Operation operation;
  operation.sources.assign(multiplies ? 3 : 2, kind);
  operation.results = {kind};
  std::string& code = operation.code;
  if (takes) {
    operation.sources.push_back("u32");
    const std::string made = "S" + std::to_string(carry);
    // All ones carry when added, and any number borrows from zero.
    code += subtracts != mixed ? "sub.cc.u32 T0, 0, " + made + ";\n"
                               : "add.cc.u32 T0, " + made + ", 0xFFFFFFFF;\n";
  }
  code += "$ D0, S0, S1" + std::string(multiplies ? ", S2" : "") + ";\n";
  if (leaves) {
    operation.results.push_back("u" + width);
    code += (subtracts != mixed ? "subc.u" : "addc.u") + width + " D1, 0, 0;\n";
  }
  const bool high = words.Has("hi");
  operation.compute = [=](const Sources& in) {
    Wide taken = 0;
    if (takes) {
      const bool is_set = (in[carry] != 0) == (subtracts == mixed);
      taken = is_set != subtracts ? 1 : 0;
    }
    Wide a = static_cast<Wide>(in[0]);
    Wide b = static_cast<Wide>(in[1]);
    if (multiplies) {
      const auto product = static_cast<unsigned __int128>(
          ToInteger(kind, in[0]) * ToInteger(kind, in[1]));
      a = static_cast<Wide>(
          static_cast<uint64_t>(high ? product >> bits : product) & Mask(bits));
      b = static_cast<Wide>(in[2]);
    }
    const Wide sum = subtracts ? a - b - taken : a + b + taken;
    const uint64_t low = static_cast<uint64_t>(sum) & Mask(bits);
    if (!leaves) return Results{low};
    const bool sets = subtracts ? sum >= 0 : (sum >> bits) != 0;
    if (subtracts != mixed) return Results{low, sets ? 0 : Mask(bits)};
    return Results{low, sets ? 1u : 0u};
  };
  return operation;
}

}  // namespace

std::vector<Operation> DescribeCarry(const Words& words) {
  const std::string& opcode = words.opcode();
  const bool takes = opcode == "addc" || opcode == "subc" || opcode == "madc";
  if (!takes && !words.Has("cc")) return {};
  return {CarryOperation(words, /*mixed=*/false),
          CarryOperation(words, /*mixed=*/true)};
}

}  // namespace holdfast::forms
