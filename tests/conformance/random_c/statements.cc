// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/conformance/random_c/writer.h"

namespace holdfast::random_c {

std::string Writer::NewName(const char* letter) {
  return absl::StrCat(letter, names_++);
}

void Writer::Emit(const std::string& text, bool removable) {
  nodes_->push_back({text, {}, "", removable ? program_.nodes++ : -1});
  cost_ += rounds_;
}

// `rounds`: how often the inner statements run, at most.
void Writer::Nest(const std::string& text, const std::string& end, int rounds,
                  const std::function<void()>& inner) {
  nodes_->push_back({text, {}, end, program_.nodes++});
  std::deque<Node>* outer = std::exchange(nodes_, &nodes_->back().inner);
  const size_t names = scope_.size();
  cost_ += rounds_;
  rounds_ *= rounds;
  inner();
  rounds_ /= rounds;
  scope_.resize(names);
  nodes_ = outer;
}

// The value of a declaration.
std::string Writer::Initial(const Type& type) {
  if (type.IsScalar()) return Expression(type.scalar, 2);
  if (!type.IsRecord()) return "{}";
  if (const auto place = PlaceOf(type, false, false);
      place && random_.Chance(40)) {
    return place->text;
  }
  return absl::StrCat("fill_", type.Name(), "(", Expression(Scalar::kU64, 1),
                      ")");
}

void Writer::AddLocal(const Type& type) {
  const std::string name = NewName("v");
  Emit(absl::StrCat(type.Declare(name), " = ", Initial(type), ";\n"), false);
  scope_.push_back({name, type});
}

void Writer::Declare() {
  if (random_.Chance(50))
    return AddLocal(Type{AnyScalar(random_), nullptr, {}});
  AddLocal(AnyValueType(/*small=*/true));
}

void Writer::Assign() {
  const auto place = AnyScalarPlace(/*writable=*/true);
  if (!place) return;
  const Scalar scalar = place->type.scalar;
  if (BytesOf(scalar) >= 4 && !IsFloat(scalar) && place->addressable &&
      random_.Chance(25)) {
    static constexpr std::array kOperations = {"^=", "|=", "&="};
    return Emit(absl::StrCat(place->text, " ", random_.Pick(kOperations), " ",
                             Expression(scalar, 2), ";\n"));
  }
  const std::string value = Expression(scalar, 2);
  const bool canonical = place->in_union && IsFloat(scalar);
  Emit(absl::StrCat(place->text, canonical ? " = canon(" : " = ", value,
                    canonical ? ");\n" : ";\n"));
}

void Writer::CopyRecord() {
  if (records_.empty()) return;
  Type type;
  type.record = &random_.Pick(records_);
  const auto to = PlaceOf(type, /*writable=*/true, false);
  const auto from = PlaceOf(type, /*writable=*/false, false);
  if (!to || !from) return Assign();
  Emit(absl::StrCat(to->text, " = ", from->text, ";\n"));
}

void Writer::If(int depth) {
  const std::string condition = Condition(2);
  if (random_.Chance(50)) {
    return Nest(absl::StrCat("if (", condition, ") {\n"), "}\n", 1,
                [&] { Statements(random_.Between(1, 2), depth - 1); });
  }
  Nest(absl::StrCat("if (", condition, ") {\n"), "}\n", 1, [&] {
    const size_t names = scope_.size();
    Statements(random_.Between(1, 2), depth - 1);
    scope_.resize(names);
    // Inside, so that it goes along with the first branch.
    nodes_->push_back({"} else {\n", {}, "", -1});
    Statements(random_.Between(1, 2), depth - 1);
  });
}

void Writer::Loop(int depth) {
  constexpr int kRounds = 6;
  const std::string i = NewName("k");
  const std::string bound =
      random_.Chance(30) ? absl::StrCat(random_.Between(1, kRounds), "u")
                         : absl::StrCat("((u32)", Expression(Scalar::kU32, 1),
                                        " % ", kRounds + 1, "u)");
  std::string text, end = "}\n";
  switch (random_.Below(3)) {
    case 0:
      text = absl::StrCat("for (u32 ", i, " = 0; ", i, " < ", bound, "; ++", i,
                          ") {\n");
      break;
    case 1:  // what the bound names may change in the loop
      text = absl::StrCat("for (u32 ", i, " = 0;; ++", i, ") {\nif (", i,
                          " >= ", bound, ") break;\n");
      break;
    default: {
      const std::string last = NewName("n");
      text = absl::StrCat("{ u32 ", i, " = 0; const u32 ", last, " = ", bound,
                          ";\ndo {\n");
      end = absl::StrCat("} while (++", i, " < ", last, "); }\n");
      break;
    }
  }
  const bool labelled = labels_.empty() && random_.Chance(25);
  if (labelled) {
    labels_.push_back(NewName("out"));
    absl::StrAppend(&end, labels_.back(), ":;\n");
  }
  Nest(text, end, kRounds, [&] {
    scope_.push_back(
        {i, Type{Scalar::kU32, nullptr, {}}, /*writable=*/false, false});
    ++loops_;
    Statements(random_.Between(1, 3), depth - 1);
    --loops_;
  });
  if (labelled) labels_.pop_back();
}

// A pointer from one end of an array to the other.
void Writer::WalkArray() {
  std::vector<Variable> arrays;
  for (const Variable& variable : scope_) {
    std::vector<Variable> open = {variable};
    while (!open.empty()) {
      Variable at = open.back();
      open.pop_back();
      if (at.type.extents.size() == 1 && at.type.record == nullptr &&
          at.addressable && !at.in_union) {
        arrays.push_back(at);
      } else if (at.type.IsRecord() && !at.type.record->is_union) {
        for (const Member& member : at.type.record->members) {
          Variable part = at;
          absl::StrAppend(&part.text, ".", member.name);
          part.type = member.type;
          open.push_back(part);
        }
      }
    }
  }
  const auto to = AnyScalarPlace(/*writable=*/true);
  if (arrays.empty() || !to || IsFloat(to->type.scalar)) return Assign();
  const Variable array = random_.Pick(arrays);
  const std::string p = NewName("p");
  const size_t extent = array.type.extents[0];
  const Scalar sum = to->type.scalar;
  const std::string count =
      random_.Chance(50) ? absl::StrCat(extent)
                         : absl::StrCat("(u32)", Expression(Scalar::kU32, 1),
                                        " % ", extent + 1, "u");
  const Variable value{absl::StrCat("(*", p, ")"),
                       Type{array.type.scalar, nullptr, {}}};
  const std::string bits = Converted(value, UnsignedOf(sum));
  Emit(absl::StrCat("for (const ", NameOf(array.type.scalar), "* ", p, " = ",
                    array.text, ", *end = ", p, " + ", count, "; ", p,
                    " != end; ++", p, ") ", to->text, " = (", NameOf(sum),
                    ")((", NameOf(UnsignedOf(sum)), ")", to->text, " * 3 + ",
                    bits, ");\n"));
  cost_ += rounds_ * static_cast<double>(extent);
}

void Writer::Switch(int depth) {
  const size_t cases = random_.Between(2, 4);
  Nest(absl::StrCat("switch ((u32)", Expression(Scalar::kU32, 1), " % ",
                    cases + random_.Below(2), "u) {\n"),
       "}\n", 1, [&] {
         for (size_t at = 0; at < cases; ++at) {
           const bool last = at + 1 == cases && random_.Chance(50);
           Nest(last ? "default: {\n" : absl::StrCat("case ", at, ": {\n"),
                random_.Chance(80) ? "}\nbreak;\n" : "}\n", 1,
                [&] { Statements(1, depth - 1); });
         }
       });
}

// On words that no other thread has, or on sums of all.
void Writer::Atomic() {
  if (!in_kernel_) return Assign();
  if (random_.Chance(30)) {
    return Emit(absl::StrCat("atomicAdd(totals + ((u32)",
                             Expression(Scalar::kU32, 1), " % 4u), ",
                             Expression(Scalar::kU32, 1), ");\n"));
  }
  const auto to = AnyScalarPlace(/*writable=*/true);
  if (!to || IsFloat(to->type.scalar)) return Assign();
  static constexpr std::array kOperations = {"Add", "Xor", "Max", "Exch"};
  const std::string word =
      random_.Chance(50) ? absl::StrCat("words[gid * 4 + ", Index(4), "]")
                         : absl::StrCat("slots[tid * 2 + ", Index(2), "]");
  const std::string old = NewName("w");
  Emit(absl::StrCat("{ const u32 ", old, " = atomic", random_.Pick(kOperations),
                    "(&", word, ", ", Expression(Scalar::kU32, 1), "); ",
                    to->text, " = (", NameOf(to->type.scalar), ")", old,
                    "; }\n"));
}

// Out of a loop, a round or a function.
void Writer::Leave() {
  std::string where;
  if (loops_ > 0) where = random_.Chance(50) ? "break;" : "continue;";
  if (!labels_.empty() && random_.Chance(50)) {
    where = absl::StrCat("goto ", labels_.back(), ";");
  }
  if (result_ && (where.empty() || random_.Chance(30))) {
    where = absl::StrCat("return ", Initial(*result_), ";");
  }
  if (where.empty()) return Assign();
  Emit(absl::StrCat("if (", Condition(1), ") ", where, "\n"));
}

void Writer::Statement(int depth) {
  if (cost_ > most_) return Assign();
  const uint64_t choice = random_.Below(100);
  if (choice < 34 || depth <= 0) return choice % 4 == 0 ? Leave() : Assign();
  if (choice < 42) return CopyRecord();
  if (choice < 48) return Declare();
  if (choice < 58) return If(depth);
  if (choice < 68) return Loop(depth);
  if (choice < 72) return WalkArray();
  if (choice < 77) return Switch(depth);
  if (choice < 80) return Atomic();
  if (choice < 84) return Leave();
  CallAny();
}

void Writer::Statements(size_t count, int depth) {
  for (size_t i = 0; i < count; ++i) Statement(depth);
}

}  // namespace holdfast::random_c
