// SPDX-License-Identifier: Apache-2.0
//
// Instructions that order memory, prefetch or wait: the thread's own bytes
// are as before, whatever else it does.
#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

// 128 bytes that nobody reads.
constexpr char kSpare[] = ".global .align 128 .b8 spare[128];\n";

// Between a store and a load.
Operation Between(const std::string& space, const std::string& text) {
  Operation operation;
  operation.sources = {"b32"};
  operation.results = {"b32"};
  const std::string place = "." + space + ".b32 ";
  operation.code = "st" + place + "[%" + space + "], S0;\n" + text + "ld" +
                   place + "D0, [%" + space + "];\n";
  operation.compute = [](const Sources& in) { return Results{in[0]}; };
  return operation;
}

std::vector<Operation> Prefetches(const Words& words) {
  const std::string space = words.OneOf({"global", "local"});
  if (!space.empty()) return {Between(space, "$ [%" + space + "];\n")};
  return {Between("global", "$ [%gglobal];\n"),
          Between("local", "$ [%glocal];\n")};
}

// The policy of a load.
std::vector<Operation> Policies(const Words& words) {
  const std::string load =
      "ld.global.L2::cache_hint.b32 %t1, [%global], %u0;\n";
  if (words.Has("cvt")) return {Between("global", "$ %u0, 0;\n")};
  if (words.Has("range")) {
    return {Between("global", std::string("$ %u0, [%") +
                                  (words.Has("global") ? "" : "g") +
                                  "global], 16, 4096;\n" + load)};
  }
  return {Between("global", "$ %u0;\n" + load),
          Between("global", "$ %u0, 0.5;\n" + load)};
}

}  // namespace

std::vector<Operation> DescribeOrder(const Words& words) {
  const std::string& opcode = words.opcode();
  if (opcode == "fence" || opcode == "membar") {
    return {Between("global", "$;\n"), Between("shared", "$;\n")};
  }
  if (opcode == "prefetch") return Prefetches(words);
  if (opcode == "prefetchu") return {Between("global", "$ [%gglobal];\n")};
  if (opcode == "createpolicy") return Policies(words);
  if (opcode == "discard" || opcode == "applypriority") {
    Operation operation = Between("global", "$ [spare], 128;\n");
    operation.declarations = kSpare;
    return {operation};
  }
  if (opcode == "nanosleep") {
    return {Between("global", "$ 20;\n"),
            Between("global", "and.b32 %t1, S0, 63;\n$ %t1;\n")};
  }
  if (opcode == "pmevent") return {Between("global", "$ 3;\n")};
  if (opcode == "setmaxnreg") {
    Operation operation = Between("global", "$ 64;\n");
    operation.target = "sm_90a";
    return {operation};
  }
  if (opcode == "griddepcontrol") return {Between("global", "$;\n")};
  return {};
}

}  // namespace holdfast::forms
