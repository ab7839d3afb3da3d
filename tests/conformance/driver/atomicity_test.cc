// SPDX-License-Identifier: Apache-2.0
//
// Concurrent accesses to one place are atomic: all additions are counted, and
// no vector is seen half stored.
#include <string>
#include <vector>

#include "tests/conformance/driver/api.h"
#include "tests/conformance/driver/shared_words.h"

namespace holdfast::conformance {
namespace {

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
