// SPDX-License-Identifier: Apache-2.0
//
// Statements that the lanes of a warp, or the threads of a block, do together.
#include <algorithm>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "tests/conformance/random/statements.h"

namespace holdfast::random_ptx {
namespace {

using Threads = std::vector<Thread*>;

// A shuffle's way from lanes to lanes; `clamp` is its third source.
struct Shuffle {
  const char* mode;
  uint32_t clamp;

  uint32_t segments() const { return clamp >> 8 & 31; }
  // The lane that `lane` reads, and whether it lies within the segment.
  bool Source(uint32_t lane, uint32_t by, uint32_t* from) const {
    const uint32_t last = (lane & segments()) | (clamp & 31 & ~segments());
    by &= 31;
    bool inside = false;
    switch (mode[0]) {
      case 'u':
        *from = lane - by;
        inside = static_cast<int32_t>(*from) >= static_cast<int32_t>(last);
        break;
      case 'd':
        *from = lane + by;
        inside = *from <= last;
        break;
      case 'b':
        *from = lane ^ by;
        inside = *from <= last;
        break;
      default:
        *from = (lane & segments()) | (by & ~segments());
        inside = *from <= last;
    }
    if (!inside) *from = lane;
    return inside;
  }

  // The same in PTX: %t1 = the lane, if %q0 says that it lies within.
  std::string SourceText(const std::string& by) const {
    const std::string masked =
        absl::StrCat("and.b32 %t1, ", by, ", ",
                     mode[0] == 'i' ? 31 & ~segments() : 31, ";\n");
    switch (mode[0]) {
      case 'u':
        return masked + "sub.u32 %t1, %lane, %t1;\n";
      case 'd':
        return masked + "add.u32 %t1, %lane, %t1;\n";
      case 'b':
        return masked + "xor.b32 %t1, %lane, %t1;\n";
      default:
        return absl::StrCat(masked, "and.b32 %t2, %lane, ", segments(),
                            ";\nor.b32 %t1, %t1, %t2;\n");
    }
  }
};

Shuffle AnyShuffle(Random& random) {
  static constexpr const char* kModes[] = {"up", "down", "bfly", "idx"};
  static constexpr uint32_t kSegments[] = {0, 0, 0, 16, 24, 28};
  const char* mode = kModes[random.Below(4)];
  const uint32_t clamp = mode[0] == 'u' ? 0
                         : random.Chance(80)
                             ? 31
                             : static_cast<uint32_t>(random.Below(32));
  return {mode, kSegments[random.Below(6)] << 8 | clamp};
}

// The value of a lane outside the mask is unspecified: 0 instead.
void ShuffleLanes(Builder& b) {
  const Shuffle shuffle = AnyShuffle(b.random);
  const size_t to = b.Any(Class::k32), from = b.Any(Class::k32),
               inside = b.Any(Class::kPred);
  const bool constant = b.random.Chance(50);
  const size_t by = b.Any(Class::k32);
  const auto distance = static_cast<uint32_t>(b.random.Below(33));
  const std::string by_text = constant ? absl::StrCat(distance) : b.Name(by);
  const std::string& mask = b.Name(b.place.mask);
  // The distance is read again after the shuffle.
  const std::string text = absl::StrCat(
      "mov.b32 %t3, ", by_text, ";\nshfl.sync.", shuffle.mode, ".b32 %t0|%q0, ",
      b.Name(from), ", ", by_text, ", ", shuffle.clamp, ", ", mask, ";\n",
      shuffle.SourceText("%t3"),
      "selp.b32 %t1, %t1, %lane, %q0;\nshr.u32 %t1, ", mask,
      ", %t1;\nand.b32 %t1, %t1, 1;\nsetp.ne.u32 %q1, %t1, 0;\nselp.b32 ",
      b.Name(to), ", %t0, 0, %q1;\nmov.pred ", b.Name(inside), ", %q0;\n");
  b.Together(
      text,
      [=](const Threads& threads) {
        std::map<uint32_t, uint64_t> values;
        for (Thread* t : threads) values[t->lane] = (*t)[from];
        for (Thread* t : threads) {
          uint32_t lane = 0;
          const auto distance_here =
              constant ? distance : static_cast<uint32_t>((*t)[by]);
          const bool in = shuffle.Source(t->lane, distance_here, &lane);
          const auto found = values.find(lane);
          (*t)[to] = found == values.end() ? 0 : found->second;
          (*t)[inside] = in;
        }
      },
      true);
}

uint32_t Ballot(const Threads& threads, size_t predicate) {
  uint32_t ballot = 0;
  for (Thread* t : threads) {
    if ((*t)[predicate] != 0) ballot |= 1u << t->lane;
  }
  return ballot;
}

void Vote(Builder& b) {
  const size_t from = b.Any(Class::kPred);
  const std::string tail =
      absl::StrCat(b.Name(from), ", ", b.Name(b.place.mask), ";\n");
  if (b.random.Chance(40)) {
    const size_t to = b.Any(Class::k32);
    b.Together(
        absl::StrCat("vote.sync.ballot.b32 ", b.Name(to), ", ", tail),
        [=](const Threads& threads) {
          const uint32_t ballot = Ballot(threads, from);
          for (Thread* t : threads) (*t)[to] = ballot;
        },
        true);
    return;
  }
  static constexpr const char* kModes[] = {"all", "any", "uni"};
  const uint64_t mode = b.random.Below(3);
  const size_t to = b.Any(Class::kPred);
  b.Together(
      absl::StrCat("vote.sync.", kModes[mode], ".pred ", b.Name(to), ", ",
                   tail),
      [=](const Threads& threads) {
        auto holds = [from](Thread* t) { return (*t)[from] != 0; };
        const bool all = std::all_of(threads.begin(), threads.end(), holds);
        const bool any = std::any_of(threads.begin(), threads.end(), holds);
        const bool result = mode == 0 ? all : mode == 1 ? any : all || !any;
        for (Thread* t : threads) (*t)[to] = result;
      },
      true);
}

void Match(Builder& b) {
  const bool wide = b.random.Chance(40);
  const size_t from = b.Any(wide ? Class::k64 : Class::k32);
  const size_t to = b.Any(Class::k32), same = b.Any(Class::kPred);
  const bool all = b.random.Chance(40);
  b.Together(
      absl::StrCat("match.", all ? "all" : "any", ".sync.b", wide ? 64 : 32,
                   " ", b.Name(to), all ? "|" + b.Name(same) : "", ", ",
                   b.Name(from), ", ", b.Name(b.place.mask), ";\n"),
      [=](const Threads& threads) {
        std::map<uint64_t, uint32_t> lanes;
        std::vector<uint64_t> values;
        for (Thread* t : threads) {
          values.push_back((*t)[from]);
          lanes[values.back()] |= 1u << t->lane;
        }
        for (size_t i = 0; i < threads.size(); ++i) {
          Thread& t = *threads[i];
          t[to] = all && lanes.size() > 1 ? 0 : lanes[values[i]];
          if (all) t[same] = lanes.size() == 1;
        }
      },
      true);
}

void Reduce(Builder& b) {
  struct Kind {
    const char* spelling;
    uint32_t (*function)(uint32_t, uint32_t);
  };
  static constexpr Kind kKinds[] = {
      {"add.u32", [](uint32_t a, uint32_t b) { return a + b; }},
      {"add.s32", [](uint32_t a, uint32_t b) { return a + b; }},
      {"min.u32", [](uint32_t a, uint32_t b) { return std::min(a, b); }},
      {"max.u32", [](uint32_t a, uint32_t b) { return std::max(a, b); }},
      {"min.s32",
       [](uint32_t a, uint32_t b) {
         return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b;
       }},
      {"max.s32",
       [](uint32_t a, uint32_t b) {
         return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? b : a;
       }},
      {"and.b32", [](uint32_t a, uint32_t b) { return a & b; }},
      {"or.b32", [](uint32_t a, uint32_t b) { return a | b; }},
      {"xor.b32", [](uint32_t a, uint32_t b) { return a ^ b; }}};
  const Kind& kind = kKinds[b.random.Below(std::size(kKinds))];
  const size_t from = b.Any(Class::k32), to = b.Any(Class::k32);
  b.Together(
      absl::StrCat("redux.sync.", kind.spelling, " ", b.Name(to), ", ",
                   b.Name(from), ", ", b.Name(b.place.mask), ";\n"),
      [=](const Threads& threads) {
        auto result = static_cast<uint32_t>((*threads[0])[from]);
        for (size_t i = 1; i < threads.size(); ++i) {
          result =
              kind.function(result, static_cast<uint32_t>((*threads[i])[from]));
        }
        for (Thread* t : threads) (*t)[to] = result;
      },
      true);
}

Instruction& Barrier(Builder& b, const std::string& text) {
  Instruction one;
  one.kind = Instruction::Kind::kBlock;
  one.text = text;
  one.optional = true;
  return b.Emit(std::move(one));
}

std::string AnyBarrier(Random& random) {
  static constexpr const char* kBarriers[] = {
      "bar.sync 0;\n", "barrier.sync 0;\n", "barrier.sync.aligned 0;\n",
      "bar.sync 3;\n"};
  return kBarriers[random.Below(4)];
}

}  // namespace

void WarpOperation(Builder& b) {
  switch (b.random.Below(8)) {
    case 0:
      return Vote(b);
    case 1:
      return Match(b);
    case 2:
    case 3:
      return Reduce(b);
    case 4:
      b.Together(
          absl::StrCat("bar.warp.sync ", b.Name(b.place.mask), ";\n"),
          [](const Threads&) {}, true);
      return;
    default:
      return ShuffleLanes(b);
  }
}

// Each thread leaves a number for another one.
void Exchange(Builder& b) {
  const Region region(&b);
  const size_t from = b.Any(Class::k32), to = b.Any(Class::k32);
  const unsigned threads = b.program.threads;
  const auto shift = static_cast<uint32_t>(b.random.Below(threads));
  b.Fixed(absl::StrCat("mov.u64 %a1, slots;\nmad.wide.u32 %a1, %index, ",
                       kSlotBytes, ", %a1;\nst.shared.u32 [%a1], ",
                       b.Name(from), ";\n"),
          [=](Thread& t) {
            memcpy(t.slots->data() + t.index * kSlotBytes, &t[from], 4);
          });
  Barrier(b, AnyBarrier(b.random)).optional = false;
  b.Fixed(absl::StrCat(
              "add.u32 %t0, %index, ", shift, ";\nrem.u32 %t0, %t0, ", threads,
              ";\nmov.u64 %a1, slots;\nmad.wide.u32 %a1, "
              "%t0, ",
              kSlotBytes, ", %a1;\nld.shared.u32 ", b.Name(to), ", [%a1];\n"),
          [=](Thread& t) {
            const size_t other = (t.index + shift) % threads;
            uint32_t value;
            memcpy(&value, t.slots->data() + other * kSlotBytes, 4);
            t[to] = value;
          });
  Barrier(b, AnyBarrier(b.random)).optional = false;
}

void BarrierReduction(Builder& b) {
  const size_t from = b.Any(Class::kPred);
  const bool unless = b.random.Chance(50);
  const std::string source = absl::StrCat(unless ? "!" : "", b.Name(from));
  const uint64_t mode = b.random.Below(3);
  const size_t to = b.Any(mode == 0 ? Class::k32 : Class::kPred);
  static constexpr const char* kModes[] = {"popc.u32", "and.pred", "or.pred"};
  Barrier(b, absl::StrCat("bar.red.", kModes[mode], " ", b.Name(to), ", 1, ",
                          source, ";\n"))
      .together = [=](const Threads& threads) {
    size_t count = 0;
    for (Thread* t : threads) count += ((*t)[from] != 0) != unless ? 1 : 0;
    const size_t result = mode == 0   ? count
                          : mode == 1 ? count == threads.size()
                                      : count > 0;
    for (Thread* t : threads) (*t)[to] = result;
  };
}

}  // namespace holdfast::random_ptx
