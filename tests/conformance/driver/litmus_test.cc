// SPDX-License-Identifier: Apache-2.0
//
// The memory model, by litmus tests: a few threads read and write a few
// places, thousands of times; what PTX forbids must never be seen.
#include <string>
#include <vector>

#include "tests/conformance/driver/api.h"
#include "tests/conformance/driver/shared_words.h"

namespace holdfast::conformance {
namespace {

// The values that a run of all threads has read, and the final memory.
struct Seen {
  unsigned r[4];
  unsigned x, y, z;
};

// Lines of PTX for each thread, with X, Y, Z for places, R0 to R3 for what is
// read, and "STRONG" for a scope.
struct Litmus {
  const char* name;
  std::vector<const char*> threads;
  bool (*forbidden)(const Seen&);
};

bool MessageWithoutData(const Seen& s) { return s.r[0] == 1 && s.r[1] == 0; }
bool BothZero(const Seen& s) { return s.r[0] == 0 && s.r[1] == 0; }
bool BothOne(const Seen& s) { return s.r[0] == 1 && s.r[1] == 1; }

const Litmus kTests[] = {
    {"MessageByReleaseAndAcquire",
     {"st.relaxed.STRONG.u32 [X], 1; st.release.STRONG.u32 [Y], 1;",
      "ld.acquire.STRONG.u32 R0, [Y]; ld.relaxed.STRONG.u32 R1, [X];"},
     MessageWithoutData},
    {"WeakDataBehindReleaseAndAcquire",
     {"st.weak.u32 [X], 1; st.release.STRONG.u32 [Y], 1;",
      "ld.acquire.STRONG.u32 R0, [Y]; setp.eq.u32 P, R0, 1; mov.u32 R1, 1;"
      "@P ld.weak.u32 R1, [X];"},
     MessageWithoutData},
    {"MessageByFences",
     {"st.relaxed.STRONG.u32 [X], 1; fence.acq_rel.STRONG;"
      "st.relaxed.STRONG.u32 [Y], 1;",
      "ld.relaxed.STRONG.u32 R0, [Y]; fence.acq_rel.STRONG;"
      "ld.relaxed.STRONG.u32 R1, [X];"},
     MessageWithoutData},
    {"MessageByVolatileAndMembar",
     {"st.volatile.u32 [X], 1; membar.gl; st.volatile.u32 [Y], 1;",
      "ld.volatile.u32 R0, [Y]; membar.gl; ld.volatile.u32 R1, [X];"},
     MessageWithoutData},
    {"MessageByAtomics",
     {"st.relaxed.STRONG.u32 [X], 1;"
      "atom.release.STRONG.exch.b32 R3, [Y], 1;",
      "atom.acquire.STRONG.add.u32 R0, [Y], 0;"
      "ld.relaxed.STRONG.u32 R1, [X];"},
     MessageWithoutData},
    {"MessageByReductionBehindAFence",
     {"st.relaxed.STRONG.u32 [X], 1; fence.acq_rel.STRONG;"
      "red.relaxed.STRONG.add.u32 [Y], 1;",
      "ld.acquire.STRONG.u32 R0, [Y]; ld.relaxed.STRONG.u32 R1, [X];"},
     MessageWithoutData},
    // A tempting optimization: the first store is invisible to this thread,
    // and the last load was done before.
    {"DataWrittenAgainBehindTheMessage",
     {"st.relaxed.STRONG.u32 [X], 1; st.release.STRONG.u32 [Y], 1;"
      "st.relaxed.STRONG.u32 [X], 2;",
      "ld.acquire.STRONG.u32 R0, [Y]; ld.relaxed.STRONG.u32 R1, [X];"},
     MessageWithoutData},
    {"DataReadBeforeTheMessageToo",
     {"st.relaxed.STRONG.u32 [X], 1; st.release.STRONG.u32 [Y], 1;",
      "ld.relaxed.STRONG.u32 R2, [X]; ld.acquire.STRONG.u32 R0, [Y];"
      "ld.relaxed.STRONG.u32 R1, [X];"},
     MessageWithoutData},
    {"VolatileDataReadAroundAFence",
     {"st.volatile.u32 [X], 1; fence.acq_rel.STRONG;"
      "st.volatile.u32 [Y], 1;",
      "ld.volatile.u32 R2, [X]; ld.volatile.u32 R0, [Y];"
      "fence.acq_rel.STRONG; ld.volatile.u32 R1, [X];"},
     MessageWithoutData},
    {"MessageThroughAThird",
     {"st.relaxed.STRONG.u32 [X], 1; st.release.STRONG.u32 [Y], 1;",
      "ld.acquire.STRONG.u32 R2, [Y]; st.release.STRONG.u32 [Z], R2;",
      "ld.acquire.STRONG.u32 R0, [Z]; ld.relaxed.STRONG.u32 R1, [X];"},
     MessageWithoutData},
    {"StoresBuffered",
     {"st.relaxed.STRONG.u32 [X], 1; fence.sc.STRONG;"
      "ld.relaxed.STRONG.u32 R0, [Y];",
      "st.relaxed.STRONG.u32 [Y], 1; fence.sc.STRONG;"
      "ld.relaxed.STRONG.u32 R1, [X];"},
     BothZero},
    {"StoresBufferedByMembar",
     {"st.volatile.u32 [X], 1; membar.gl; ld.volatile.u32 R0, [Y];",
      "st.volatile.u32 [Y], 1; membar.gl; ld.volatile.u32 R1, [X];"},
     BothZero},
    {"LoadsBuffered",
     {"ld.relaxed.STRONG.u32 R0, [X]; fence.acq_rel.STRONG;"
      "st.relaxed.STRONG.u32 [Y], 1;",
      "ld.relaxed.STRONG.u32 R1, [Y]; fence.acq_rel.STRONG;"
      "st.relaxed.STRONG.u32 [X], 1;"},
     BothOne},
    {"LoadsBufferedByAcquireAndRelease",
     {"ld.acquire.STRONG.u32 R0, [X]; st.release.STRONG.u32 [Y], 1;",
      "ld.acquire.STRONG.u32 R1, [Y]; st.release.STRONG.u32 [X], 1;"},
     BothOne},
    {"WritesSeenInTwoOrders",
     {"st.relaxed.STRONG.u32 [X], 1;", "st.relaxed.STRONG.u32 [Y], 1;",
      "ld.relaxed.STRONG.u32 R0, [X]; fence.sc.STRONG;"
      "ld.relaxed.STRONG.u32 R1, [Y];",
      "ld.relaxed.STRONG.u32 R2, [Y]; fence.sc.STRONG;"
      "ld.relaxed.STRONG.u32 R3, [X];"},
     [](const Seen& s) {
       return s.r[0] == 1 && s.r[1] == 0 && s.r[2] == 1 && s.r[3] == 0;
     }},
    {"WritesInACircle",
     {"st.relaxed.STRONG.u32 [X], 1; fence.sc.STRONG;"
      "st.relaxed.STRONG.u32 [Y], 2;",
      "st.relaxed.STRONG.u32 [Y], 1; fence.sc.STRONG;"
      "st.relaxed.STRONG.u32 [X], 2;"},
     [](const Seen& s) { return s.x == 1 && s.y == 1; }},
    {"OnePlaceReadBackwards",
     {"st.relaxed.STRONG.u32 [X], 1; st.relaxed.STRONG.u32 [X], 2;",
      "ld.relaxed.STRONG.u32 R0, [X]; ld.relaxed.STRONG.u32 R1, [X];"
      "ld.relaxed.STRONG.u32 R2, [X];"},
     [](const Seen& s) {
       return s.r[0] > s.r[1] || s.r[1] > s.r[2] || s.x != 2;
     }},
    {"OwnWriteNotSeen",
     {"st.relaxed.STRONG.u32 [X], 1; ld.relaxed.STRONG.u32 R0, [X];",
      "st.relaxed.STRONG.u32 [X], 2; ld.relaxed.STRONG.u32 R1, [X];"},
     [](const Seen& s) {
       return s.r[0] == 0 || s.r[1] == 0 || (s.r[0] == 2 && s.r[1] == 1);
     }},
    {"AdditionsLost",
     {"atom.relaxed.STRONG.add.u32 R0, [X], 1;"
      "atom.relaxed.STRONG.add.u32 R2, [X], 1;",
      "atom.relaxed.STRONG.add.u32 R1, [X], 1;"
      "atom.relaxed.STRONG.add.u32 R3, [X], 1;"},
     [](const Seen& s) {
       return s.x != 4 || s.r[0] == s.r[1] || s.r[0] >= s.r[2] ||
              s.r[1] >= s.r[3];
     }},
    {"TwoWinnersOfOneExchange",
     {"atom.relaxed.STRONG.cas.b32 R0, [X], 0, 1;",
      "atom.relaxed.STRONG.cas.b32 R1, [X], 0, 2;"},
     [](const Seen& s) { return (s.r[0] == 0) == (s.r[1] == 0); }},
};

// Which threads, and where the places are.
enum class Where {
  kBlocks,        // a block for each thread
  kSystem,        // so, and in the scope of the system
  kWarps,         // a warp for each thread of a block
  kSharedMemory,  // so, and the places in shared memory
};

bool OfBlocks(Where where) {
  return where == Where::kBlocks || where == Where::kSystem;
}

const char* ScopeOf(Where where) {
  return where == Where::kBlocks   ? "gpu"
         : where == Where::kSystem ? "sys"
                                   : "cta";
}

unsigned InstancesOf(Where where) {  // of a round
  return where == Where::kSharedMemory ? 64 : 128;
}

constexpr unsigned kPlaceBytes = 128;  // from one place to the next
constexpr unsigned kInstanceBytes = 4 * kPlaceBytes;
constexpr unsigned kSeenBytes = 32;

// Threads end at a label if shared memory is still to be looked at.
std::string CodeOf(const Litmus& litmus, Where where) {
  const std::string scope = ScopeOf(where);
  std::string code;
  for (size_t i = 0; i < litmus.threads.size(); ++i) {
    const std::string number = std::to_string(i);
    std::string text = Replaced(litmus.threads[i], "STRONG", scope);
    // The register of a load goes to the results.
    std::string results;
    for (const char* r : {"R0", "R1", "R2", "R3"}) {
      if (text.find(r) == std::string::npos) continue;
      const std::string offset = std::to_string(4 * (r[1] - '0'));
      results += "st.global.u32 [%out+" + offset + "], " + r + ";\n";
    }
    text = Replaced(text + "\n" + results, "[X]", "[%at]");
    text = Replaced(text, "[Y]", "[%at+128]");
    text = Replaced(text, "[Z]", "[%at+256]");
    // Now and then all meet at a counter behind the places; a delay that
    // differs from round to round then lets them overtake each other.
    const std::string roles = std::to_string(litmus.threads.size());
    code += Replaced(R"(
ROLE#:
and.b32 %wait, %i, 31;
setp.ne.u32 P, %wait, 0;
@P bra MET#;
red.relaxed.STRONG.add.u32 [%at+384], 1;
MEET#:
ld.relaxed.STRONG.u32 %wait, [%at+384];
setp.ne.u32 P, %wait, )" +
                         roles + R"(;
@P bra MEET#;
MET#:
shr.u32 %wait, %i, )" + std::to_string(2 + 2 * i) +
                         R"(;
and.b32 %wait, %wait, 7;
WAIT#:
add.s32 %wait, %wait, -1;
setp.gt.s32 P, %wait, 0;
@P bra WAIT#;
)",
                     "#", number) +
            text +
            "add.u32 %i, %i, 1;\nadd.u64 %at, %at, 512;\n"
            "add.u64 %out, %out, 32;\nsetp.lt.u32 P, %i, %n;\n@P bra ROLE" +
            number +
            (where == Where::kSharedMemory ? ";\nbra END;\n" : ";\nret;\n");
  }
  return Replaced(code, "STRONG", scope);
}

// All threads clear the places of the block in shared memory; in the end one
// of them copies these to where they would have been.
constexpr char kMoveToShared[] = R"(
    .shared .align 16 .b8 shared_places[32768];
    mov.u64 %home, %at;
    mov.u64 %places, shared_places;
    cvta.shared.u64 %places, %places;
    mov.u64 %at, %places;
    mov.u32 %wait, %tid.x;
    mov.u32 %round, %ntid.x;
CLEAR:
    mul.wide.u32 %offset, %wait, 4;
    add.u64 %offset, %places, %offset;
    st.u32 [%offset], 0;
    add.u32 %wait, %wait, %round;
    setp.lt.u32 P, %wait, 8192;
    @P bra CLEAR;
)";
constexpr char kMoveBack[] = R"(
END:
    bar.sync 0;
    setp.ne.u32 P, %role, 0;
    @P ret;
    mov.u32 %wait, 0;
COPY:
    ld.u32 %n, [%places];
    st.global.u32 [%home], %n;
    add.u64 %places, %places, 128;
    add.u64 %home, %home, 128;
    add.u32 %wait, %wait, 1;
    setp.lt.u32 P, %wait, 256;
    @P bra COPY;
    ret;
)";

// litmus(places, results, started, instances of each round): one thread of
// each block or warp has a role; all begin together.
std::string PtxOf(const Litmus& litmus, Where where) {
  std::string ptx = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry litmus(.param .u64 p_at, .param .u64 p_out,
                       .param .u64 p_started, .param .u32 p_n)
{
    .reg .pred P;
    .reg .b32 R0, R1, R2, R3, %i, %n, %wait, %role, %roles, %round, %lane;
    .reg .b64 %at, %out, %started, %offset, %places, %home;
    ld.param.u64 %at, [p_at];
    ld.param.u64 %out, [p_out];
    ld.param.u64 %started, [p_started];
    ld.param.u32 %n, [p_n];
    mov.u32 %i, 0;
    mov.u32 %lane, %laneid;
    setp.ne.u32 P, %lane, 0;
)";
  if (OfBlocks(where)) {
    ptx += R"(
    @P ret;
    mov.u32 %role, %ctaid.x;
    mov.u32 %roles, %nctaid.x;
    atom.global.add.u32 %wait, [%started], 1;
START:
    ld.relaxed.gpu.global.u32 %wait, [%started];
    setp.lt.u32 P, %wait, %roles;
    @P bra START;
)";
  } else {
    ptx += R"(
    mov.u32 %role, %tid.x;
    shr.u32 %role, %role, 5;
    mov.u32 %round, %ctaid.x;
    mul.lo.u32 %round, %round, %n;
    mul.wide.u32 %offset, %round, 512;
    add.u64 %at, %at, %offset;
    mul.wide.u32 %offset, %round, 32;
    add.u64 %out, %out, %offset;
)";
    if (where == Where::kSharedMemory) ptx += kMoveToShared;
    ptx += "bar.sync 0;\nsetp.ne.u32 P, %lane, 0;\n@P ret;\n";
  }
  for (size_t i = 0; i < litmus.threads.size(); ++i) {
    const std::string number = std::to_string(i);
    ptx +=
        "setp.eq.u32 P, %role, " + number + ";\n@P bra ROLE" + number + ";\n";
  }
  return ptx + "ret;\n" + CodeOf(litmus, where) +
         (where == Where::kSharedMemory ? kMoveBack : "") + "}\n";
}

class LitmusTest : public ContextTest,
                   public testing::WithParamInterface<Litmus> {
 protected:
  // Threads in blocks of their own, or in warps of `rounds` blocks.
  void Run(Where where, unsigned rounds, int repeats) {
    CUmodule module = nullptr;
    CUfunction kernel = LoadKernel(PtxOf(GetParam(), where), "litmus", &module);
    ASSERT_NE(kernel, nullptr);
    for (int i = 0; i < repeats; ++i) RunOnce(kernel, where, rounds);
    EXPECT_OK(Cuda().cuModuleUnload(module));
  }

 private:
  void RunOnce(CUfunction kernel, Where where, unsigned rounds) {
    const auto roles = static_cast<unsigned>(GetParam().threads.size());
    const unsigned count = InstancesOf(where) * rounds;
    Zeros places(count * kInstanceBytes / 4), started(1);
    Zeros results(count * kSeenBytes / 4);
    unsigned n = OfBlocks(where) ? count : InstancesOf(where);
    void* values[] = {places.argument(), results.argument(), started.argument(),
                      &n};
    if (OfBlocks(where)) {
      ASSERT_OK(Cuda().cuLaunchCooperativeKernel(kernel, roles, 1, 1, 32, 1, 1,
                                                 0, nullptr, values));
    } else {
      ASSERT_OK(Cuda().cuLaunchKernel(kernel, rounds, 1, 1, 32 * roles, 1, 1, 0,
                                      nullptr, values, nullptr));
    }
    ASSERT_OK(Cuda().cuStreamSynchronize(nullptr));
    Judge(places.Read(), results.Read(), count);
  }

  void Judge(const std::vector<unsigned>& places,
             const std::vector<unsigned>& results, unsigned count) {
    unsigned bad = 0;
    for (unsigned i = 0; i < count; ++i) {
      const unsigned* r = &results[i * kSeenBytes / 4];
      const unsigned* place = &places[i * kInstanceBytes / 4];
      constexpr unsigned kStep = kPlaceBytes / 4;
      const Seen seen{
          {r[0], r[1], r[2], r[3]}, place[0], place[kStep], place[2 * kStep]};
      if (GetParam().forbidden(seen) && bad++ == 0) {
        ADD_FAILURE() << "instance " << i << " read " << r[0] << " " << r[1]
                      << " " << r[2] << " " << r[3] << ", left " << seen.x
                      << " " << seen.y << " " << seen.z;
      }
    }
    EXPECT_EQ(bad, 0u) << "of " << count;
  }
};

TEST_P(LitmusTest, NeverBetweenBlocks) { Run(Where::kBlocks, 32, 2); }
TEST_P(LitmusTest, NeverInTheScopeOfTheSystem) { Run(Where::kSystem, 32, 1); }
TEST_P(LitmusTest, NeverBetweenWarps) { Run(Where::kWarps, 64, 1); }
TEST_P(LitmusTest, NeverInSharedMemory) { Run(Where::kSharedMemory, 32, 1); }

INSTANTIATE_TEST_SUITE_P(Outcomes, LitmusTest, testing::ValuesIn(kTests),
                         [](const testing::TestParamInfo<Litmus>& info) {
                           return info.param.name;
                         });

}  // namespace
}  // namespace holdfast::conformance
