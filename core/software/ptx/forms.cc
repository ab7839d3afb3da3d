// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/forms.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace holdfast::software::ptx {
namespace {

constexpr absl::string_view kOpcodes[] = {
#define HOLDFAST_PTX_OPCODE(name, spelling) spelling,
#include "core/software/ptx/opcodes.inc"
#undef HOLDFAST_PTX_OPCODE
};

constexpr Form kForms[] = {
#define HOLDFAST_PTX_FORM(opcode, pattern, operands) \
  {Opcode::opcode, pattern, operands},
#include "core/software/ptx/forms.inc"
#undef HOLDFAST_PTX_FORM
};

// Names for sets of words that many patterns share.
constexpr std::pair<absl::string_view, absl::string_view> kClasses[] = {
    {"int", "u16|u32|u64|s16|s32|s64"},
    {"rint", "rni|rzi|rmi|rpi"},
    {"scmp", "eq|ne|lt|le|gt|ge"},
    {"ucmp", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"},
    {"fcmp", "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"},
    {"bool", "and|or|xor"},
    {"round", "rn|rz|rm|rp"},
    {"sel", "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64"},
    {"cvtint", "u8|u16|u32|u64|s8|s16|s32|s64"},
    {"space",
     "global|shared|local|const|param|shared::cta|shared::cluster|"
     "param::entry|param::func"},
    {"cache", "ca|cg|cs|lu|cv"},
    {"stcache", "wb|cg|cs|wt"},
    {"evict",
     "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|"
     "L1::no_allocate"},
    {"prefetch", "L2::64B|L2::128B|L2::256B"},
    {"vec", "v2|v4|v8"},
    {"ldst",
     "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64"},
    {"scope", "cta|cluster|gpu|sys"},
    {"sem", "relaxed|acquire|release|acq_rel"},
    {"policy",
     "L2::evict_first|L2::evict_last|L2::evict_normal|L2::evict_unchanged"},
    {"barrierspace", "shared|shared::cta|shared::cluster"},
    {"matrixspace", "global|shared|shared::cta"},
    {"tile", "m16n16k16|m8n32k16|m32n8k16"},
    {"atomspace", "global|shared|shared::cta|shared::cluster"},
};

absl::string_view ClassNamed(absl::string_view name) {
  for (const auto& [key, words] : kClasses) {
    if (key == name) return words;
  }
  return "";
}

// Words that ptxas takes for part of an instruction's name, if nothing else can
// stand in their place.
constexpr absl::string_view kNameWords[] = {
    "a",           "arrive",
    "arrive_drop", "async",
    "b",           "c",
    "complete_tx", "commit_group",
    "d",           "expect_tx",
    "fractional",  "full",
    "hi",          "init",
    "inval",       "l",
    "lo",          "load",
    "mbarrier",    "mma",
    "parity",      "pending_count",
    "proxy",       "r",
    "range",       "red",
    "store",       "test_wait",
    "to",          "try_wait",
    "wait_all",    "wait_group",
    "warp",        "wide",
};

// One place behind the opcode.
struct Slot {
  std::vector<std::string> words;
  bool optional = false;

  bool Takes(absl::string_view word) const {
    return std::find(words.begin(), words.end(), word) != words.end();
  }
  bool OfTheName() const {
    return std::all_of(words.begin(), words.end(), [](const auto& word) {
      return std::find(std::begin(kNameWords), std::end(kNameWords), word) !=
             std::end(kNameWords);
    });
  }
};

std::vector<std::string> Alternatives(absl::string_view text) {
  std::string expanded;
  while (!text.empty()) {
    const size_t open = text.find('<');
    absl::StrAppend(&expanded, text.substr(0, open));
    if (open == absl::string_view::npos) break;
    const size_t close = text.find('>', open);
    absl::StrAppend(&expanded,
                    ClassNamed(text.substr(open + 1, close - open - 1)));
    text.remove_prefix(close + 1);
  }
  return absl::StrSplit(expanded, '|');
}

// ".{a|b}?.c" -> {{a,b} optional}, {{c}}.
std::vector<Slot> ParsePattern(absl::string_view pattern) {
  std::vector<Slot> slots;
  while (!pattern.empty()) {
    pattern.remove_prefix(1);  // the dot
    size_t end = pattern.find('.');
    if (!pattern.empty() && pattern[0] == '{') {
      end = pattern.find('.', pattern.find('}'));
    }
    absl::string_view text = pattern.substr(0, end);
    pattern.remove_prefix(std::min(end, pattern.size()));
    Slot slot;
    slot.optional = text.back() == '?';
    if (slot.optional) text.remove_suffix(1);
    if (text[0] == '{') text = text.substr(1, text.size() - 2);
    slot.words = Alternatives(text);
    slots.push_back(std::move(slot));
  }
  return slots;
}

struct CompiledForm {
  const Form* form;
  std::vector<Slot> slots;
};

using FormIndex = std::map<std::string, std::vector<CompiledForm>, std::less<>>;

const FormIndex& Index() {
  static const FormIndex& index = *[] {
    auto* built = new FormIndex;
    for (const Form& form : kForms) {
      (*built)[std::string(SpellingOf(form.opcode))].push_back(
          {&form, ParsePattern(form.pattern)});
    }
    return built;
  }();
  return index;
}

using Words = std::vector<absl::string_view>;

bool Matches(absl::Span<const Slot> slots,
             absl::Span<const absl::string_view> words) {
  if (slots.empty()) return words.empty();
  const Slot& slot = slots.front();
  if (!words.empty() && slot.Takes(words.front()) &&
      Matches(slots.subspan(1), words.subspan(1))) {
    return true;
  }
  return slot.optional && Matches(slots.subspan(1), words);
}

// Types among themselves, and spaces among themselves, keep their order.
bool KeepsOrder(absl::string_view word, absl::string_view earlier) {
  const auto is_space = [](absl::string_view text) {
    static const auto& spaces =
        *new std::vector<std::string>(Alternatives("<space>"));
    return std::find(spaces.begin(), spaces.end(), text) != spaces.end();
  };
  return (TypeFromSpelling(word) && TypeFromSpelling(earlier)) ||
         (is_space(word) && is_space(earlier));
}

// The first of `words` that the slot takes, if it may come before those that
// stand in front of it; words.end() otherwise.
Words::iterator WordFor(const Slot& slot, Words& words) {
  const auto found =
      std::find_if(words.begin(), words.end(),
                   [&](absl::string_view word) { return slot.Takes(word); });
  if (found == words.end()) return found;
  const bool overtakes =
      std::any_of(words.begin(), found, [&](absl::string_view earlier) {
        return slot.OfTheName() || KeepsOrder(*found, earlier);
      });
  return overtakes ? words.end() : found;
}

// The words in the order of the slots; empty: they are not the form's.
Words InOrder(absl::Span<const Slot> slots, Words words) {
  if (words.size() > slots.size()) return {};
  Words ordered;
  for (const Slot& slot : slots) {
    const auto word = WordFor(slot, words);
    if (word != words.end()) {
      ordered.push_back(*word);
      words.erase(word);
    } else if (!slot.optional) {
      return {};
    }
  }
  return words.empty() ? ordered : Words();
}

void Classify(absl::Span<const absl::string_view> words, Modifiers* result) {
  *result = Modifiers();
  for (absl::string_view word : words) {
    if (auto type = TypeFromSpelling(word)) {
      if (result->type_count < 4) result->types[result->type_count++] = *type;
    } else if (auto modifier = ModifierFromSpelling(word)) {
      result->words.push_back(*modifier);
    }
  }
}

}  // namespace

bool Modifiers::Has(Modifier word) const {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::optional<Modifier> Modifiers::In(Modifier first, Modifier last) const {
  for (Modifier word : words) {
    if (word >= first && word <= last) return word;
  }
  return std::nullopt;
}

size_t Modifiers::Elements() const {
  return Has(Modifier::kV2)   ? 2
         : Has(Modifier::kV4) ? 4
         : Has(Modifier::kV8) ? 8
                              : 1;
}

absl::string_view SpellingOf(Opcode opcode) {
  return kOpcodes[static_cast<int>(opcode)];
}

int VideoParts(Opcode opcode) {
  const absl::string_view name = SpellingOf(opcode);
  if (name.front() != 'v' || opcode == Opcode::kVote) return 0;
  return name.back() == '2' ? 2 : name.back() == '4' ? 4 : 1;
}

absl::Span<const Form> AllForms() { return kForms; }

bool IsOpcode(absl::string_view word) { return Index().contains(word); }

const Form* MatchForm(absl::string_view opcode,
                      absl::Span<const absl::string_view> words,
                      Modifiers* modifiers) {
  auto it = Index().find(opcode);
  if (it == Index().end()) return nullptr;
  for (const CompiledForm& candidate : it->second) {
    if (!Matches(candidate.slots, words)) continue;
    Classify(words, modifiers);
    return candidate.form;
  }
  for (const CompiledForm& candidate : it->second) {
    const Words ordered =
        InOrder(candidate.slots, Words(words.begin(), words.end()));
    if (ordered.empty()) continue;
    Classify(ordered, modifiers);
    return candidate.form;
  }
  return nullptr;
}

std::vector<std::string> Spellings(const Form& form) {
  std::vector<std::string> spellings = {std::string(SpellingOf(form.opcode))};
  for (const Slot& slot : ParsePattern(form.pattern)) {
    std::vector<std::string> longer;
    for (const std::string& prefix : spellings) {
      if (slot.optional) longer.push_back(prefix);
      for (const std::string& word : slot.words) {
        longer.push_back(absl::StrCat(prefix, ".", word));
      }
    }
    spellings = std::move(longer);
  }
  return spellings;
}

}  // namespace holdfast::software::ptx
