// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/forms/spellings.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace holdfast::forms {
namespace {

// Opcodes that compute a value from values.
constexpr absl::string_view kComputing[] = {
    "abs",   "add",    "addc",   "and",   "bfe",       "bfi",       "bfind",
    "bmsk",  "brev",   "clz",    "cnot",  "copysign",  "cos",       "cvt",
    "div",   "dp2a",   "dp4a",   "ex2",   "fma",       "fns",       "lg2",
    "lop3",  "mad",    "mad24",  "madc",  "max",       "min",       "mov",
    "mul",   "mul24",  "neg",    "not",   "or",        "popc",      "prmt",
    "rcp",   "rem",    "rsqrt",  "sad",   "selp",      "set",       "setp",
    "shf",   "shl",    "shr",    "sin",   "slct",      "sqrt",      "sub",
    "subc",  "szext",  "tanh",   "testp", "vabsdiff2", "vabsdiff4", "vadd2",
    "vadd4", "vavrg2", "vavrg4", "vmax2", "vmax4",     "vmin2",     "vmin4",
    "vset2", "vset4",  "vsub2",  "vsub4", "xor"};

// The tests of opcodes that move, wait, branch or ask.
constexpr std::pair<absl::string_view, absl::string_view> kTests[] = {
    {"ld ldu st cvta bra ret exit", "kernel_test.cc"},
    {"call brx", "call_test.cc"},
    {"isspacep cp mbarrier createpolicy discard applypriority prefetch "
     "prefetchu griddepcontrol",
     "memory_test.cc"},
    {"bar barrier nanosleep", "barrier_test.cc"},
    {"membar fence trap activemask elect shfl vote match redux atom red",
     "warp_test.cc"},
};

}  // namespace

bool ComputesValue(const software::ptx::Form& form) {
  const absl::string_view opcode = SpellingOf(form.opcode);
  return std::find(std::begin(kComputing), std::end(kComputing), opcode) !=
         std::end(kComputing);
}

std::string TestOf(const software::ptx::Form& form) {
  if (ComputesValue(form)) return "tests/conformance/forms";
  for (const auto& [opcodes, test] : kTests) {
    const std::vector<absl::string_view> list = absl::StrSplit(opcodes, ' ');
    if (std::find(list.begin(), list.end(), SpellingOf(form.opcode)) !=
        list.end()) {
      return absl::StrCat("tests/core/software/runtime/", test);
    }
  }
  return "";
}

std::vector<std::string> ValueSpellings() {
  std::set<std::string> all;
  for (const software::ptx::Form& form : software::ptx::AllForms()) {
    if (!ComputesValue(form)) continue;
    for (std::string& spelling : software::ptx::Spellings(form)) {
      all.insert(std::move(spelling));
    }
  }
  return {all.begin(), all.end()};
}

}  // namespace holdfast::forms
