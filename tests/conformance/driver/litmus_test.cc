// SPDX-License-Identifier: Apache-2.0
//
// The memory model, by litmus tests: a few threads read and write a few
// places, thousands of times; what PTX forbids must never be seen. Also, that
// threads which wait for each other go on.
#include <string>
#include <vector>

#include "tests/conformance/driver/api.h"

namespace holdfast::conformance {
namespace {

// What a run of all threads has read, and what the places hold in the end.
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
    // What a compiler would like to do once: the first store goes unseen by
    // this thread, and the last load has been done before.
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

std::string Replaced(std::string text, const std::string& from,
                     const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
  return text;
}

// Threads end at a label if shared memory is still to be looked at.
std::string CodeOf(const Litmus& litmus, Where where) {
  const std::string scope = ScopeOf(where);
  std::string code;
  for (size_t i = 0; i < litmus.threads.size(); ++i) {
    const std::string number = std::to_string(i);
    std::string text = Replaced(litmus.threads[i], "STRONG", scope);
    // What a load writes goes to the results.
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

CUfunction LoadKernel(const std::string& ptx, const char* name,
                      CUmodule* module) {
  CUfunction function = nullptr;
  EXPECT_OK(Cuda().cuModuleLoadData(module, ptx.c_str()));
  if (*module != nullptr) {
    EXPECT_OK(Cuda().cuModuleGetFunction(&function, *module, name));
  }
  return function;
}

// Device memory, zero at first, that ends with its scope.
class Zeros {
 public:
  explicit Zeros(size_t words) : words_(words) {
    EXPECT_OK(Cuda().cuMemAlloc_v2(&address_, words * 4));
    Clear();
  }
  ~Zeros() { Cuda().cuMemFree_v2(address_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;

  void Clear() { EXPECT_OK(Cuda().cuMemsetD8_v2(address_, 0, words_ * 4)); }
  std::vector<unsigned> Read() const {
    std::vector<unsigned> words(words_);
    EXPECT_OK(Cuda().cuMemcpyDtoH_v2(words.data(), address_, words_ * 4));
    return words;
  }
  CUdeviceptr* argument() { return &address_; }

 private:
  const size_t words_;
  CUdeviceptr address_ = 0;
};

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

// turns(word, rounds, players): each player waits for its turn, round after
// round. A player is a block (1), a warp (2) or a lane (3).
constexpr char kTurns[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry turns(.param .u64 p_word, .param .u32 p_rounds,
                      .param .u32 p_players, .param .u32 p_kind)
{
    .reg .pred %p<4>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p_word];
    ld.param.u32 %r1, [p_rounds];
    ld.param.u32 %r2, [p_players];
    ld.param.u32 %r3, [p_kind];
    mov.u32 %r4, %tid.x;
    setp.eq.u32 %p1, %r3, 3;
    @%p1 bra PLAY;
    and.b32 %r5, %r4, 31;
    setp.ne.u32 %p2, %r5, 0;
    @%p2 ret;
    shr.u32 %r4, %r4, 5;
    setp.eq.u32 %p1, %r3, 2;
    @%p1 bra PLAY;
    mov.u32 %r4, %ctaid.x;
PLAY:
    mul.lo.u32 %r6, %r1, %r2;
WAIT:
    ld.acquire.gpu.global.u32 %r7, [%rd1];
    setp.ne.u32 %p3, %r7, %r4;
    @%p3 bra WAIT;
    add.u32 %r8, %r4, 1;
    st.release.gpu.global.u32 [%rd1], %r8;
    add.u32 %r4, %r4, %r2;
    setp.lt.u32 %p3, %r4, %r6;
    @%p3 bra WAIT;
    ret;
}
)";

class ProgressTest : public ContextTest {
 protected:
  void Play(unsigned kind, unsigned players, unsigned rounds) {
    CUmodule module = nullptr;
    CUfunction turns = LoadKernel(kTurns, "turns", &module);
    ASSERT_NE(turns, nullptr);
    Zeros word(1);
    void* values[] = {word.argument(), &rounds, &players, &kind};
    const unsigned threads = kind == 1 ? 32 : kind == 2 ? 32 * players : 32;
    ASSERT_OK(Cuda().cuLaunchCooperativeKernel(turns, kind == 1 ? players : 1,
                                               1, 1, threads, 1, 1, 0, nullptr,
                                               values));
    ASSERT_OK(Cuda().cuStreamSynchronize(nullptr));
    EXPECT_EQ(word.Read()[0], rounds * players);
    EXPECT_OK(Cuda().cuModuleUnload(module));
  }
};

TEST_F(ProgressTest, BlocksTakeTurns) { Play(1, 4, 50); }
TEST_F(ProgressTest, WarpsTakeTurns) { Play(2, 8, 50); }
TEST_F(ProgressTest, LanesTakeTurns) { Play(3, 32, 20); }

// count(words, rounds, threads): every thread of every block, round after
// round; all begin when all are there.
constexpr char kCount[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry count(.param .u64 p_words, .param .u32 p_rounds,
                      .param .u32 p_threads)
{
    .reg .pred P;
    .reg .b32 OLD, SEEN, NEW, %left, %threads;
    .reg .b64 %at;
    ld.param.u64 %at, [p_words];
    ld.param.u32 %left, [p_rounds];
    ld.param.u32 %threads, [p_threads];
    red.relaxed.gpu.global.add.u32 [%at+128], 1;
MEET:
    ld.relaxed.gpu.global.u32 SEEN, [%at+128];
    setp.lt.u32 P, SEEN, %threads;
    @P bra MEET;
AGAIN:
    ADD_ONE
    sub.u32 %left, %left, 1;
    setp.ne.u32 P, %left, 0;
    @P bra AGAIN;
    ret;
}
)";

// How a thread adds one to a word that all have in common.
struct Addition {
  const char* name;
  const char* code;
  unsigned rounds = 400000;
};

const Addition kAdditions[] = {
    {"Reduction", "red.relaxed.gpu.global.add.u32 [%at], 1;"},
    {"ReductionOfTheSystem", "red.relaxed.sys.global.add.u32 [%at], 1;"},
    {"Addition", "atom.relaxed.gpu.global.add.u32 OLD, [%at], 1;"},
    {"GenericAddition", "atom.acq_rel.gpu.add.u32 OLD, [%at], 1;"},
    {"Increment", "atom.global.inc.u32 OLD, [%at], 0xFFFFFFFF;"},
    {"CompareAndSwap",
     "ld.relaxed.gpu.global.u32 OLD, [%at];\nRETRY:\nadd.u32 NEW, OLD, 1;\n"
     "atom.relaxed.gpu.global.cas.b32 SEEN, [%at], OLD, NEW;\n"
     "setp.ne.u32 P, SEEN, OLD;\nmov.u32 OLD, SEEN;\n@P bra RETRY;",
     1000},
};

class ContentionTest : public ContextTest,
                       public testing::WithParamInterface<Addition> {};

TEST_P(ContentionTest, CountsEachOnce) {
  constexpr unsigned kBlocks = 8, kThreads = 32;
  CUmodule module = nullptr;
  CUfunction count = LoadKernel(Replaced(kCount, "ADD_ONE", GetParam().code),
                                "count", &module);
  ASSERT_NE(count, nullptr);
  Zeros words(64);
  unsigned rounds = GetParam().rounds, threads = kBlocks * kThreads;
  void* values[] = {words.argument(), &rounds, &threads};
  // All at once.
  ASSERT_OK(Cuda().cuLaunchCooperativeKernel(count, kBlocks, 1, 1, kThreads, 1,
                                             1, 0, nullptr, values));
  ASSERT_OK(Cuda().cuStreamSynchronize(nullptr));
  EXPECT_EQ(words.Read()[0], threads * rounds);
  EXPECT_OK(Cuda().cuModuleUnload(module));
}

INSTANTIATE_TEST_SUITE_P(Of, ContentionTest, testing::ValuesIn(kAdditions),
                         [](const testing::TestParamInfo<Addition>& info) {
                           return info.param.name;
                         });

// whole(places, torn, rounds, lanes): block 0 stores vectors of equal elements,
// block 1 reads them until it has seen the last, and notes those that are not
// equal. PTX does not promise what is tested here, but CUB hands on a status
// with its value this way, and no GPU tears vectors of up to 16 bytes.
constexpr char kWhole[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry whole(.param .u64 p_places, .param .u64 p_torn,
                      .param .u32 p_rounds, .param .u32 p_lanes)
{
    .reg .pred P;
    .reg .b32 %i, %rounds, %lane, %lanes, %role, %torn;
    .reg .b64 %at, %bad, %offset;
    .reg .TYPE %e0, %e1, %e2, %e3, %end;
    ld.param.u64 %at, [p_places];
    ld.param.u64 %bad, [p_torn];
    ld.param.u32 %rounds, [p_rounds];
    ld.param.u32 %lanes, [p_lanes];
    mov.u32 %lane, %laneid;
    setp.ge.u32 P, %lane, %lanes;
    @P ret;
    mul.wide.u32 %offset, %lane, 48;
    add.u64 %at, %at, %offset;
    mov.u32 %i, 0;
    mov.u32 %torn, 0;
    cvt.TYPE.u32 %end, %rounds;
    mov.u32 %role, %ctaid.x;
    setp.ne.u32 P, %role, 0;
    @P bra READ;
WRITE:
    add.u32 %i, %i, 1;
    cvt.TYPE.u32 %e0, %i;
    st.ORDER.global.VECTOR.TYPE [%at], STORED;
    setp.lt.u32 P, %i, %rounds;
    @P bra WRITE;
    ret;
READ:
    ld.ORDER.global.VECTOR.TYPE LOADED, [%at];
    membar.gl;
    COMPARE
    setp.ne.TYPE P, %e0, %end;
    @P bra READ;
    red.global.add.u32 [%bad], %torn;
    ret;
}
)";

struct Vector {
  const char* order;
  unsigned elements;
  const char* type;
};

class WholeTest : public ContextTest,
                  public testing::WithParamInterface<Vector> {
 protected:
  static std::string Ptx() {
    const bool four = GetParam().elements == 4;
    const std::string compare =
        "setp.ne.TYPE P, %e0, %e#;\n"
        "@P add.u32 %torn, %torn, 1;\n";
    std::string compares;
    for (unsigned i = 1; i < GetParam().elements; ++i) {
      compares += Replaced(compare, "#", std::to_string(i));
    }
    std::string ptx = Replaced(kWhole, "COMPARE", compares);
    ptx = Replaced(ptx, "STORED", four ? "{%e0, %e0, %e0, %e0}" : "{%e0, %e0}");
    ptx = Replaced(ptx, "LOADED", four ? "{%e0, %e1, %e2, %e3}" : "{%e0, %e1}");
    ptx = Replaced(ptx, "ORDER", GetParam().order);
    ptx = Replaced(ptx, "VECTOR", four ? "v4" : "v2");
    return Replaced(ptx, "TYPE", GetParam().type);
  }

  void ExpectNoneTorn(unsigned lanes) {
    CUmodule module = nullptr;
    CUfunction kernel = LoadKernel(Ptx(), "whole", &module);
    ASSERT_NE(kernel, nullptr);
    Zeros places(32 * 48 / 4), torn(1);
    unsigned rounds = 60000;
    void* values[] = {places.argument(), torn.argument(), &rounds, &lanes};
    ASSERT_OK(Cuda().cuLaunchCooperativeKernel(kernel, 2, 1, 1, 32, 1, 1, 0,
                                               nullptr, values));
    ASSERT_OK(Cuda().cuStreamSynchronize(nullptr));
    EXPECT_EQ(torn.Read()[0], 0u);
    EXPECT_OK(Cuda().cuModuleUnload(module));
  }
};

TEST_P(WholeTest, AVectorOfEachLane) { ExpectNoneTorn(32); }
TEST_P(WholeTest, AVectorOfSomeLanes) { ExpectNoneTorn(13); }

INSTANTIATE_TEST_SUITE_P(Vectors, WholeTest,
                         testing::ValuesIn(std::vector<Vector>{
                             {"relaxed.gpu", 2, "u64"},
                             {"relaxed.gpu", 2, "u32"},
                             {"relaxed.gpu", 4, "u32"},
                             {"relaxed.gpu", 4, "u16"},
                             {"relaxed.sys", 2, "u16"},
                             {"volatile", 2, "u64"},
                             {"volatile", 2, "u32"},
                             {"cg", 2, "u64"},
                             {"cg", 4, "u32"},
                         }),
                         [](const testing::TestParamInfo<Vector>& info) {
                           return Replaced(info.param.order, ".", "_") + "_v" +
                                  std::to_string(info.param.elements) + "_" +
                                  info.param.type;
                         });

}  // namespace
}  // namespace holdfast::conformance
