// SPDX-License-Identifier: Apache-2.0
//
// Operations of a warp's lanes together: by all of them; by the two sides of a
// branch, each among itself; by those alone that a guard lets through.
#include <algorithm>

#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

constexpr unsigned kLanes = 32;

// By lane; null: not among those who do it together.
using Members = std::array<const Sources*, kLanes>;
// The result of a member; none: undefined.
using Meaning = std::function<std::optional<Results>(const Members&, unsigned)>;

enum class Way { kWhole, kParted, kGuarded };

// Which lanes are with `lane`, by the last source.
Members With(const std::vector<Sources>& lanes, unsigned lane, size_t last,
             Way way) {
  Members members = {};
  for (unsigned other = 0; other < kLanes; ++other) {
    if (way == Way::kWhole || lanes[other][last] == lanes[lane][last]) {
      members[other] = &lanes[other];
    }
  }
  return members;
}

std::string Clear(const std::vector<Kind>& results) {
  std::string code;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string name = "D" + std::to_string(i);
    code += results[i] == "pred" ? "setp.ne.u32 " + name + ", %lane, %lane;\n"
                                 : "mov." + results[i] + " " + name + ", 0;\n";
  }
  return code;
}

// `text` ends with the member mask, which is in %mask.
std::string CodeFor(Way way, const std::string& text, const std::string& side,
                    const std::vector<Kind>& results) {
  if (way == Way::kWhole) return "mov.b32 %mask, 0xFFFFFFFF;\n" + text;
  const std::string mask =
      "vote.sync.ballot.b32 %mask, " + side + ", 0xFFFFFFFF;\n";
  if (way == Way::kGuarded) {
    // Each line but the last prepares.
    const size_t last = text.rfind("$ ");
    return Clear(results) + mask + text.substr(0, last) + "@" + side + " " +
           text.substr(last);
  }
  return mask + "@!" + side + " bra Others;\n" + text +
         "bra Done;\nOthers:\nnot.b32 %mask, %mask;\n" + text +
         "Done:\nbar.warp.sync 0xFFFFFFFF;\n";
}

struct Form {
  std::vector<Kind> results, sources;
  std::string text;
  Meaning meaning;
};

Operation Make(const Form& form, Way way) {
  Operation operation;
  operation.results = form.results;
  operation.sources = form.sources;
  operation.sources.push_back("pred");
  operation.group = kLanes;
  const size_t last = form.sources.size();
  operation.code =
      CodeFor(way, form.text, "S" + std::to_string(last), form.results);
  operation.together =
      [=, meaning = form.meaning](const std::vector<Sources>& lanes) {
        Outcomes outcomes;
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          const bool out = way == Way::kGuarded && lanes[lane][last] == 0;
          outcomes.push_back(out ? Results{}
                                 : meaning(With(lanes, lane, last, way), lane));
        }
        return outcomes;
      };
  return operation;
}

void AddWays(const Form& form, std::vector<Operation>* list) {
  for (const Way way : {Way::kWhole, Way::kParted, Way::kGuarded}) {
    list->push_back(Make(form, way));
  }
}

struct Shuffle {
  std::string mode;

  // Where a lane reads, and whether that lies within its segment.
  std::pair<unsigned, bool> From(unsigned lane, uint64_t by,
                                 uint64_t clamps) const {
    const auto segment = static_cast<int>(clamps >> 8 & 31);
    const auto clamp = static_cast<int>(clamps & 31);
    const auto distance = static_cast<int>(by & 31);
    const auto self = static_cast<int>(lane);
    const int limit = (self & segment) | (clamp & ~segment);
    int from = 0;
    if (mode == "up") from = self - distance;
    if (mode == "down") from = self + distance;
    if (mode == "bfly") from = self ^ distance;
    if (mode == "idx") from = (self & segment) | (distance & ~segment);
    const bool inside = mode == "up" ? from >= limit : from <= limit;
    return {inside ? static_cast<unsigned>(from) : lane, inside};
  }
};

// Distance and clamps as numbers of the text, or out of sources 1 and 2.
Form ShuffleForm(const Words& words, std::optional<uint64_t> by,
                 std::optional<uint64_t> clamps, bool tells) {
  const Shuffle shuffle{words.OneOf({"up", "down", "bfly", "idx"})};
  Form form;
  form.results = {"b32"};
  if (tells) form.results.push_back("pred");
  form.sources = {"b32", "count", "b32"};
  form.text = clamps ? "" : "and.b32 %t1, S2, 0x1F1F;\n";
  form.text += std::string("$ D0") + (tells ? "|D1" : "") + ", S0, " +
               (by ? std::to_string(*by) : "S1") + ", " +
               (clamps ? std::to_string(*clamps) : "%t1") +
               (words.Has("sync") ? ", %mask" : "") + ";\n";
  form.meaning = [=](const Members& members,
                     unsigned lane) -> std::optional<Results> {
    const Sources& own = *members[lane];
    const auto [from, inside] =
        shuffle.From(lane, by.value_or(own[1]), clamps.value_or(own[2]));
    if (members[from] == nullptr) return {};
    return Results{(*members[from])[0], inside};
  };
  return form;
}

std::vector<Operation> Shuffles(const Words& words) {
  std::vector<Form> forms = {ShuffleForm(words, {}, {}, true),
                             ShuffleForm(words, {}, {}, false)};
  const uint64_t end = words.Has("up") ? 0 : 31;
  for (const uint64_t by : {0, 1, 7, 16, 31, 33}) {
    // The warp, segments of 8, and a bound within the warp.
    for (const uint64_t clamps : {end, 0x1800 | end, uint64_t{0x0B}}) {
      forms.push_back(ShuffleForm(words, by, clamps, true));
    }
  }
  forms.push_back(ShuffleForm(words, {}, end, true));
  forms.push_back(ShuffleForm(words, {}, end, false));
  std::vector<Operation> list;
  for (const Form& form : forms) {
    if (words.Has("sync")) {
      AddWays(form, &list);
    } else {
      list.push_back(Make(form, Way::kWhole));
    }
  }
  return list;
}

std::vector<Operation> Votes(const Words& words) {
  std::vector<Operation> list;
  for (const bool negated : {false, true}) {
    Form form;
    form.results = {words.Has("ballot") ? "b32" : "pred"};
    form.sources = {"pred"};
    form.text = std::string("$ D0, ") + (negated ? "!" : "") + "S0" +
                (words.Has("sync") ? ", %mask" : "") + ";\n";
    form.meaning = [=](const Members& members, unsigned) {
      uint64_t ballot = 0, all = 0;
      for (unsigned i = 0; i < kLanes; ++i) {
        if (members[i] == nullptr) continue;
        all |= uint64_t{1} << i;
        ballot |= uint64_t{((*members[i])[0] != 0) != negated} << i;
      }
      const bool none = ballot == 0, each = ballot == all;
      return Results{words.Has("ballot") ? ballot
                     : words.Has("all")  ? each
                     : words.Has("any")  ? !none
                                         : each || none};
    };
    AddWays(form, &list);
    if (!words.Has("sync")) list.resize(list.size() - 2);
  }
  return list;
}

// On whole values, and on so few bits that many are equal, or all.
std::vector<Operation> Matches(const Words& words) {
  const Kind kind = words.Type();
  const bool all = words.Has("all");
  std::vector<Operation> list;
  for (const int dropped : {0, BitsOf(kind) - 2, BitsOf(kind) - 1}) {
    const std::string value = kind == "b64" ? "%u0" : "%t1";
    Form form;
    form.results = {"b32"};
    if (all) form.results.push_back("pred");
    form.sources = {kind};
    form.text = "shr." + kind + " " + value + ", S0, " +
                std::to_string(dropped) + ";\n$ D0" + (all ? "|D1" : "") +
                ", " + value + ", %mask;\n";
    form.meaning = [=](const Members& members, unsigned lane) {
      uint64_t same = 0, present = 0;
      for (unsigned i = 0; i < kLanes; ++i) {
        if (members[i] == nullptr) continue;
        present |= uint64_t{1} << i;
        const bool equal =
            (*members[i])[0] >> dropped == (*members[lane])[0] >> dropped;
        same |= uint64_t{equal} << i;
      }
      if (!all) return Results{same};
      return same == present ? Results{present, 1} : Results{0, 0};
    };
    AddWays(form, &list);
  }
  return list;
}

std::vector<Operation> Reductions(const Words& words) {
  const Kind kind = words.Type();
  const std::string name =
      words.OneOf({"add", "min", "max", "and", "or", "xor"});
  Form form;
  form.results = {kind};
  form.sources = {kind};
  form.text = "$ D0, S0, %mask;\n";
  form.meaning = [=](const Members& members, unsigned lane) {
    __int128 sum = 0, least = ToInteger(kind, (*members[lane])[0]);
    __int128 most = least;
    uint64_t both = ~uint64_t{0}, either = 0, odd = 0;
    for (const Sources* member : members) {
      if (member == nullptr) continue;
      const uint64_t bits = (*member)[0];
      const __int128 value = ToInteger(kind, bits);
      sum += value, least = std::min(least, value);
      most = std::max(most, value);
      both &= bits, either |= bits, odd ^= bits;
    }
    if (name == "and") return Results{both};
    if (name == "or") return Results{either};
    if (name == "xor") return Results{odd};
    return Results{Truncate(kind, name == "add"   ? sum
                                  : name == "min" ? least
                                                  : most)};
  };
  std::vector<Operation> list;
  AddWays(form, &list);
  return list;
}

// Who is here, and who of them is the one.
std::vector<Operation> Presence(const Words& words) {
  const bool elects = words.opcode() == "elect";
  Form form;
  form.results = {"b32"};
  if (elects) form.results.push_back("pred");
  form.text = elects ? "$ D0|D1, %mask;\n" : "$ D0;\n";
  form.meaning = [=](const Members& members, unsigned lane) {
    uint64_t mask = 0, first = kLanes;
    for (unsigned i = kLanes; i-- > 0;) {
      if (members[i] == nullptr) continue;
      mask |= uint64_t{1} << i;
      first = i;
    }
    return elects ? Results{first, lane == first} : Results{mask};
  };
  std::vector<Operation> list;
  AddWays(form, &list);
  return list;
}

// Each lane reads its neighbour's store.
std::vector<Operation> WarpBarrier() {
  Form form;
  form.results = {"b32"};
  form.sources = {"b32"};
  form.text =
      "st.shared.b32 [%shared], S0;\nxor.b32 %t2, %thread, 1;\n"
      "mov.u64 %u0, sh;\nmad.wide.u32 %u0, %t2, 16, %u0;\n"
      "$ %mask;\nld.shared.b32 D0, [%u0];\n";
  form.meaning = [](const Members& members,
                    unsigned lane) -> std::optional<Results> {
    const Sources* neighbour = members[lane ^ 1];
    if (neighbour == nullptr) return {};
    return Results{(*neighbour)[0]};
  };
  std::vector<Operation> list;
  for (const Way way : {Way::kWhole, Way::kParted}) {
    list.push_back(Make(form, way));
    list.back().code += "bar.warp.sync 0xFFFFFFFF;\n";
  }
  return list;
}

}  // namespace

std::vector<Operation> DescribeWarp(const Words& words) {
  const std::string& opcode = words.opcode();
  std::vector<Operation> list;
  if (opcode == "shfl") list = Shuffles(words);
  if (opcode == "vote") list = Votes(words);
  if (opcode == "match") list = Matches(words);
  if (opcode == "redux") list = Reductions(words);
  if (opcode == "activemask" || opcode == "elect") list = Presence(words);
  if (opcode == "bar" && words.Has("warp")) list = WarpBarrier();
  if ((opcode == "shfl" || opcode == "vote") && !words.Has("sync")) {
    // Not to be had for newer GPUs, but these run it.
    for (Operation& operation : list) operation.target = "sm_60";
  }
  return list;
}

}  // namespace holdfast::forms
