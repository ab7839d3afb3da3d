// SPDX-License-Identifier: Apache-2.0
//
// The PTX of kernels that several suites use, and of modules that have them:
//
//   constexpr const char* kPtx =
//       test_ptx::kModule<test_ptx::kScale, test_ptx::kWaitFor>;
//
// A kernel that is the subject of a test is in that test's file.
#ifndef HOLDFAST_TESTS_TESTING_KERNELS_H_
#define HOLDFAST_TESTS_TESTING_KERNELS_H_

#include <algorithm>
#include <array>
#include <cstddef>

namespace holdfast::test_ptx {

// scale(float* data, float factor, unsigned count): data[i] *= factor.
inline constexpr char kScale[] = R"(
.visible .entry scale(.param .u64 p_data, .param .f32 p_factor,
                      .param .u32 p_count)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [p_data];
    ld.param.f32 %f1, [p_factor];
    ld.param.u32 %r1, [p_count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    mul.f32 %f3, %f2, %f1;
    st.global.f32 [%rd4], %f3;
DONE:
    ret;
}
)";

// add(unsigned* data, unsigned value): data[thread] += value, in one block.
inline constexpr char kAdd[] = R"(
.visible .entry add(.param .u64 p_data, .param .u32 p_value)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [p_data];
    ld.param.u32 %r1, [p_value];
    mov.u32 %r2, %tid.x;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.u32 %r3, [%rd4];
    add.u32 %r4, %r3, %r1;
    st.global.u32 [%rd4], %r4;
    ret;
}
)";

// empty(): does nothing.
inline constexpr char kEmpty[] = ".visible .entry empty() { ret; }\n";

// store(unsigned* to, unsigned value): *to = value, by each thread.
inline constexpr char kStore[] = R"(
.visible .entry store(.param .u64 p_to, .param .u32 p_value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p_to];
    ld.param.u32 %r1, [p_value];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], %r1;
    ret;
}
)";

// bump(): ++counter, by one thread. The variable `counter` starts at 7.
inline constexpr char kBump[] = R"(
.visible .global .align 4 .u32 counter = 7;
.visible .entry bump()
{
    .reg .b32 %r<3>;
    ld.global.u32 %r1, [counter];
    add.u32 %r2, %r1, 1;
    st.global.u32 [counter], %r2;
    ret;
}
)";

// wait_for(unsigned* flag, unsigned* seen): returns when *flag is not 0. The
// store keeps a compiler from reading the flag only once.
inline constexpr char kWaitFor[] = R"(
.visible .entry wait_for(.param .u64 p_flag, .param .u64 p_seen)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [p_flag];
    ld.param.u64 %rd2, [p_seen];
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
AGAIN:
    ld.global.u32 %r1, [%rd3];
    st.global.u32 [%rd4], %r1;
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra AGAIN;
    ret;
}
)";

// work(unsigned* to, unsigned rounds): computes, a few nanoseconds in a round.
inline constexpr char kWork[] = R"(
.visible .entry work(.param .u64 p_to, .param .u32 p_rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p_to];
    ld.param.u32 %r1, [p_rounds];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r2, %tid.x;
AGAIN:
    shr.u32 %r3, %r2, 7;
    mad.lo.u32 %r2, %r2, 1664525, %r3;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra AGAIN;
    st.global.u32 [%rd2], %r2;
    ret;
}
)";

// set(handle, unsigned value): sets the graph's condition to `value`.
// count_down(handle, unsigned* left): subtracts one from *left, and sets the
// graph's condition to the result.
inline constexpr char kConditions[] = R"(
.extern .func cudaGraphSetConditional(.param .b64 p_handle,
                                      .param .b32 p_value);
.visible .entry set(.param .u64 p_handle, .param .u32 p_value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    .param .b64 handle;
    .param .b32 value;
    ld.param.u64 %rd1, [p_handle];
    ld.param.u32 %r1, [p_value];
    st.param.b64 [handle], %rd1;
    st.param.b32 [value], %r1;
    call.uni cudaGraphSetConditional, (handle, value);
    ret;
}
.visible .entry count_down(.param .u64 p_handle, .param .u64 p_left)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    .param .b64 handle;
    .param .b32 value;
    ld.param.u64 %rd1, [p_handle];
    ld.param.u64 %rd2, [p_left];
    cvta.to.global.u64 %rd3, %rd2;
    ld.global.u32 %r1, [%rd3];
    sub.u32 %r2, %r1, 1;
    st.global.u32 [%rd3], %r2;
    st.param.b64 [handle], %rd1;
    st.param.b32 [value], %r2;
    call.uni cudaGraphSetConditional, (handle, value);
    ret;
}
)";

inline constexpr char kPtxHeader[] =
    ".version 8.3\n.target sm_75\n.address_size 64\n";

// The texts, concatenated.
template <const auto&... kTexts>
inline constexpr auto kJoined = [] {
  std::array<char, (sizeof(kTexts) + ... + 1) - sizeof...(kTexts)> joined{};
  auto to = joined.begin();
  ((to = std::copy_n(kTexts, sizeof(kTexts) - 1, to)), ...);
  return joined;
}();

// The PTX of a module with these kernels.
template <const auto&... kKernels>
inline constexpr const char* kModule = kJoined<kPtxHeader, kKernels...>.data();

}  // namespace holdfast::test_ptx

#endif  // HOLDFAST_TESTS_TESTING_KERNELS_H_
