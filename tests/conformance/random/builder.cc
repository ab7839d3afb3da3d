// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/random/builder.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

namespace holdfast::random_ptx {

uint64_t Random::Next() {
  uint64_t z = state_ += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

uint64_t Random::Number() {
  static constexpr uint64_t kEdges[] = {
      0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFF,     0x8000,
      0xFFFF,     0xFFFFFFF0, 0x3F800000, 0xBF800000, 0x7FF0000000000000,
      ~0ull,      1ull << 63, 0x3C00,     0x80,       0xFF};
  switch (Below(4)) {
    case 0:
      return Below(8);
    case 1:
      return Below(100);
    case 2:
      return kEdges[Below(std::size(kEdges))];
    default:
      return Next();
  }
}

int BitsOf(Class of) {
  switch (of) {
    case Class::kPred:
      return 1;
    case Class::k16:
    case Class::kF16:
    case Class::kBF16:
      return 16;
    case Class::k64:
    case Class::kF64:
      return 64;
    default:
      return 32;
  }
}

bool IsFloat(Class of) { return of > Class::k64 && of < Class::kNone; }

std::string LabelName(size_t label) { return absl::StrCat("L", label); }

Builder::Builder(Program* program, size_t function, Random* random)
    : program(*program), random(*random), number_(function) {}

size_t Builder::New(const std::string& type, const std::string& letter) {
  auto& registers = function().registers;
  registers.push_back({absl::StrCat("%", letter, names_++), type});
  return registers.size() - 1;
}

void Builder::AddPool(Class of, size_t count) {
  static const auto& types =
      *new std::map<Class, std::vector<std::pair<const char*, const char*>>>{
          {Class::kPred, {{"pred", "p"}}},
          {Class::k16, {{"b16", "s"}, {"u16", "s"}, {"s16", "s"}}},
          {Class::k32, {{"b32", "r"}, {"u32", "r"}, {"s32", "r"}}},
          {Class::k64, {{"b64", "d"}, {"u64", "d"}, {"s64", "d"}}},
          {Class::kF16, {{"b16", "h"}, {"f16", "h"}}},
          {Class::kBF16, {{"b16", "g"}}},
          {Class::kF32, {{"f32", "f"}, {"b32", "f"}}},
          {Class::kF64, {{"f64", "e"}, {"b64", "e"}}},
          {Class::kF16x2, {{"b32", "hh"}}},
          {Class::kBF16x2, {{"b32", "gg"}}}};
  for (size_t i = 0; i < count; ++i) {
    // At least one without a type of its own.
    const auto& list = types.at(of);
    const auto& [type, letter] = i == 0 ? list[0] : random.Pick(list);
    pools_[of].push_back(New(type, letter));
  }
}

size_t Builder::Any(Class of) { return random.Pick(pools_.at(of)); }

std::vector<size_t> Builder::Several(Class of, size_t count) {
  const auto& pool = pools_.at(of);
  const size_t first = random.Below(pool.size());
  std::vector<size_t> list;
  for (size_t i = 0; i < count; ++i) {
    list.push_back(pool[(first + i) % pool.size()]);
  }
  return list;
}

Instruction& Builder::Emit(Instruction instruction) {
  instruction.region = region;
  function().code.push_back(std::move(instruction));
  return function().code.back();
}

Instruction& Builder::Plain(std::string text, Act act, bool optional) {
  Instruction one;
  one.text = std::move(text);
  one.act = std::move(act);
  one.optional = optional;
  if (optional && random.Chance(12)) {
    one.guard = Any(Class::kPred);
    one.unless = random.Chance(50);
  }
  return Emit(std::move(one));
}

Instruction& Builder::Together(
    std::string text, std::function<void(const std::vector<Thread*>&)> together,
    bool optional) {
  Instruction one;
  one.kind = Instruction::Kind::kWarp;
  one.text = std::move(text);
  one.together = std::move(together);
  one.mask = place.mask;
  one.optional = optional;
  return Emit(std::move(one));
}

void Builder::PlaceLabel(size_t label) {
  Instruction one;
  one.kind = Instruction::Kind::kLabel;
  one.text = LabelName(label) + ":\n";
  one.label = label;
  Emit(std::move(one));
}

void Builder::Branch(size_t label) {
  Instruction one;
  one.kind = Instruction::Kind::kBranch;
  one.text = absl::StrCat("bra ", LabelName(label), ";\n");
  one.target = [label](Thread&) { return label; };
  Emit(std::move(one));
}

void Builder::BranchIf(size_t predicate, bool unless, size_t label) {
  Branch(label);
  function().code.back().guard = predicate;
  function().code.back().unless = unless;
}

// By bits of the lane, by numbers against a constant, or by what is there.
size_t Builder::Condition() {
  const size_t to = New("pred", "c");
  const std::string& name = Name(to);
  const uint64_t limit = random.Below(40);
  switch (random.Below(4)) {
    case 0: {
      const size_t from = Any(Class::kPred);
      Fixed(absl::StrCat("mov.pred ", name, ", ", Name(from), ";\n"),
            [=](Thread& t) { t[to] = t[from]; });
      break;
    }
    case 1:
      Fixed(absl::StrCat("setp.lt.u32 ", name, ", %lane, ", limit, ";\n"),
            [=](Thread& t) { t[to] = t.lane < limit; });
      break;
    case 2: {
      const uint64_t bits = random.Below(31) + 1;
      Fixed(absl::StrCat("and.b32 %t0, %lane, ", bits, ";\nsetp.eq.u32 ", name,
                         ", %t0, 0;\n"),
            [=](Thread& t) { t[to] = (t.lane & bits) == 0; });
      break;
    }
    default: {
      const size_t a = Any(Class::k32);
      const uint64_t bits = uint64_t{1} << random.Below(32);
      Fixed(absl::StrCat("and.b32 %t0, ", Name(a), ", ", bits,
                         ";\nsetp.ne.u32 ", name, ", %t0, 0;\n"),
            [=](Thread& t) { t[to] = (t[a] & bits) != 0; });
    }
  }
  return to;
}

size_t Builder::UniformCondition() {
  const size_t to = New("pred", "c");
  const uint64_t limit = random.Below(program.blocks + 1);
  Fixed(absl::StrCat("mov.u32 %t0, %ctaid.x;\nsetp.lt.u32 ", Name(to),
                     ", %t0, ", limit, ";\n"),
        [=](Thread& t) { t[to] = t.block < limit; });
  return to;
}

Region::Region(Builder* builder) : builder_(builder), outer_(builder->region) {
  auto& regions = builder->function().regions;
  regions.push_back(outer_);
  builder->region = regions.size() - 1;
}

}  // namespace holdfast::random_ptx
