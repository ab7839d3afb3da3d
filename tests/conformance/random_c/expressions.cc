// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "absl/strings/str_cat.h"
#include "tests/conformance/random_c/writer.h"

namespace holdfast::random_c {
namespace {

// The type in which numbers keep their sign: of 32 bits at least.
Scalar WideOf(Scalar scalar) {
  switch (scalar) {
    case Scalar::kU32:
    case Scalar::kI64:
    case Scalar::kU64:
      return scalar;
    default:
      return Scalar::kI32;
  }
}

std::string Cast(Scalar to, const std::string& text) {
  return absl::StrCat("(", NameOf(to), ")(", text, ")");
}

}  // namespace

std::string Writer::Constant(Scalar scalar) {
  if (scalar == Scalar::kBool) return random_.Chance(50) ? "true" : "false";
  if (IsFloat(scalar)) {
    static constexpr std::array kNumbers = {"0.0", "1.0",   "0.1",   "-2.5",
                                            "3e9", "1e-30", "-7e15", "0.333"};
    return Cast(scalar, random_.Pick(kNumbers));
  }
  uint64_t number = random_.Below(16);
  if (random_.Chance(30)) number = random_.Next() >> random_.Below(64);
  if (random_.Chance(15)) number = uint64_t{1} << random_.Below(64);
  if (random_.Chance(10)) number = 0 - number;
  return Cast(scalar, absl::StrCat(number, "ull"));
}

std::string Writer::Index(size_t extent) {
  if (indices_ > 1 || random_.Chance(35)) {
    return absl::StrCat(random_.Below(extent));
  }
  ++indices_;
  const std::string index = Cast(Scalar::kU32, Leaf(Scalar::kU32));
  --indices_;
  return absl::StrCat(index, " % ", extent, "u");
}

Variable Writer::ScalarIn(Variable variable) {
  while (!variable.type.IsScalar()) {
    if (!variable.type.extents.empty()) {
      absl::StrAppend(&variable.text, "[", Index(variable.type.extents[0]),
                      "]");
      variable.type = variable.type.Element();
      continue;
    }
    const Member& member = random_.Pick(variable.type.record->members);
    variable.in_union = variable.in_union || variable.type.record->is_union;
    absl::StrAppend(&variable.text, ".", member.name);
    variable.type = member.type;
    variable.addressable = variable.addressable && member.bits == 0;
  }
  return variable;
}

std::optional<Variable> Writer::AnyScalarPlace(bool writable) {
  std::vector<const Variable*> found;
  for (const Variable& variable : scope_) {
    if (variable.writable || !writable) found.push_back(&variable);
  }
  if (!writable) {
    for (const Variable& variable : globals_) found.push_back(&variable);
  }
  if (found.empty()) return std::nullopt;
  return ScalarIn(*random_.Pick(found));
}

void Writer::FindPlaces(const Variable& variable, const Type& type,
                        std::vector<Variable>* found) {
  if (variable.type == type) {
    found->push_back(variable);
    return;
  }
  Variable part = variable;
  if (!variable.type.extents.empty()) {
    part.type = variable.type.Element();
    if (part.type.record != type.record && part.type.record == nullptr &&
        part.type.scalar != type.scalar) {
      return;
    }
    absl::StrAppend(&part.text, "[", Index(variable.type.extents[0]), "]");
    return FindPlaces(part, type, found);
  }
  if (variable.type.record == nullptr) return;
  for (const Member& member : variable.type.record->members) {
    if (member.bits != 0) continue;
    part.text = absl::StrCat(variable.text, ".", member.name);
    part.type = member.type;
    // The address of a union's float would let its bits be written.
    part.addressable =
        variable.addressable && !(variable.type.record->is_union);
    FindPlaces(part, type, found);
  }
}

std::optional<Variable> Writer::PlaceOf(const Type& type, bool writable,
                                        bool addressable) {
  std::vector<Variable> found;
  for (const Variable& variable : scope_) {
    if (variable.writable || !writable) FindPlaces(variable, type, &found);
  }
  if (!writable) {
    for (const Variable& variable : globals_) {
      FindPlaces(variable, type, &found);
    }
  }
  std::erase_if(found, [&](const Variable& place) {
    return addressable && !place.addressable;
  });
  if (found.empty()) return std::nullopt;
  return random_.Pick(found);
}

std::string Writer::Converted(const Variable& place, Scalar to) {
  const Scalar from = place.type.scalar;
  if (from == to) return place.text;
  if (to == Scalar::kBool) return absl::StrCat("(", place.text, " != 0)");
  if (IsFloat(from) && !IsFloat(to)) {
    return Cast(to, random_.Chance(50)
                        ? absl::StrCat("whole(", place.text, ")")
                        : absl::StrCat("bits_of(", place.text, ")"));
  }
  return Cast(to, place.text);
}

std::string Writer::Leaf(Scalar scalar) {
  const auto place = AnyScalarPlace(/*writable=*/false);
  if (!place || random_.Chance(20)) return Constant(scalar);
  return Converted(*place, scalar);
}

std::string Writer::Condition(int depth) {
  const Scalar scalar =
      random_.Chance(75) ? AnyInteger(random_) : AnyScalar(random_);
  const Scalar wide = IsFloat(scalar) ? scalar : WideOf(scalar);
  static constexpr std::array kCompare = {"<", ">", "<=", ">=", "==", "!="};
  switch (random_.Below(6)) {
    case 0:
      return absl::StrCat("((u32)", Expression(Scalar::kU32, depth), " % ",
                          random_.Between(2, 5), "u == ", random_.Below(2),
                          "u)");
    case 1:
      if (depth > 0) {
        return absl::StrCat("(", Condition(depth - 1),
                            random_.Chance(50) ? " && " : " || ",
                            Condition(depth - 1), ")");
      }
      break;
    case 2:
      return absl::StrCat("!", Expression(Scalar::kBool, depth));
    default:
      break;
  }
  return absl::StrCat("(", Cast(wide, Expression(scalar, depth)), " ",
                      random_.Pick(kCompare), " ",
                      Cast(wide, Expression(scalar, depth)), ")");
}

std::string Writer::IntegerExpression(Scalar scalar, int depth) {
  const Scalar wide = WideOf(scalar);
  const Scalar open = UnsignedOf(scalar);  // wraps
  const auto operand = [&](Scalar in) {
    return Cast(in, Expression(scalar, depth - 1));
  };
  const auto shift = [&] {
    return absl::StrCat("(", Cast(Scalar::kU32, Expression(Scalar::kU32, 0)),
                        " & ", 8 * BytesOf(open) - 1, ")");
  };
  static constexpr std::array kWrapping = {"+", "-", "*", "&", "|", "^"};
  switch (random_.Below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return Cast(scalar,
                  absl::StrCat(operand(open), " ", random_.Pick(kWrapping), " ",
                               operand(open)));
    case 4:
      return Cast(scalar, absl::StrCat(operand(open), " << ", shift()));
    case 5:
      return Cast(scalar, absl::StrCat(operand(wide), " >> ", shift()));
    case 6:
      return Cast(scalar,
                  absl::StrCat(random_.Chance(50) ? "divide(" : "remainder_of(",
                               operand(wide), ", ", operand(wide), ")"));
    case 7:
      return absl::StrCat("(", Condition(depth - 1), " ? ",
                          Expression(scalar, depth - 1), " : ",
                          Expression(scalar, depth - 1), ")");
    case 8: {  // through another type
      const Scalar other = AnyScalar(random_);
      const Variable value{absl::StrCat("(", Expression(other, depth - 1), ")"),
                           Type{other, nullptr, {}}};
      return Converted(value, scalar);
    }
    case 9:
      return Cast(scalar, absl::StrCat("~", operand(open)));
    case 10: {
      // The quotient of wide numbers takes seconds to compile.
      const bool divides = random_.Chance(1);
      std::string list = Expression(Scalar::kU64, depth - 1);
      for (int i = 1; i < (divides ? 4 : 2); ++i) {
        absl::StrAppend(&list, ", ", Expression(Scalar::kU64, depth - 1));
      }
      return Cast(scalar, absl::StrCat(divides ? "wide(" : "high(", list, ")"));
    }
    default:
      return Cast(scalar, Condition(depth - 1));
  }
}

std::string Writer::FloatExpression(Scalar scalar, int depth) {
  const auto operand = [&] {
    return Cast(scalar, Expression(scalar, depth - 1));
  };
  static constexpr std::array kOperations = {"+", "-", "*", "/"};
  const char* suffix = scalar == Scalar::kF32 ? "f" : "";
  switch (random_.Below(8)) {
    case 0:
      return absl::StrCat("sqrt", suffix, "(", operand(), ")");
    case 1:
      return absl::StrCat("fma", suffix, "(", operand(), ", ", operand(), ", ",
                          operand(), ")");
    case 2:
      return absl::StrCat("(", Condition(depth - 1), " ? ", operand(), " : ",
                          operand(), ")");
    case 3:
      return Cast(scalar, Expression(AnyInteger(random_), depth - 1));
    case 4:
      return absl::StrCat("(-", operand(), ")");
    default:
      return absl::StrCat("(", operand(), " ", random_.Pick(kOperations), " ",
                          operand(), ")");
  }
}

// In parentheses, or one word.
std::string Writer::Expression(Scalar scalar, int depth) {
  if (depth <= 0 || random_.Chance(25)) {
    return absl::StrCat("(", Leaf(scalar), ")");
  }
  if (scalar == Scalar::kBool) return Condition(depth);
  return absl::StrCat("(",
                      IsFloat(scalar) ? FloatExpression(scalar, depth)
                                      : IntegerExpression(scalar, depth),
                      ")");
}

}  // namespace holdfast::random_c
