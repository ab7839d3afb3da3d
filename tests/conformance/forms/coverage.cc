// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/forms/coverage.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/conformance/forms/operation.h"
#include "tests/conformance/forms/spellings.h"

namespace holdfast::forms {
namespace {

using software::ptx::AllForms;
using software::ptx::Form;

constexpr char kBegin[] = "<!-- coverage -->\n";
constexpr char kEnd[] = "<!-- end of coverage -->\n";

// The opcodes of PTX 9.0 that the table of forms may lack, and why.
constexpr std::pair<const char*, const char*> kOptional[] = {
    {"wgmma tensormap", "matrices of a warp group"},
    {"tcgen05 clusterlaunchcontrol", "compute capability 10 and above"},
    {"tex tld4 txq istypep", "textures"},
    {"suld sust sured suq", "surfaces"},
    {"multimem", "memory of several GPUs at one address"},
    {"alloca stacksave stackrestore", "a stack that grows while code runs"},
};

// The missing forms of opcodes that exist.
constexpr absl::string_view kMissingForms[] = {
    "`mma` of bits, of sparse matrices, of f16 with `.m8n8k4`, and what PTX "
    "8.7 "
    "added to it",
    "`fma.oob`: which NaN marks what is out of bounds is not documented",
    "`cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`, "
    "`fence.proxy.tensormap`: tensor maps",
    "`cp.async.bulk` with `.multicast::cluster`: copies to several blocks",
    "what compute capability 10 added: numbers of 4 and 6 bits, pairs of f32, "
    "mixed precision, three operands of `min` and `max`, `st.bulk`, "
    "`cp.async.bulk` with `.cp_mask`",
};

struct Count {
  size_t forms = 0;
  size_t spellings = 0;
  size_t oracle = 0;
  size_t golden = 0;

  void Add(const Count& other) {
    forms += other.forms;
    spellings += other.spellings;
    oracle += other.oracle;
    golden += other.golden;
  }
};

// A spelling with several operations has a golden if each has.
bool HasGolden(const std::string& spelling, size_t operations,
               const Goldens& goldens) {
  if (operations == 1) return goldens.count(spelling) > 0;
  for (size_t i = 0; i < operations; ++i) {
    if (goldens.count(absl::StrCat(spelling, "#", i)) == 0) return false;
  }
  return operations > 0;
}

Count CountOf(const Form& form, const Goldens& goldens) {
  Count count;
  count.forms = 1;
  for (const std::string& spelling : Spellings(form)) {
    const size_t operations = Describe(spelling).size();
    ++count.spellings;
    count.oracle += operations > 0;
    count.golden += HasGolden(spelling, operations, goldens);
  }
  return count;
}

std::string Row(const std::string& name, const Count& count) {
  return absl::StrCat("| ", name, " | ", count.forms, " | ", count.spellings,
                      " | ", count.oracle, " | ", count.golden, " |\n");
}

std::string ComputingTable(const Goldens& goldens) {
  std::map<std::string, Count> counts;
  Count sum;
  for (const Form& form : AllForms()) {
    if (!ComputesValue(form)) continue;
    const Count count = CountOf(form, goldens);
    counts[std::string(SpellingOf(form.opcode))].Add(count);
    sum.Add(count);
  }
  std::string text =
      "| computes a value | forms | spellings | checked against the oracle "
      "| checked against an H200 |\n| --- | --- | --- | --- | --- |\n";
  for (const auto& [opcode, count] : counts) text += Row(opcode, count);
  return text + Row("**all**", sum);
}

const Form* FormOf(const std::string& spelling) {
  const std::vector<absl::string_view> words = absl::StrSplit(spelling, '.');
  software::ptx::Modifiers modifiers;
  return software::ptx::MatchForm(words[0], absl::MakeSpan(words).subspan(1),
                                  &modifiers);
}

// For each form that computes no value, the tests of it.
std::map<const Form*, Count> TriedForms(const Goldens& goldens) {
  std::map<const Form*, Count> tried;
  for (const Form& form : AllForms()) {
    if (!ComputesValue(form)) tried[&form].forms = 1;
  }
  for (const std::string& spelling : MemorySpellings()) {
    const auto found = tried.find(FormOf(spelling));
    if (found == tried.end()) continue;
    const size_t operations = Describe(spelling).size();
    ++found->second.spellings;
    found->second.oracle += operations > 0;
    found->second.golden += HasGolden(spelling, operations, goldens);
  }
  return tried;
}

std::string ActingTable(const std::map<const Form*, Count>& tried) {
  struct Opcode {
    Count count;
    std::string test;
  };
  std::map<std::string, Opcode> opcodes;
  Count sum;
  for (const auto& [form, count] : tried) {
    Opcode& opcode = opcodes[std::string(SpellingOf(form->opcode))];
    opcode.count.Add(count);
    opcode.test = TestOf(*form);
    sum.Add(count);
  }
  std::string text =
      "\n| moves, waits, branches or asks | forms | spellings tried | checked "
      "against the oracle | checked against an H200 | tested by, too |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  for (const auto& [name, opcode] : opcodes) {
    text += Row(name, opcode.count);
    text.pop_back();
    absl::StrAppend(&text, " ", opcode.test.empty() ? "-" : opcode.test,
                    " |\n");
  }
  text += Row("**all**", sum);
  text.pop_back();
  return text + " |\n";
}

// Returns the sentence "`a` and `b` END"; "" if there are no opcodes.
std::string Sentence(const std::set<std::string>& opcodes,
                     absl::string_view end) {
  if (opcodes.empty()) return "";
  return absl::StrCat(" ", absl::StrJoin(opcodes, " and "), " ", end);
}

// How many forms have all that is tried of them recorded, and which none.
std::string Summary(const Goldens& goldens,
                    const std::map<const Form*, Count>& tried) {
  size_t forms = 0, oracle = 0, golden = 0;
  std::set<std::string> ending, untried;
  const auto add = [&](const Form& form, const Count& count) {
    ++forms;
    oracle += count.oracle > 0;
    golden += count.golden > 0 && count.golden == count.oracle;
    if (count.oracle == 0) {
      (EndsKernel(form) ? ending : untried)
          .insert(absl::StrCat("`", SpellingOf(form.opcode), "`"));
    }
  };
  for (const Form& form : AllForms()) {
    const auto found = tried.find(&form);
    add(form, found == tried.end() ? CountOf(form, goldens) : found->second);
  }
  return absl::StrCat(
      forms, " forms; ", oracle, " are checked against the oracle, ", golden,
      " against what an H200 computed, too.",
      Sentence(ending, "give nothing to compare: they end a kernel."),
      Sentence(untried, "must still be added to the lists of `spellings.cc`."),
      "\n\n");
}

std::string Missing() {
  std::set<std::string> present;
  for (const Form& form : AllForms()) {
    present.emplace(SpellingOf(form.opcode));
  }
  std::string text = "\nMissing:\n\n";
  for (const auto& [opcodes, reason] : kOptional) {
    std::vector<std::string> absent;
    for (const auto& opcode : absl::StrSplit(opcodes, ' ')) {
      const std::string name(opcode);
      if (present.count(name) == 0) absent.push_back("`" + name + "`");
    }
    if (absent.empty()) continue;
    absl::StrAppend(&text, "- ", absl::StrJoin(absent, " "), ": ", reason,
                    "\n");
  }
  for (const absl::string_view line : kMissingForms) {
    absl::StrAppend(&text, "- ", line, "\n");
  }
  return text;
}

}  // namespace

std::string CoverageTable(const Goldens& goldens) {
  const auto tried = TriedForms(goldens);
  return Summary(goldens, tried) + ComputingTable(goldens) +
         ActingTable(tried) + Missing();
}

std::string WithCoverage(const std::string& readme, const std::string& table) {
  const size_t begin = readme.find(kBegin);
  const size_t end = readme.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    return "";
  }
  return absl::StrCat(readme.substr(0, begin), kBegin, table,
                      readme.substr(end));
}

}  // namespace holdfast::forms
