// SPDX-License-Identifier: Apache-2.0
//
// Threads that wait for each other go on: blocks, warps, and lanes of a warp.
#include <string>
#include <vector>

#include "tests/conformance/driver/api.h"
#include "tests/conformance/driver/shared_words.h"

namespace holdfast::conformance {
namespace {

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
  void Play(unsigned kind, unsigned players, unsigned rounds,
            bool is_cooperative = true) {
    CUmodule module = nullptr;
    CUfunction turns = LoadKernel(kTurns, "turns", &module);
    ASSERT_NE(turns, nullptr);
    Zeros word(1);
    void* values[] = {word.argument(), &rounds, &players, &kind};
    const unsigned threads = kind == 1 ? 32 : kind == 2 ? 32 * players : 32;
    const unsigned blocks = kind == 1 ? players : 1;
    ASSERT_OK(is_cooperative
                  ? Cuda().cuLaunchCooperativeKernel(
                        turns, blocks, 1, 1, threads, 1, 1, 0, nullptr, values)
                  : Cuda().cuLaunchKernel(turns, blocks, 1, 1, threads, 1, 1, 0,
                                          nullptr, values, nullptr));
    ASSERT_OK(Cuda().cuStreamSynchronize(nullptr));
    EXPECT_EQ(word.Read()[0], rounds * players);
    EXPECT_OK(Cuda().cuModuleUnload(module));
  }
};

TEST_F(ProgressTest, BlocksTakeTurns) { Play(1, 4, 50); }
// CUDA promises nothing for a plain launch, but programs rely on blocks that
// are on the device at the same time.
TEST_F(ProgressTest, BlocksOfAPlainLaunchTakeTurns) {
  Play(1, 24, 10, /*is_cooperative=*/false);
}
TEST_F(ProgressTest, WarpsTakeTurns) { Play(2, 8, 50); }
TEST_F(ProgressTest, LanesTakeTurns) { Play(3, 32, 20); }

}  // namespace
}  // namespace holdfast::conformance
