// SPDX-License-Identifier: Apache-2.0
//
// Statements that branch. Where lanes part, the mask of those that go each way
// is known, so that they can shuffle and vote there.
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/conformance/random/statements.h"

namespace holdfast::random_ptx {
namespace {

// A register with the lanes of the place's mask for which `condition` holds.
size_t LanesWith(Builder& b, size_t condition) {
  const size_t to = b.New("b32", "m");
  b.Together(
      absl::StrCat("vote.sync.ballot.b32 ", b.Name(to), ", ", b.Name(condition),
                   ", ", b.Name(b.place.mask), ";\n"),
      [=](const std::vector<Thread*>& threads) {
        uint64_t ballot = 0;
        for (Thread* t : threads) {
          if ((*t)[condition] != 0) ballot |= uint64_t{1} << t->lane;
        }
        for (Thread* t : threads) (*t)[to] = ballot;
      },
      false);
  return to;
}

void Without(Builder& b, size_t mask, size_t lanes) {
  b.Fixed(absl::StrCat("not.b32 %t0, ", b.Name(lanes), ";\nand.b32 ",
                       b.Name(mask), ", ", b.Name(mask), ", %t0;\n"),
          [=](Thread& t) { t[mask] &= ~t[lanes]; });
}

void Copy(Builder& b, size_t to, size_t from) {
  b.Fixed(absl::StrCat("mov.b32 ", b.Name(to), ", ", b.Name(from), ";\n"),
          [=](Thread& t) { t[to] = t[from]; });
}

void Arm(Builder& b, std::optional<size_t> mask, bool uniform,
         const Inner& inner) {
  const Place outer = b.place;
  if (mask.has_value()) b.place.mask = *mask;
  b.place.uniform = uniform;
  ++b.place.depth;
  for (uint64_t i = b.random.Below(4) + 1; i > 0; --i) inner(b);
  b.place = outer;
}

// How often a thread goes around, in a register.
size_t Bound(Builder& b) {
  const size_t bound = b.New("u32", "n");
  const size_t from = b.Any(Class::k32);
  const uint64_t most = b.random.Below(5);
  if (b.place.uniform && b.random.Chance(60)) {
    b.Fixed(absl::StrCat("mov.u32 ", b.Name(bound), ", ", most, ";\n"),
            [=](Thread& t) { t[bound] = most; });
  } else {
    b.place.uniform = false;
    b.Fixed(absl::StrCat("and.b32 ", b.Name(bound), ", ", b.Name(from), ", ",
                         b.random.Chance(50) ? 3 : 7, ";\n"),
            nullptr);
    Instruction& one = b.function().code.back();
    const uint64_t bits = one.text.find(", 3;") == std::string::npos ? 7 : 3;
    one.act = [=](Thread& t) { t[bound] = t[from] & bits; };
  }
  return bound;
}

// The parts of a loop that statements within refer to.
struct Around {
  size_t next, end;  // labels
  size_t lanes;      // register: who is in the loop
};

// break or continue, for some of the lanes.
void LeaveLoop(Builder& b, const Around& around) {
  const bool ends = b.random.Chance(50);
  const size_t condition = b.Condition();
  if (b.place.gathered) {
    const size_t leaving = LanesWith(b, condition);
    Without(b, b.place.mask, leaving);
    if (ends) Without(b, around.lanes, leaving);
  }
  b.BranchIf(condition, false, ends ? around.end : around.next);
}

void LoopBody(Builder& b, const Around& around, const Inner& inner) {
  const size_t mask = b.New("b32", "m");
  Copy(b, mask, around.lanes);
  b.place.mask = mask;
  const bool leaves = !b.place.uniform && b.random.Chance(50);
  Arm(b, {}, b.place.uniform, inner);
  if (leaves) {
    LeaveLoop(b, around);
    Arm(b, {}, false, inner);
  }
}

// Sets the lanes that stay; the others go to the end.
void StayWhile(Builder& b, size_t count, size_t bound, const Around& around) {
  const size_t condition = b.New("pred", "c");
  b.Fixed(absl::StrCat("setp.lt.u32 ", b.Name(condition), ", ", b.Name(count),
                       ", ", b.Name(bound), ";\n"),
          [=](Thread& t) { t[condition] = t[count] < t[bound]; });
  if (b.place.gathered) {
    b.place.mask = around.lanes;
    Copy(b, around.lanes, LanesWith(b, condition));
  }
  b.BranchIf(condition, true, around.end);
}

}  // namespace

void If(Builder& b, const Inner& inner) {
  const Region region(&b);
  const bool uniform = b.place.uniform && b.random.Chance(40);
  const size_t condition = uniform ? b.UniformCondition() : b.Condition();
  std::optional<size_t> yes, no;
  if (b.place.gathered) {
    yes = LanesWith(b, condition);
    no = b.New("b32", "m");
    b.Fixed(absl::StrCat("xor.b32 ", b.Name(*no), ", ", b.Name(*yes), ", ",
                         b.Name(b.place.mask), ";\n"),
            [no = *no, yes = *yes, mask = b.place.mask](Thread& t) {
              t[no] = t[yes] ^ t[mask];
            });
  }
  const size_t otherwise = b.NewLabel(), end = b.NewLabel();
  const bool both = b.random.Chance(60);
  b.BranchIf(condition, true, both ? otherwise : end);
  Arm(b, yes, uniform, inner);
  if (both) {
    b.Branch(end);
    b.PlaceLabel(otherwise);
    Arm(b, no, uniform, inner);
  }
  b.PlaceLabel(end);
}

void Loop(Builder& b, const Inner& inner) {
  const Region region(&b);
  const Place outer = b.place;
  ++b.place.depth;
  const size_t count = b.New("u32", "n"), bound = Bound(b);
  const Around around{b.NewLabel(), b.NewLabel(), b.New("b32", "m")};
  const size_t head = b.NewLabel();
  b.Fixed(absl::StrCat("mov.u32 ", b.Name(count), ", 0;\n"),
          [=](Thread& t) { t[count] = 0; });
  Copy(b, around.lanes, outer.mask);
  const bool at_the_top = b.random.Chance(50);
  b.PlaceLabel(head);
  if (at_the_top) StayWhile(b, count, bound, around);
  LoopBody(b, around, inner);
  b.PlaceLabel(around.next);
  b.Fixed(
      absl::StrCat("add.u32 ", b.Name(count), ", ", b.Name(count), ", 1;\n"),
      [=](Thread& t) { ++t[count]; });
  if (!at_the_top) StayWhile(b, count, bound, around);
  b.Branch(head);
  b.PlaceLabel(around.end);
  b.place = outer;
}

// A table of branches; lanes come one by one.
void Switch(Builder& b, const Inner& inner) {
  const Region region(&b);
  const Place outer = b.place;
  b.place.gathered = false;
  const size_t from = b.Any(Class::k32), end = b.NewLabel();
  std::vector<size_t> labels(4);
  std::string targets;
  for (size_t& label : labels) {
    label = b.NewLabel();
    absl::StrAppend(&targets, targets.empty() ? "" : ", ", LabelName(label));
  }
  Instruction one;
  one.kind = Instruction::Kind::kBranch;
  one.text = absl::StrCat("and.b32 %t0, ", b.Name(from), ", 3;\nT", end,
                          ": .branchtargets ", targets, ";\nbrx.idx %t0, T",
                          end, ";\n");
  one.target = [=](Thread& t) { return labels[t[from] & 3]; };
  b.Emit(std::move(one));
  for (const size_t label : labels) {
    b.PlaceLabel(label);
    Arm(b, {}, false, inner);
    if (b.random.Chance(70)) b.Branch(end);
  }
  b.PlaceLabel(end);
  b.place = outer;
}

void Maze(Builder& b, const Inner& inner) {
  const Region region(&b);
  const Place outer = b.place;
  b.place.gathered = b.place.uniform = false;
  b.place.depth += 10;  // nothing nests in here
  const size_t fuel = b.New("s32", "n"), more = b.New("pred", "c");
  const uint64_t tank = 3 + b.random.Below(6);
  b.Fixed(absl::StrCat("mov.s32 ", b.Name(fuel), ", ", tank, ";\n"),
          [=](Thread& t) { t[fuel] = tank; });
  std::vector<size_t> labels(3 + b.random.Below(4));
  for (size_t& label : labels) label = b.NewLabel();
  for (size_t i = 0; i + 1 < labels.size(); ++i) {
    b.PlaceLabel(labels[i]);
    for (uint64_t j = b.random.Below(3); j > 0; --j) inner(b);
    const size_t ahead = i + 1 + b.random.Below(labels.size() - i - 1);
    if (b.random.Chance(60)) b.BranchIf(b.Condition(), false, labels[ahead]);
    if (b.random.Chance(60)) {
      // A condition in front, so that it is not always the fuel that decides.
      const size_t condition = b.Condition();
      b.Fixed(absl::StrCat("sub.s32 ", b.Name(fuel), ", ", b.Name(fuel),
                           ", 1;\nsetp.gt.s32 ", b.Name(more), ", ",
                           b.Name(fuel), ", 0;\nand.pred ", b.Name(more), ", ",
                           b.Name(more), ", ", b.Name(condition), ";\n"),
              [=](Thread& t) {
                t[fuel] = static_cast<uint32_t>(t[fuel] - 1);
                t[more] =
                    static_cast<int32_t>(t[fuel]) > 0 && t[condition] != 0;
              });
      b.BranchIf(more, false, b.random.Pick(labels));
    }
  }
  b.PlaceLabel(labels.back());
  b.place = outer;
}

void Leave(Builder& b, size_t label) {
  const Region region(&b);
  const size_t condition = b.Condition();
  if (b.place.gathered) Without(b, b.place.mask, LanesWith(b, condition));
  b.BranchIf(condition, false, label);
}

void Exit(Builder& b) {
  const Region region(&b);
  const size_t condition = b.Condition();
  Without(b, b.place.mask, LanesWith(b, condition));
  Instruction one;
  one.kind = Instruction::Kind::kReturn;
  one.text = b.random.Chance(50) ? "exit;\n" : "ret;\n";
  one.guard = condition;
  b.Emit(std::move(one));
}

namespace {

// The function that a register chooses by its lowest bit, or one for all.
struct Callee {
  size_t first, second;
  size_t by;
  bool indirect;
};

Callee AnyCallee(Builder& b) {
  // Functions call those behind them, so that calls end; the last ones do
  // nothing together, so that lanes may come to different ones.
  const size_t count = b.program.functions.size();
  const size_t from = b.number() + 1;
  if (!b.place.gathered || b.random.Chance(25)) {
    return {count - 2, count - 1, b.Any(Class::k32), b.random.Chance(60)};
  }
  const size_t one = from + b.random.Below(count - from);
  return {one, one, b.Any(Class::k32), b.random.Chance(20)};
}

}  // namespace

void Call(Builder& b) {
  const size_t count = b.program.functions.size();
  if (b.number() + 2 >= count) return;
  const Callee callee = AnyCallee(b);
  const bool indirect = callee.first != callee.second || callee.indirect;
  const size_t to = b.Any(Class::k32), x = b.Any(Class::k32),
               y = b.Any(Class::k64), z = b.Any(Class::kF32);
  const size_t depth = b.New("u32", "n");
  const uint64_t levels = b.random.Below(3);
  b.Fixed(absl::StrCat("mov.u32 ", b.Name(depth), ", ", levels, ";\n"),
          [=](Thread& t) { t[depth] = levels; });
  const std::string id = absl::StrCat(b.NewLabel());
  auto name = [&](size_t at) { return b.program.functions[at].name; };
  std::string text = absl::StrCat(
      "{\n.param .b32 a0, a1, a2, res;\n.param .b64 a3, a5, a6;\n"
      ".param .f32 a4;\nst.param.b32 [a0], ",
      b.Name(b.place.mask), ";\nst.param.b32 [a1], ", b.Name(depth),
      ";\nst.param.b32 [a2], ", b.Name(x), ";\nst.param.b64 [a3], ", b.Name(y),
      ";\nst.param.f32 [a4], ", b.Name(z),
      ";\nst.param.b64 [a5], %in;\nst.param.b64 [a6], %own;\n");
  const std::string list = "(a0, a1, a2, a3, a4, a5, a6)";
  if (indirect) {
    absl::StrAppend(&text, "mov.u64 %a0, ", name(callee.first),
                    ";\nmov.u64 %a1, ", name(callee.second), ";\nand.b32 %t0, ",
                    b.Name(callee.by),
                    ", 1;\nsetp.ne.u32 %q0, %t0, 0;\nselp.b64 %a0, %a1, %a0, "
                    "%q0;\nP",
                    id,
                    ": .callprototype (.param .b32 _) _ (.param .b32 _, .param "
                    ".b32 _, .param .b32 _, .param .b64 _, .param .f32 _, "
                    ".param .b64 _, .param .b64 _);\ncall (res), %a0, ",
                    list, ", P", id, ";\n");
  } else {
    absl::StrAppend(&text, "call (res), ", name(callee.first), ", ", list,
                    ";\n");
  }
  absl::StrAppend(&text, "ld.param.b32 ", b.Name(to), ", [res];\n}\n");
  Instruction one;
  one.kind = Instruction::Kind::kCall;
  one.text = std::move(text);
  one.optional = true;
  one.callee = [=](Thread& t) {
    return (t[callee.by] & 1) != 0 ? callee.second : callee.first;
  };
  one.arguments = {b.place.mask, depth, x, y, z};
  one.result = to;
  b.Emit(std::move(one));
}

}  // namespace holdfast::random_ptx
