// SPDX-License-Identifier: Apache-2.0
//
// Barriers of a block: what some threads wrote before, others read behind.
#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

constexpr size_t kHalf = kBlockThreads / 2;
// Nobody goes on before all have read.
constexpr char kEnd[] = "barrier.cta.sync.aligned 0;\n";

// %u0: where the thread writes whose number differs in the bits of `away`.
std::string Partner(size_t away) {
  return "xor.b32 %t2, %thread, " + std::to_string(away) +
         ";\nmov.u64 %u0, sh;\nmad.wide.u32 %u0, %t2, 16, %u0;\n";
}

std::string Exchange(size_t away, const std::string& between) {
  return Partner(away) + "st.shared.b32 [%shared], S0;\n" + between +
         "ld.shared.b32 D0, [%u0];\n" + kEnd;
}

Operation BlockOperation(const std::vector<Kind>& results,
                         const std::vector<Kind>& sources) {
  Operation operation;
  operation.results = results;
  operation.sources = sources;
  operation.group = kBlockThreads;
  return operation;
}

Operation ExchangeOperation(size_t away, const std::string& between) {
  Operation operation = BlockOperation({"b32"}, {"b32", "pred"});
  operation.code = Exchange(away, between);
  operation.together = [away](const std::vector<Sources>& threads) {
    Outcomes outcomes;
    for (size_t i = 0; i < threads.size(); ++i) {
      outcomes.push_back(Results{threads[i ^ away][0]});
    }
    return outcomes;
  };
  return operation;
}

// 0 or 1: which half of the block.
constexpr char kHalfNumber[] = "shr.u32 %t1, %thread, 6;\n";

std::vector<Operation> Syncs(const Words& words) {
  std::vector<Operation> list = {
      ExchangeOperation(kHalf, "$ 0;\n"),
      ExchangeOperation(kHalf, "$ 15;\n"),
      ExchangeOperation(kHalf + 1, "$ 7, 128;\n"),
      ExchangeOperation(kHalf, "mov.u32 %t1, 9;\n$ %t1, %size;\n"),
      // Each half at a barrier of its own.
      ExchangeOperation(kHalf / 2, std::string(kHalfNumber) +
                                       "add.u32 %t1, %t1, 3;\n$ %t1, 64;\n"),
  };
  if (words.opcode() == "barrier" && !words.Has("aligned")) {
    // From two places in the code, where warps have parted.
    list.push_back(
        ExchangeOperation(kHalf,
                          "@S1 bra Other;\n$ 5;\nbra Met;\nOther:\n$ 5;\nMet:\n"
                          "bar.warp.sync 0xFFFFFFFF;\n"));
  }
  return list;
}

// One half arrives and goes on, the other waits and reads.
std::vector<Operation> Arrivals() {
  std::vector<Operation> list;
  for (const bool upper : {false, true}) {
    Operation operation = BlockOperation({"b32"}, {"b32"});
    operation.code =
        Partner(kHalf) +
        "st.shared.b32 [%shared], S0;\nmov.b32 D0, S0;\nsetp." +
        std::string(upper ? "ge" : "lt") +
        ".u32 %q0, %thread, 64;\n@%q0 bra Comes;\n"
        "barrier.cta.sync.aligned 6, 128;\nld.shared.b32 D0, [%u0];\nbra "
        "Went;\nComes:\n$ 6, 128;\nWent:\n" +
        kEnd;
    operation.together = [upper](const std::vector<Sources>& threads) {
      Outcomes outcomes;
      for (size_t i = 0; i < threads.size(); ++i) {
        const bool waits = (i < kHalf) == upper;
        outcomes.push_back(Results{threads[waits ? i ^ kHalf : i][0]});
      }
      return outcomes;
    };
    list.push_back(operation);
  }
  return list;
}

Operation Reduction(const Words& words, bool halves, bool negated,
                    const std::string& barrier) {
  const bool counts = words.Has("popc"), all = words.Has("and");
  Operation operation =
      BlockOperation({counts ? "u32" : "pred"}, {"pred", "count"});
  // Most of the time nearly all, or nearly none.
  operation.code = "setp.lt.u32 %q0, S1, 69;\nxor.pred %q0, %q0, S0;\n" +
                   std::string(kHalfNumber) + "add.u32 %t1, %t1, 10;\n$ D0, " +
                   barrier + (negated ? ", !" : ", ") + "%q0;\n" + kEnd;
  operation.together = [=](const std::vector<Sources>& threads) {
    Outcomes outcomes;
    for (size_t i = 0; i < threads.size(); ++i) {
      uint64_t count = 0, present = 0;
      for (size_t k = 0; k < threads.size(); ++k) {
        if (halves && (k < kHalf) != (i < kHalf)) continue;
        const bool holds = (threads[k][1] < 69) != (threads[k][0] != 0);
        ++present;
        count += holds != negated ? 1 : 0;
      }
      outcomes.push_back(Results{counts ? count
                                 : all  ? count == present
                                        : count != 0});
    }
    return outcomes;
  };
  return operation;
}

std::vector<Operation> Reductions(const Words& words) {
  return {Reduction(words, false, false, "0"),
          Reduction(words, false, true, "8"),
          Reduction(words, false, false, "1, 128"),
          Reduction(words, true, false, "%t1, 64"),
          Reduction(words, true, true, "%t1, 64")};
}

// The barrier of a cluster, which is one block here.
std::vector<Operation> OfCluster(const Words& words) {
  const std::string fence = "fence.acq_rel.cluster;\n";
  return {ExchangeOperation(
      kHalf, fence + (words.Has("arrive") ? "$;\nbarrier.cluster.wait;\n"
                                          : "barrier.cluster.arrive;\n$;\n"))};
}

}  // namespace

std::vector<Operation> DescribeBarrier(const Words& words) {
  if (words.opcode() != "bar" && words.opcode() != "barrier") return {};
  if (words.Has("warp")) return {};
  if (words.Has("cluster")) return OfCluster(words);
  if (words.Has("sync")) return Syncs(words);
  if (words.Has("arrive")) return Arrivals();
  return Reductions(words);
}

}  // namespace holdfast::forms
