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
    {"mma wmma ldmatrix stmatrix movmatrix", "matrices of a warp"},
    {"wgmma setmaxnreg tensormap", "matrices of a warp group"},
    {"tcgen05 clusterlaunchcontrol", "compute capability 10 and above"},
    {"tex tld4 txq istypep", "textures"},
    {"suld sust sured suq", "surfaces"},
    {"mapa getctarank multimem", "clusters of blocks"},
    {"alloca stacksave stackrestore", "a stack that grows while code runs"},
    {"vadd vsub vabsdiff vmin vmax vshl vshr vmad vset",
     "scalar video instructions"},
    {"vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 vsub4 vavrg4 "
     "vabsdiff4 vmin4 vmax4 vset4",
     "video instructions of packed numbers"},
};

// What opcodes that are there lack.
constexpr absl::string_view kMissingForms[] = {
    "`fma.oob`: which NaN marks what is out of bounds is not documented",
    "selectors and masks of bytes in video instructions",
    "what compute capability 10 added: numbers of 4 and 6 bits, pairs of f32, "
    "mixed precision, three operands of `min` and `max`",
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

// Of the forms that load and store: which are tried here, and of how many each
// spelling that is tried has a golden.
struct Tried {
  std::set<const Form*> forms;
  std::set<const Form*> without_golden;
};

Tried TriedForms(const Goldens& goldens) {
  Tried tried;
  for (const std::string& spelling : MemorySpellings()) {
    const std::vector<absl::string_view> words = absl::StrSplit(spelling, '.');
    software::ptx::Modifiers modifiers;
    const Form* form = software::ptx::MatchForm(
        words[0], absl::MakeSpan(words).subspan(1), &modifiers);
    if (form == nullptr) continue;
    tried.forms.insert(form);
    if (!HasGolden(spelling, Describe(spelling).size(), goldens)) {
      tried.without_golden.insert(form);
    }
  }
  return tried;
}

std::string OtherTable(const Goldens& goldens) {
  std::map<std::string, std::map<std::string, size_t>> by_test;
  size_t sum = 0;
  for (const Form& form : AllForms()) {
    if (ComputesValue(form)) continue;
    ++by_test[TestOf(form)][std::string(SpellingOf(form.opcode))];
    ++sum;
  }
  const Tried tried = TriedForms(goldens);
  std::string text =
      "\n| moves, waits, branches or asks: forms | tested by |\n"
      "| --- | --- |\n";
  for (const auto& [test, opcodes] : by_test) {
    const std::string list =
        absl::StrJoin(opcodes, ", ", [](std::string* out, const auto& opcode) {
          absl::StrAppend(out, opcode.first, " ", opcode.second);
        });
    absl::StrAppend(&text, "| ", list, " | ", test.empty() ? "-" : test,
                    " |\n");
  }
  return absl::StrCat(
      text, "| **all ", sum, "** | |\n\n", tried.forms.size(),
      " of these, `ld` `st` `ldu` `atom` `red` `cvta` `isspacep`, are also "
      "checked against the oracle in\n`tests/conformance/forms`, in ",
      MemorySpellings().size(), " spellings; ",
      tried.forms.size() - tried.without_golden.size(),
      " of them against an H200.\n");
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
  return ComputingTable(goldens) + OtherTable(goldens) + Missing();
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
