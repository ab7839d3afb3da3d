// SPDX-License-Identifier: Apache-2.0
//
// Bulk copies and reductions: each thread issues one of its own, waits for it,
// and looks at what has come.
#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

// Each thread has 32 bytes at %t0 and a barrier at %t1.
constexpr char kPlaces[] =
    ".shared .align 16 .b8 landing[4096];\n.shared .align 8 .b8 gates[1024];\n";
constexpr char kFind[] =
    "mov.u32 %t0, landing;\nmad.lo.u32 %t0, %thread, 32, %t0;\n"
    "mov.u32 %t1, gates;\nmad.lo.u32 %t1, %thread, 8, %t1;\n";

// Makes the stores of the thread visible to its copies.
constexpr char kFence[] = "fence.proxy.async;\n";
constexpr char kWaitForGroup[] =
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";
constexpr char kLook[] = "ld.shared.v2.b64 {D0, D1}, [%t0];\n";

// Returns `copy` between a barrier's start and the wait for it. `bytes` is the
// number of bytes that the barrier waits for, as text.
std::string Announced(const std::string& bytes, const std::string& copy) {
  return std::string("mbarrier.init.shared.b64 [%t1], 1;\n") + kFence +
         "mbarrier.arrive.expect_tx.shared.b64 _, [%t1], " + bytes + ";\n" +
         copy +
         "Again:\nmbarrier.try_wait.parity.shared.b64 %q0, [%t1], 0;\n"
         "@!%q0 bra Again;\nmbarrier.inval.shared.b64 [%t1];\n";
}

std::string PolicyOf(const Words& words) {
  return words.Has("L2::cache_hint")
             ? "createpolicy.fractional.L2::evict_first.b64 %u0;\n"
             : "";
}

std::string HintOf(const Words& words) {
  return words.Has("L2::cache_hint") ? ", %u0" : "";
}

// The sources are the results.
Operation Copy(size_t count, const std::string& code) {
  Operation operation;
  operation.sources.assign(count, "b64");
  operation.results.assign(count, "b64");
  operation.declarations = kPlaces;
  operation.code = kFind + code;
  operation.compute = [](const Sources& in) { return in; };
  return operation;
}

std::vector<Operation> FromGlobal(const Words& words) {
  const std::string hint = ", [%t1]" + HintOf(words) + ";\n";
  return {
      Copy(4, PolicyOf(words) + Announced("32", "$ [%t0], [%in], 32" + hint) +
                  kLook + "ld.shared.v2.b64 {D2, D3}, [%t0+16];\n"),
      Copy(2, PolicyOf(words) + "mov.u32 %t2, 16;\n" +
                  Announced("%t2", "$ [%t0], [%in], %t2" + hint) + kLook)};
}

std::vector<Operation> WithinShared() {
  return {Copy(2, "st.shared.v2.b64 [%t0+16], {S0, S1};\n" +
                      Announced("16", "$ [%t0], [%t0+16], 16, [%t1];\n") +
                      kLook)};
}

// To global memory, where the bytes are when the group is done.
Operation ToGlobal(const std::string& copy, const std::string& wait) {
  return Copy(2, "st.shared.v2.b64 [%t0], {S0, S1};\n" + std::string(kFence) +
                     copy + wait + "ld.global.v2.b64 {D0, D1}, [%global];\n");
}

std::vector<Operation> Groups(const Words& words) {
  const std::string copy =
      "cp.async.bulk.global.shared::cta.bulk_group [%global], [%t0], 16;\n";
  if (words.Has("commit_group")) {
    return {ToGlobal(copy, "$;\ncp.async.bulk.wait_group 0;\n")};
  }
  // Behind .read the source may be written again.
  return {ToGlobal(
      copy + "cp.async.bulk.commit_group;\n",
      words.Has("read") ? "$ 0;\ncp.async.bulk.wait_group 0;\n" : "$ 0;\n")};
}

std::function<uint64_t(const Sources&)> CombineOf(const Words& words) {
  const Kind kind = words.Type();
  const std::string name =
      words.OneOf({"add", "min", "max", "inc", "dec", "and", "or", "xor"});
  if (name == "inc") {
    return [](const Sources& in) { return in[0] >= in[1] ? 0 : in[0] + 1; };
  }
  if (name == "dec") {
    return [](const Sources& in) {
      return in[0] == 0 || in[0] > in[1] ? in[1] : in[0] - 1;
    };
  }
  const bool rounds = name == "add" && IsFloat(kind);
  const auto compute =
      Describe(name + (rounds ? ".rn." : ".") + kind)[0].compute;
  return [compute](const Sources& in) { return compute(in)[0]; };
}

// Stores `source` as each element of the 16 bytes at `place`.
std::string Fill(const std::string& space, const std::string& place,
                 const std::string& source, int bits) {
  std::string code;
  for (int at = 0; at < 16; at += bits / 8) {
    code += "st." + space + ".b" + std::to_string(bits) + " [" + place + "+" +
            std::to_string(at) + "], " + source + ";\n";
  }
  return code;
}

// S1 is combined with S0, in each element of 16 bytes. The first and the last
// are looked at.
std::vector<Operation> Reductions(const Words& words) {
  const Kind kind = words.Type();
  const int bits = BitsOf(kind);
  const bool global = words.Has("global");
  const std::string space = global ? "global" : "shared";
  const std::string place = global ? "%global" : "%t0";
  const std::string from = global ? "%t0" : "%t0+16";
  const std::string load = "ld." + space + ".b" + std::to_string(bits) + " ";
  const std::string copy = "$ [" + place + "], [" + from + "], 16";
  Operation operation;
  operation.sources = {kind, kind};
  operation.results = {kind, kind};
  operation.declarations = kPlaces;
  operation.code =
      kFind + Fill(space, place, "S0", bits) +
      Fill("shared", from, "S1", bits) + PolicyOf(words) +
      (global ? kFence + copy + HintOf(words) + ";\n" + kWaitForGroup
              : Announced("16", copy + ", [%t1];\n")) +
      load + "D0, [" + place + "];\n" + load + "D1, [" + place + "+" +
      std::to_string(16 - bits / 8) + "];\n";
  const auto combine = CombineOf(words);
  operation.compute = [combine](const Sources& in) {
    const uint64_t now = combine(in);
    return Results{now, now};
  };
  // It may flush what is subnormal.
  if (kind == "f32") {
    operation.open = [combine](const Sources& in) {
      return IsSubnormal("f32", in[0]) || IsSubnormal("f32", in[1]) ||
             IsSubnormal("f32", combine(in));
    };
  }
  return {operation};
}

}  // namespace

std::vector<Operation> DescribeBulk(const Words& words) {
  if (words.opcode() != "cp" || !words.Has("bulk")) return {};
  if (words.Has("reduce")) return Reductions(words);
  if (words.Has("prefetch")) {
    return {Copy(2, PolicyOf(words) + "$ [%in], 32" + HintOf(words) +
                        ";\nld.global.v2.b64 {D0, D1}, [%in];\n")};
  }
  if (words.Has("commit_group") || words.Has("wait_group")) {
    return Groups(words);
  }
  if (words.Has("bulk_group")) {
    return {ToGlobal(
        PolicyOf(words) + "$ [%global], [%t0], 16" + HintOf(words) + ";\n",
        kWaitForGroup)};
  }
  return words.Has("global") ? FromGlobal(words) : WithinShared();
}

}  // namespace holdfast::forms
