// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/forms/spellings.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/match.h"
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

namespace {

using Words = std::vector<std::string>;

constexpr const char* kElements[] = {"b8",  "b16", "b32", "b64", "u8",
                                     "u16", "u32", "u64", "s8",  "s16",
                                     "s32", "s64", "f32", "f64"};

// "ld" and its like in every space, type and vector; how others see it, and
// hints, with one type.
void AddAccesses(const std::string& opcode, const Words& orders,
                 const Words& hints, Words* list) {
  for (const char* space : {"", ".global", ".shared", ".local"}) {
    for (const char* element : kElements) {
      list->push_back(absl::StrCat(opcode, space, ".", element));
    }
    for (const char* vector :
         {".v2.b8", ".v4.u8", ".v2.b16", ".v4.s16", ".v2.u32", ".v4.f32",
          ".v4.b32", ".v2.b64", ".v2.f64"}) {
      list->push_back(absl::StrCat(opcode, space, vector));
    }
    list->push_back(absl::StrCat(opcode, ".weak", space, ".b32"));
  }
  for (const char* space : {"", ".global", ".shared"}) {
    for (const std::string& order : orders) {
      list->push_back(absl::StrCat(opcode, order, space, ".b32"));
      list->push_back(absl::StrCat(opcode, order, space, ".v2.b64"));
    }
  }
  for (const std::string& hint : hints) {
    list->push_back(absl::StrCat(opcode, ".global", hint, ".b32"));
    list->push_back(absl::StrCat(opcode, ".global", hint, ".v4.f32"));
  }
}

const Words& Scopes() {
  static const auto& scopes = *new Words{".cta", ".cluster", ".gpu", ".sys"};
  return scopes;
}

void AddLoadsAndStores(Words* list) {
  Words loads = {".volatile"}, stores = {".volatile"};
  for (const std::string& scope : Scopes()) {
    loads.push_back(".relaxed" + scope);
    loads.push_back(".acquire" + scope);
    stores.push_back(".relaxed" + scope);
    stores.push_back(".release" + scope);
  }
  AddAccesses("ld", loads,
              {".ca", ".cg", ".cs", ".lu", ".cv", ".nc", ".ca.nc",
               ".L1::evict_first", ".L1::no_allocate", ".L2::64B", ".L2::128B"},
              list);
  AddAccesses(
      "st", stores,
      {".wb", ".cg", ".cs", ".wt", ".L1::evict_last", ".L1::no_allocate"},
      list);
  for (const char* element : kElements) {
    list->push_back(absl::StrCat("ldu.global.", element));
  }
  list->push_back("ldu.global.v4.f32");
  list->push_back("ld.mmio.relaxed.sys.global.u32");
  list->push_back("st.mmio.relaxed.sys.global.u32");
}

void AddAtomics(Words* list) {
  const Words operations = {
      "add.u32",        "add.s32",         "add.u64",       "add.f32",
      "add.f64",        "min.u32",         "min.s32",       "min.u64",
      "min.s64",        "max.u32",         "max.s32",       "max.u64",
      "max.s64",        "and.b32",         "and.b64",       "or.b32",
      "or.b64",         "xor.b32",         "xor.b64",       "inc.u32",
      "dec.u32",        "exch.b32",        "exch.b64",      "cas.b16",
      "cas.b32",        "cas.b64",         "add.noftz.f16", "add.noftz.f16x2",
      "add.noftz.bf16", "add.noftz.bf16x2"};
  for (const std::string& operation : operations) {
    const bool gives = absl::StartsWith(operation, "exch") ||
                       absl::StartsWith(operation, "cas");
    for (const char* space : {"", ".global", ".shared"}) {
      list->push_back(absl::StrCat("atom", space, ".", operation));
      list->push_back(absl::StrCat("atom.relaxed.gpu", space, ".", operation));
      if (gives) continue;
      list->push_back(absl::StrCat("red", space, ".", operation));
      list->push_back(absl::StrCat("red.relaxed.gpu", space, ".", operation));
    }
  }
  for (const std::string& scope : Scopes()) {
    for (const char* order : {".relaxed", ".acquire", ".release", ".acq_rel"}) {
      list->push_back(absl::StrCat("atom", order, scope, ".global.add.u32"));
      list->push_back(absl::StrCat("atom", order, scope, ".shared.cas.b64"));
    }
    list->push_back(absl::StrCat("red.release", scope, ".global.add.u32"));
  }
}

}  // namespace

std::vector<std::string> MemorySpellings() {
  Words list;
  AddLoadsAndStores(&list);
  AddAtomics(&list);
  for (const char* space : {"global", "shared", "local"}) {
    list.push_back(absl::StrCat("isspacep.", space));
    list.push_back(absl::StrCat("cvta.", space, ".u64"));
    list.push_back(absl::StrCat("cvta.to.", space, ".u64"));
  }
  list.push_back("isspacep.shared::cta");
  return list;
}

std::vector<std::string> TriedSpellings() {
  Words list = ValueSpellings();
  const Words memory = MemorySpellings();
  list.insert(list.end(), memory.begin(), memory.end());
  return list;
}

}  // namespace holdfast::forms
