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
#include "absl/types/span.h"

namespace holdfast::forms {
namespace {

// Opcodes that compute a value from values.
constexpr absl::string_view kComputing[] = {
    "abs",   "add",   "addc",  "and",    "bfe",      "bfi",       "bfind",
    "bmsk",  "brev",  "clz",   "cnot",   "copysign", "cos",       "cvt",
    "div",   "dp2a",  "dp4a",  "ex2",    "fma",      "fns",       "lg2",
    "lop3",  "mad",   "mad24", "madc",   "max",      "min",       "mov",
    "mul",   "mul24", "neg",   "not",    "or",       "popc",      "prmt",
    "rcp",   "rem",   "rsqrt", "sad",    "selp",     "set",       "setp",
    "shf",   "shl",   "shr",   "sin",    "slct",     "sqrt",      "sub",
    "subc",  "szext", "tanh",  "testp",  "vabsdiff", "vabsdiff2", "vabsdiff4",
    "vadd",  "vadd2", "vadd4", "vavrg2", "vavrg4",   "vmad",      "vmax",
    "vmax2", "vmax4", "vmin",  "vmin2",  "vmin4",    "vset",      "vset2",
    "vset4", "vshl",  "vshr",  "vsub",   "vsub2",    "vsub4",     "xor"};

// Opcodes of which every spelling is tried, though they compute nothing.
constexpr absl::string_view kActing[] = {"activemask",
                                         "applypriority",
                                         "bar",
                                         "barrier",
                                         "bra",
                                         "brx",
                                         "call",
                                         "cp",
                                         "createpolicy",
                                         "discard",
                                         "elect",
                                         "exit",
                                         "fence",
                                         "getctarank",
                                         "griddepcontrol",
                                         "isspacep",
                                         "ldmatrix",
                                         "mapa",
                                         "match",
                                         "mbarrier",
                                         "membar",
                                         "mma",
                                         "movmatrix",
                                         "nanosleep",
                                         "pmevent",
                                         "prefetch",
                                         "prefetchu",
                                         "redux",
                                         "ret",
                                         "setmaxnreg",
                                         "shfl",
                                         "stmatrix",
                                         "vote",
                                         "wmma"};

// The tests of opcodes that move, wait, branch or ask.
constexpr std::pair<absl::string_view, absl::string_view> kTests[] = {
    {"ld ldu st cvta bra ret exit", "kernel_test.cc"},
    {"call brx", "call_test.cc"},
    {"isspacep cp mbarrier createpolicy discard applypriority prefetch "
     "prefetchu griddepcontrol",
     "memory_test.cc"},
    {"bar barrier nanosleep", "barrier_test.cc"},
    {"mapa getctarank", "cluster_test.cc"},
    {"ldmatrix stmatrix movmatrix mma", "matrix_test.cc"},
    {"wmma", "tile_test.cc"},
    {"membar fence trap activemask elect shfl vote match redux atom red",
     "warp_test.cc"},
};

bool Contains(absl::Span<const absl::string_view> list,
              absl::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Allowed by the table, refused by the assembler: an order needs a scope.
bool IsHalfOrdered(const std::string& spelling) {
  if (!absl::StartsWith(spelling, "mbarrier")) return false;
  const std::vector<absl::string_view> words = absl::StrSplit(spelling, '.');
  const bool scope = Contains(words, "cta") || Contains(words, "cluster");
  const bool order = Contains(words, "release") || Contains(words, "acquire") ||
                     Contains(words, "relaxed");
  return scope != order;
}

// Allowed by the table and the assembler, but 32 bits hold no generic address.
bool IsNarrowGeneric(const std::string& spelling) {
  return spelling == "mapa.u32" || spelling == "getctarank.u32";
}

std::set<std::string> SpellingsOf(absl::Span<const absl::string_view> opcodes) {
  std::set<std::string> all;
  for (const software::ptx::Form& form : software::ptx::AllForms()) {
    if (!Contains(opcodes, SpellingOf(form.opcode))) continue;
    for (std::string& spelling : software::ptx::Spellings(form)) {
      if (IsHalfOrdered(spelling) || IsNarrowGeneric(spelling)) continue;
      all.insert(std::move(spelling));
    }
  }
  return all;
}

}  // namespace

bool ComputesValue(const software::ptx::Form& form) {
  return Contains(kComputing, SpellingOf(form.opcode));
}

bool EndsKernel(const software::ptx::Form& form) {
  constexpr absl::string_view kEnding[] = {"brkpt", "trap"};
  return Contains(kEnding, SpellingOf(form.opcode));
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
  const std::set<std::string> all = SpellingsOf(kComputing);
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
               ".L1::evict_first", ".L1::no_allocate", ".L2::64B", ".L2::128B",
               ".L2::cache_hint", ".L1::evict_last.L2::cache_hint.L2::256B"},
              list);
  AddAccesses(
      "st", stores,
      {".wb", ".cg", ".cs", ".wt", ".L1::evict_last", ".L1::no_allocate",
       ".L2::cache_hint", ".L1::no_allocate.L2::cache_hint"},
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

// Those that have forms of their own in the table: the operation in front of
// the order, 128 bits, several numbers at once.
void AddRareAtomics(Words* list) {
  for (const char* operation :
       {"add.relaxed.gpu.global.u64", "min.relaxed.cta.s32",
        "and.release.sys.shared.b32", "exch.acq_rel.gpu.b64",
        "inc.relaxed.gpu.global.u32", "add.relaxed.gpu.shared.f32",
        "xor.relaxed.cta.global.b64", "dec.release.gpu.u32",
        "add.relaxed.sys.f64"}) {
    list->push_back(absl::StrCat("atom.", operation));
    if (!absl::StartsWith(operation, "exch")) {
      list->push_back(absl::StrCat("red.", operation));
    }
  }
  list->push_back("atom.cas.relaxed.gpu.global.b32");
  list->push_back("atom.cas.acquire.cta.shared.b16");
  for (const char* space : {"", ".global", ".shared"}) {
    for (const char* operation : {".exch.b128", ".cas.b128"}) {
      list->push_back(absl::StrCat("atom", space, operation));
      list->push_back(absl::StrCat("atom.acq_rel.gpu", space, operation));
    }
  }
  for (const char* opcode : {"atom", "red"}) {
    for (const char* space : {"", ".relaxed.gpu.global"}) {
      for (const char* rest :
           {"add.v2.f32", "add.v4.f32", "add.noftz.v2.f16", "min.noftz.v4.f16",
            "max.noftz.v8.f16", "add.noftz.v2.f16x2", "max.noftz.v4.f16x2",
            "min.noftz.v2.bf16", "max.noftz.v4.bf16", "add.noftz.v8.bf16",
            "min.noftz.v2.bf16x2", "add.noftz.v4.bf16x2"}) {
        list->push_back(absl::StrCat(opcode, space, ".", rest));
      }
    }
    for (const char* rest : {"add.L2::cache_hint.u32", "or.L2::cache_hint.b64",
                             "add.L2::cache_hint.f32"}) {
      list->push_back(absl::StrCat(opcode, ".global.", rest));
    }
  }
}

}  // namespace

std::vector<std::string> MemorySpellings() {
  Words list;
  AddLoadsAndStores(&list);
  AddAtomics(&list);
  AddRareAtomics(&list);
  for (const char* space : {"", ".global", ".shared"}) {
    list.push_back(absl::StrCat("ld", space, ".b128"));
    list.push_back(absl::StrCat("st", space, ".b128"));
  }
  for (const char* space : {"", ".shared::cluster"}) {
    const std::string end =
        absl::StrCat(space, ".mbarrier::complete_tx::bytes.");
    for (const char* type : {"b32", "u64", "s32", "f64", "v2.u32"}) {
      list.push_back(absl::StrCat("st.async", end, type));
    }
    for (const char* operation : {"add.u64", "min.s32", "inc.u32", "xor.b32"}) {
      list.push_back(absl::StrCat("red.async.relaxed.cluster", end, operation));
    }
  }
  list.push_back("cvta.const.u64");
  list.push_back("cvta.to.const.u64");
  for (const char* space : {"global", "shared", "local"}) {
    list.push_back(absl::StrCat("cvta.", space, ".u64"));
    list.push_back(absl::StrCat("cvta.to.", space, ".u64"));
  }
  for (const std::string& spelling : SpellingsOf(kActing)) {
    list.push_back(spelling);
  }
  return list;
}

std::vector<std::string> TriedSpellings() {
  Words list = ValueSpellings();
  const Words memory = MemorySpellings();
  list.insert(list.end(), memory.begin(), memory.end());
  return list;
}

}  // namespace holdfast::forms
