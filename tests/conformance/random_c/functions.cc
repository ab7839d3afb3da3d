// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/conformance/random_c/writer.h"

namespace holdfast::random_c {
namespace {

// Statements of one call, at most.
constexpr double kMostOfAFunction = 150;
constexpr double kMostOfARecursion = 30;
constexpr int kDepth = 4;  // of recursion, at most

// Of a function pointer or a table of them.
std::string Pointer(const std::string& signature, const std::string& name,
                    size_t extent) {
  std::string text = signature;
  const std::string declarator =
      extent == 0 ? absl::StrCat("(*", name, ")")
                  : absl::StrCat("(*", name, "[", extent, "])");
  text.replace(text.find('@'), 1, declarator);
  return text;
}

}  // namespace

Type Writer::AnyValueType(bool small) {
  Type type;
  type.scalar = AnyScalar(random_);
  if (random_.Chance(40) || records_.empty()) return type;
  type.record = &random_.Pick(records_);
  type.scalar = Scalar::kI32;
  if (small && type.Bytes() > 200) type.record = nullptr;
  return type;
}

// With "@" for the name, if that is empty.
std::string Writer::SignatureOf(const Group& group, const std::string& name,
                                bool names) const {
  std::vector<std::string> formals;
  if (group.recursive) formals.push_back(names ? "i32 depth" : "i32");
  for (size_t i = 0; i < group.formals.size(); ++i) {
    const Formal& formal = group.formals[i];
    std::string text = formal.type.Name();
    if (formal.pass == Formal::Pass::kConstPointer) text = "const " + text;
    if (formal.pass != Formal::Pass::kValue) text += "*";
    if (names) absl::StrAppend(&text, " a", i);
    formals.push_back(text);
  }
  return absl::StrCat(group.result.Name(), " ", name.empty() ? "@" : name, "(",
                      absl::StrJoin(formals, ", "), ")");
}

// Half of them are inlined where the compiler likes.
void Writer::WriteGroup(bool recursive) {
  Group group;
  group.recursive = recursive;
  group.result = AnyValueType(recursive);
  const size_t formals = random_.Between(1, 4);
  for (size_t i = 0; i < formals; ++i) {
    Formal formal{AnyValueType(recursive)};
    if (random_.Chance(30)) {
      formal.pass = random_.Chance(50) ? Formal::Pass::kPointer
                                       : Formal::Pass::kConstPointer;
    }
    group.formals.push_back(formal);
  }
  const size_t count =
      recursive ? random_.Between(1, 2) : random_.Between(1, 3);
  for (size_t i = 0; i < count; ++i) {
    group.functions.push_back(NewName("fn"));
    program_.device.inner.push_back({absl::StrCat(
        "NOINLINE ", SignatureOf(group, group.functions.back(), false),
        ";\n")});
  }
  if (random_.Chance(30)) WriteTable(&group);
  double cost = 0;
  for (size_t i = 0; i < count; ++i) {
    WriteFunction(group, i);
    double one = cost_;
    // Two calls in each, to the bottom.
    if (recursive) one *= own_calls_ > 1 ? (2 << kDepth) : kDepth + 1;
    cost = std::max(cost, one);
  }
  group.cost = cost;
  groups_.push_back(group);
}

void Writer::WriteTable(Group* group) {
  group->constant_table = NewName("t");
  program_.device.inner.push_back(
      {absl::StrCat(random_.Chance(50) ? "CONSTANT " : "DEVICE ",
                    Pointer(SignatureOf(*group, "", false),
                            group->constant_table, group->functions.size()),
                    " = {", absl::StrJoin(group->functions, ", "), "};\n")});
}

void Writer::WriteFunction(const Group& group, size_t at) {
  program_.device.inner.push_back(
      {absl::StrCat("NOINLINE ", SignatureOf(group, group.functions[at], true),
                    " {\n"),
       {},
       "}\n"});
  nodes_ = &program_.device.inner.back().inner;
  scope_.clear();
  in_kernel_ = false;
  own_group_ = group.recursive ? &group : nullptr;
  own_calls_ = 0;
  result_ = group.result;
  cost_ = 0;
  rounds_ = 1;
  most_ = group.recursive ? kMostOfARecursion : kMostOfAFunction;
  for (size_t i = 0; i < group.formals.size(); ++i) {
    const Formal& formal = group.formals[i];
    const bool value = formal.pass == Formal::Pass::kValue;
    scope_.push_back(
        {value ? absl::StrCat("a", i) : absl::StrCat("(*a", i, ")"),
         formal.type, formal.pass != Formal::Pass::kConstPointer});
  }
  if (group.recursive) {
    scope_.push_back({"depth", Type{Scalar::kI32, nullptr, {}}, false, false});
    Emit(absl::StrCat("if (depth <= 0) return ", Initial(group.result), ";\n"),
         false);
  }
  const size_t locals = random_.Between(0, 1);
  for (size_t i = 0; i < locals; ++i) Declare();
  if (random_.Chance(50)) {
    Type array{AnyScalar(random_), nullptr, {random_.Between(2, 9)}};
    AddLocal(array);
  }
  Statements(random_.Between(1, 3), 2);
  if (group.recursive) {
    Call(group, absl::StrCat("depth - ", random_.Between(1, 2)));
    Statements(random_.Between(0, 1), 1);
  }
  Emit(absl::StrCat("return ", Initial(group.result), ";\n"), false);
  result_.reset();
}

// A function by its name, through a pointer, or through a table of this call
// or of all.
std::string Writer::TargetOf(const Group& group) {
  const auto& functions = group.functions;
  const std::string signature = SignatureOf(group, "", false);
  switch (random_.Below(4)) {
    case 0: {
      const std::string table = NewName("t");
      const size_t extent = random_.Between(1, 4);
      std::vector<std::string> entries;
      for (size_t i = 0; i < extent; ++i) {
        entries.push_back(random_.Pick(functions));
      }
      Emit(absl::StrCat(Pointer(signature, table, extent), " = {",
                        absl::StrJoin(entries, ", "), "};\n"),
           false);
      return absl::StrCat(table, "[", Index(extent), "]");
    }
    case 1: {
      const std::string pointer = NewName("t");
      Emit(absl::StrCat(Pointer(signature, pointer, 0), " = ", Condition(1),
                        " ? ", random_.Pick(functions), " : ",
                        random_.Pick(functions), ";\n"),
           false);
      return pointer;
    }
    case 2:
      if (!group.constant_table.empty()) {
        return absl::StrCat(group.constant_table, "[", Index(functions.size()),
                            "]");
      }
      break;
    default:
      break;
  }
  return random_.Pick(functions);
}

// None if there is nothing that a pointer could point to.
std::optional<std::string> Writer::Argument(const Formal& formal) {
  if (formal.pass == Formal::Pass::kValue) return Initial(formal.type);
  const bool writable = formal.pass == Formal::Pass::kPointer;
  auto place = PlaceOf(formal.type, writable, /*addressable=*/true);
  if (!place) {
    AddLocal(formal.type);
    place = scope_.back();
  }
  return absl::StrCat("&", place->text);
}

bool Writer::CanCall(const Group& group) const {
  return cost_ + rounds_ * group.cost <= most_;
}

bool Writer::Call(const Group& group, const std::string& depth) {
  if (&group == own_group_) ++own_calls_;
  std::vector<std::string> arguments;
  if (group.recursive) arguments.push_back(depth);
  for (const Formal& formal : group.formals) {
    const auto argument = Argument(formal);
    if (!argument) return false;
    arguments.push_back(*argument);
  }
  const std::string target = TargetOf(group);
  const std::string result = NewName("r");
  Emit(absl::StrCat(group.result.Declare(result), " = ", target, "(",
                    absl::StrJoin(arguments, ", "), ");\n"),
       false);
  cost_ += rounds_ * group.cost;
  scope_.push_back({result, group.result});
  if (const auto to = PlaceOf(group.result, true, false);
      to && random_.Chance(70)) {
    const bool canonical =
        to->in_union && IsFloat(group.result.scalar) && group.result.IsScalar();
    Emit(absl::StrCat(to->text, canonical ? " = canon(" : " = ", result,
                      canonical ? ");\n" : ";\n"));
  }
  return true;
}

void Writer::CallAny() {
  // Not in a loop: each call would call again in each round.
  if (own_group_ != nullptr && own_calls_ == 0 && loops_ == 0 &&
      random_.Chance(40)) {
    Call(*own_group_, "depth - 1");
    return;
  }
  std::vector<const Group*> groups;
  for (const Group& group : groups_) {
    if (CanCall(group)) groups.push_back(&group);
  }
  if (groups.empty()) return Assign();
  const Group& group = *random_.Pick(groups);
  Call(group, absl::StrCat("(i32)((u32)", Expression(Scalar::kU32, 1), " % ",
                           kDepth + 1, "u)"));
}

}  // namespace holdfast::random_c
