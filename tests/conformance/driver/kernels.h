// SPDX-License-Identifier: Apache-2.0
//
// The PTX that the suites load, as text, so that the binary carries it along.
#ifndef HOLDFAST_TESTS_CONFORMANCE_DRIVER_KERNELS_H_
#define HOLDFAST_TESTS_CONFORMANCE_DRIVER_KERNELS_H_

namespace holdfast::conformance {

// scale(float* data, float factor, unsigned count): data[i] *= factor
// empty()
// mixed(unsigned char a, unsigned long b, unsigned short c, 24-byte struct
//       aligned to 8): parameters at 0, 8, 16 and 24
// store(unsigned* to, unsigned value): *to = value, by each thread
// bump(): ++counter, by one thread; `counter` starts at 7
inline constexpr char kPtx[] = R"(
.version 7.0
.target sm_75
.address_size 64

.visible .global .align 4 .u32 counter = 7;
.visible .const .align 4 .b8 table[16];

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

.visible .entry empty()
{
    ret;
}

.visible .entry mixed(.param .u8 a, .param .u64 b, .param .u16 c,
                      .param .align 8 .b8 d[24])
{
    ret;
}

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

.visible .entry bump()
{
    .reg .b32 %r<3>;
    ld.global.u32 %r1, [counter];
    add.u32 %r2, %r1, 1;
    st.global.u32 [counter], %r2;
    ret;
}
)";

}  // namespace holdfast::conformance

#endif  // HOLDFAST_TESTS_CONFORMANCE_DRIVER_KERNELS_H_
