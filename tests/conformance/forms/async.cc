// SPDX-License-Identifier: Apache-2.0
//
// Barriers in shared memory, each thread at one of its own, and copies that go
// on behind the thread.
#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

using Compute = std::function<Results(const Sources&)>;

Operation Make(const std::vector<Kind>& results, const std::string& code,
               const Compute& compute) {
  Operation operation;
  operation.results = results;
  operation.sources = {"count", "count"};
  operation.code = code;
  operation.compute = compute;
  return operation;
}

// Expected arrivals, 2 to 5, in %t0; fewer of them, or as many, in %t1; bytes
// in %t2.
constexpr char kNumbers[] =
    "and.b32 %t0, S0, 3;\nadd.u32 %t0, %t0, 2;\nand.b32 %t1, S1, 3;\n"
    "rem.u32 %t1, %t1, %t0;\nadd.u32 %t1, %t1, 1;\nand.b32 %t2, S1, 255;\n";
uint64_t Expected(const Sources& in) { return (in[0] & 3) + 2; }
uint64_t Some(const Sources& in) { return (in[1] & 3) % Expected(in) + 1; }
uint64_t Bytes(const Sources& in) { return in[1] & 255; }

std::string Around(const std::string& code) {
  return std::string(kNumbers) + "mbarrier.init.shared.b64 [%shared], %t0;\n" +
         code + "mbarrier.inval.shared.b64 [%shared];\n";
}

// Arrives; the count that was pending before goes into `to`.
std::string Pending(const std::string& to) {
  return "mbarrier.arrive.shared.b64 %u1, [%shared];\n"
         "mbarrier.pending_count.b64 " +
         to + ", %u1;\n";
}

std::string Completed(const std::string& to, int parity) {
  return "mbarrier.test_wait.parity.shared.b64 " + to + ", [%shared], " +
         std::to_string(parity) + ";\n";
}

std::vector<Operation> Life(const Words& words) {
  if (words.Has("init")) {
    return {Make({"u32", "pred"},
                 std::string(kNumbers) + "$ [%shared], %t0;\n" + Pending("D0") +
                     Completed("D1", 0) +
                     "mbarrier.inval.shared.b64 [%shared];\n",
                 [](const Sources& in) {
                   return Results{Expected(in), 0};
                 })};
  }
  return {Make({"u32"},
               "mbarrier.init.shared.b64 [%shared], 1;\n$ [%shared];\n"
               "st.shared.u32 [%shared], S0;\nld.shared.u32 D0, [%shared];\n",
               [](const Sources& in) { return Results{in[0]}; })};
}

std::vector<Operation> Counted() {
  return {Make({"u32", "u32"},
               Around("mbarrier.arrive.shared.b64 %u0, [%shared];\n$ D0, %u0;\n"
                      "mbarrier.arrive.shared.b64 %u0, [%shared];\n$ D1, "
                      "%u0;\n"),
               [](const Sources& in) {
                 return Results{Expected(in), Expected(in) - 1};
               })};
}

// Bytes that are expected hold a phase up until they are there.
std::vector<Operation> Transactions(const Words& words) {
  const bool expects = words.Has("expect_tx");
  const std::string expect =
      expects ? "$" : "mbarrier.expect_tx.relaxed.cta.shared.b64";
  const std::string complete =
      expects ? "mbarrier.complete_tx.relaxed.cta.shared.b64" : "$";
  return {Make({"pred", "pred"},
               Around(expect + " [%shared], %t2;\n" +
                      "mbarrier.arrive.shared.b64 %u0, [%shared], %t0;\n" +
                      Completed("D0", 0) + complete + " [%shared], %t2;\n" +
                      Completed("D1", 0)),
               [](const Sources& in) {
                 return Results{Bytes(in) == 0, 1};
               })};
}

// The pending counts before and after it, and whether it ended the phase.
std::vector<Operation> Arrivals(const Words& words) {
  const bool drops = words.opcode() == "mbarrier" && words.Has("arrive_drop");
  const bool stays = words.Has("noComplete");
  const bool remote = words.Has("shared::cluster");
  auto arrival = [=](bool counts) {
    const std::string prepare = stays || drops
                                    ? "min.u32 %t1, %t1, 1;\n"  // fewer
                                    : "";
    auto count = [=](const Sources& in) {
      return counts ? (stays || drops ? 1 : Some(in)) : 1;
    };
    std::string code = prepare + "$ " + (remote ? "_" : "%u0") + ", [%shared]" +
                       (counts ? ", %t1" : "") + ";\n";
    code +=
        remote ? "mov.u32 D0, 0;\n" : "mbarrier.pending_count.b64 D0, %u0;\n";
    // The rest of the phase, if any is left, then the first of the next.
    code += Completed("D1", 0) + "sub.u32 %t2, %t0, " + (counts ? "%t1" : "1") +
            ";\nsetp.ne.u32 %q0, %t2, 0;\n"
            "@%q0 mbarrier.arrive.shared.b64 %u1, [%shared], %t2;\n" +
            Completed("D2", 0) + Pending("D3");
    return Make({"u32", "pred", "pred", "u32"}, Around(code),
                [=](const Sources& in) {
                  const uint64_t expected = Expected(in);
                  return Results{remote ? 0 : expected, count(in) == expected,
                                 1, drops ? expected - count(in) : expected};
                });
  };
  if (stays) return {arrival(true)};
  return {arrival(true), arrival(false)};
}

std::vector<Operation> ArrivalsWithBytes(const Words& words) {
  const bool remote = words.Has("shared::cluster");
  const bool drops = words.Has("arrive_drop");
  return {Make(
      {"pred", "pred", "u32"},
      Around(std::string("$ ") + (remote ? "_" : "%u0") +
             ", [%shared], %t2;\nsub.u32 %t1, %t0, 1;\n"
             "mbarrier.arrive.shared.b64 %u1, [%shared], %t1;\n" +
             Completed("D0", 0) +
             "mbarrier.complete_tx.relaxed.cta.shared.b64 [%shared], %t2;\n" +
             Completed("D1", 0) + Pending("D2")),
      [=](const Sources& in) {
        return Results{Bytes(in) == 0, 1, Expected(in) - (drops ? 1 : 0)};
      })};
}

// Not waited for what does not come, but for a moment.
std::vector<Operation> Waits(const Words& words) {
  const bool parity = words.Has("parity"), tries = words.Has("try_wait");
  const std::string phase = parity ? "0" : "%u0", hint = tries ? ", 20" : "";
  std::string code =
      "mbarrier.arrive.shared.b64 %u0, [%shared];\n$ D0, "
      "[%shared], " +
      phase + hint +
      ";\nsub.u32 %t1, %t0, 1;\n"
      "mbarrier.arrive.shared.b64 %u1, [%shared], %t1;\n"
      "$ D1, [%shared], " +
      phase + ";\n";
  std::vector<Operation> list = {
      Make({"pred", "pred"}, Around(code), [](const Sources&) {
        return Results{0, 1};
      })};
  if (parity) {
    // The phase before the first has ended; the second has not.
    list.push_back(
        Make({"pred", "pred"},
             Around("$ D0, [%shared], 1;\n"
                    "mbarrier.arrive.shared.b64 %u0, [%shared], %t0;\n$ D1, "
                    "[%shared], 1" +
                    hint + ";\n"),
             [](const Sources&) {
               return Results{1, 0};
             }));
  }
  return list;
}

std::vector<Operation> BarriersAt(const Words& words) {
  if (words.Has("init") || words.Has("inval")) return Life(words);
  if (words.Has("pending_count")) return Counted();
  if (words.Has("test_wait") || words.Has("try_wait")) return Waits(words);
  const bool arrives = words.Has("arrive") || words.Has("arrive_drop");
  if (!arrives) return Transactions(words);
  return words.Has("expect_tx") ? ArrivalsWithBytes(words) : Arrivals(words);
}

// Where the spelling names no space, the address is generic.
std::vector<Operation> Barriers(const Words& words) {
  std::vector<Operation> list = BarriersAt(words);
  if (!words.OneOf({"shared", "shared::cta", "shared::cluster"}).empty()) {
    return list;
  }
  for (Operation& operation : list) {
    std::string& code = operation.code;
    for (size_t i = code.find('$'); i != std::string::npos;
         i = code.find('$', i + 1)) {
      const size_t address = code.find("%shared", i);
      if (address < code.find(';', i)) code.insert(address + 1, "g");
    }
  }
  return list;
}

// Out of the thread's inputs, which nobody writes.
Operation Copy(const std::string& arguments, size_t size,
               const std::string& wait, const std::string& prepare,
               const std::function<size_t(const Sources&)>& taken) {
  Operation operation;
  operation.sources = {"b64", "b64"};
  operation.results.assign(size == 16 ? 2 : 1, size == 4 ? "b32" : "b64");
  operation.code =
      prepare + "bar.warp.sync 0xFFFFFFFF;\n" + arguments + wait + "ld.shared.";
  operation.code += size == 16  ? "v2.b64 {D0, D1}, [%shared];\n"
                    : size == 8 ? "b64 D0, [%shared];\n"
                                : "b32 D0, [%shared];\n";
  operation.compute = [=](const Sources& in) {
    Results out = {};
    const size_t bytes = taken(in);
    for (size_t i = 0; i < bytes; ++i) {
      out[i / 8] |= in[i / 8] & uint64_t{0xFF} << i % 8 * 8;
    }
    return out;
  };
  return operation;
}

constexpr char kWait[] = "cp.async.commit_group;\ncp.async.wait_group 0;\n";

std::vector<Operation> CopiesOf(const Words& words, const std::string& hint) {
  const bool hinted = words.Has("L2::cache_hint");
  const std::string policy =
      hinted ? "createpolicy.fractional.L2::evict_first.b64 %u0;\n" : "";
  std::vector<Operation> list;
  for (const size_t size : {4, 8, 16}) {
    if (words.Has("cg") && size != 16) continue;
    const std::string start = "$ [%shared], [%in], " + std::to_string(size);
    auto whole = [size](const Sources&) { return size; };
    list.push_back(Copy(start + hint + ";\n", size, kWait, policy, whole));
    // The rest is zero.
    list.push_back(
        Copy(start + ", %t1" + hint + ";\n", size, kWait,
             policy + "cvt.u32.u64 %t1, S0;\nand.b32 %t1, %t1, " +
                 std::to_string(size - 1) + ";\n",
             [size](const Sources& in) { return in[0] & (size - 1); }));
    list.push_back(Copy(
        start + ", %q0" + hint + ";\n", size, kWait,
        policy + "setp.lt.s64 %q0, S0, 0;\n",
        [size](const Sources& in) { return in[0] >> 63 != 0 ? 0 : size; }));
  }
  return list;
}

std::vector<Operation> Copies(const Words& words) {
  const std::string start = "cp.async.ca.shared.global [%shared], [%in], 8;\n";
  auto whole = [](const Sources&) { return size_t{8}; };
  if (words.Has("commit_group")) {
    return {Copy(start, 8, "$;\ncp.async.wait_group 0;\n", "", whole)};
  }
  if (words.Has("wait_all")) return {Copy(start, 8, "$;\n", "", whole)};
  if (words.Has("wait_group")) {
    const std::string second =
        "cp.async.commit_group;\n"
        "cp.async.ca.shared.global [%shared+8], [%in], 4;\n"
        "cp.async.commit_group;\n";
    return {Copy(start, 8, "cp.async.commit_group;\n$ 0;\n", "", whole),
            Copy(start, 8, second + "$ 1;\n", "", whole)};
  }
  if (words.Has("mbarrier")) {
    const bool generic = words.OneOf({"shared", "shared::cta"}).empty();
    Operation operation = Copy(
        std::string("cp.async.ca.shared.global [%shared], [%in], 8;\n$ [%") +
            (generic ? "gshared+8];\n" : "shared+8];\n") +
            "mbarrier.arrive.shared.b64 %u0, [%shared+8];\n"
            "Again:\nmbarrier.try_wait.shared.b64 %q0, [%shared+8], %u0;\n"
            "@!%q0 bra Again;\nmbarrier.inval.shared.b64 [%shared+8];\n",
        8, "",
        std::string("mbarrier.init.shared.b64 [%shared+8], ") +
            (words.Has("noinc") ? "2" : "1") + ";\n",
        whole);
    return {operation};
  }
  return CopiesOf(words, words.Has("L2::cache_hint") ? ", %u0" : "");
}

}  // namespace

std::vector<Operation> DescribeAsync(const Words& words) {
  if (words.opcode() == "mbarrier") return Barriers(words);
  if (words.opcode() == "cp") return Copies(words);
  return {};
}

}  // namespace holdfast::forms
