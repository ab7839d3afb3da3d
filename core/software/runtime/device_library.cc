// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/device_library.h"

#include <algorithm>

#include "core/software/ptx/parser.h"

namespace holdfast::software {
namespace {

// The handle of a grid is the address of its workspace (grid.h), or 0 in a
// launch that is not cooperative. The workspace's second word counts the blocks
// that wait; its highest bit flips when all have come, and the rest of it is 0
// again. cooperative_groups counts in the same way, so that a kernel may use
// both.
constexpr char kPtx[] = R"(
.version 7.0
.target sm_75
.address_size 64

.weak .func (.param .b64 result) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  mov.u64 %rd1, 0;
  ld.param.u32 %r1, [scope];
  setp.ne.u32 %p1, %r1, 1;
  @%p1 bra DONE;
  mov.u32 %r2, %envreg1;
  mov.u32 %r3, %envreg2;
  mov.b64 %rd1, {%r3, %r2};
DONE:
  st.param.b64 [result], %rd1;
  ret;
}

.weak .func (.param .b32 result) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
  .reg .pred %p<5>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<2>;
  mov.u32 %r1, 1;
  ld.param.u64 %rd1, [handle];
  setp.eq.u64 %p1, %rd1, 0;
  @%p1 bra DONE;
  mov.u32 %r1, 0;
  barrier.sync 0;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %tid.y;
  mov.u32 %r4, %tid.z;
  or.b32 %r5, %r2, %r3;
  or.b32 %r5, %r5, %r4;
  setp.ne.u32 %p2, %r5, 0;
  @%p2 bra LEAVE;
  mov.u32 %r6, %nctaid.x;
  mov.u32 %r7, %nctaid.y;
  mov.u32 %r8, %nctaid.z;
  mul.lo.u32 %r9, %r6, %r7;
  mul.lo.u32 %r9, %r9, %r8;
  mov.u32 %r10, %ctaid.x;
  mov.u32 %r11, %ctaid.y;
  mov.u32 %r12, %ctaid.z;
  or.b32 %r13, %r10, %r11;
  or.b32 %r13, %r13, %r12;
  setp.eq.u32 %p3, %r13, 0;
  sub.u32 %r14, 0x80000001, %r9;
  selp.b32 %r15, %r14, 1, %p3;
  atom.add.release.gpu.u32 %r16, [%rd1+4], %r15;
WAIT:
  ld.acquire.gpu.u32 %r17, [%rd1+4];
  xor.b32 %r18, %r16, %r17;
  setp.ge.s32 %p4, %r18, 0;
  @%p4 bra WAIT;
LEAVE:
  barrier.sync 0;
DONE:
  st.param.b32 [result], %r1;
  ret;
}

.weak .func (.param .b32 result) cudaCGSynchronizeGrid(.param .b64 handle, .param .b32 flags)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [handle];
  ld.param.u32 %r1, [flags];
  {
  .param .b64 to;
  .param .b32 with;
  .param .b32 back;
  st.param.b64 [to], %rd1;
  st.param.b32 [with], %r1;
  call (back), cudaCGSynchronize, (to, with);
  ld.param.b32 %r2, [back];
  }
  st.param.b32 [result], %r2;
  ret;
}

.weak .func (.param .b32 result) cudaCGGetSize(.param .b64 threads, .param .b64 grids, .param .b64 handle)
{
  .reg .pred %p<4>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<4>;
  mov.u32 %r1, 1;
  ld.param.u64 %rd1, [threads];
  ld.param.u64 %rd2, [grids];
  ld.param.u64 %rd3, [handle];
  setp.eq.u64 %p1, %rd3, 0;
  @%p1 bra DONE;
  mov.u32 %r1, 0;
  setp.eq.u64 %p2, %rd2, 0;
  mov.u32 %r2, 1;
  @!%p2 st.u32 [%rd2], %r2;
  mov.u32 %r3, %nctaid.x;
  mov.u32 %r4, %nctaid.y;
  mul.lo.u32 %r3, %r3, %r4;
  mov.u32 %r4, %nctaid.z;
  mul.lo.u32 %r3, %r3, %r4;
  mov.u32 %r4, %ntid.x;
  mul.lo.u32 %r3, %r3, %r4;
  mov.u32 %r4, %ntid.y;
  mul.lo.u32 %r3, %r3, %r4;
  mov.u32 %r4, %ntid.z;
  mul.lo.u32 %r3, %r3, %r4;
  setp.eq.u64 %p3, %rd1, 0;
  @!%p3 st.u32 [%rd1], %r3;
DONE:
  st.param.b32 [result], %r1;
  ret;
}

.weak .func (.param .b32 result) cudaCGGetRank(.param .b64 thread, .param .b64 grid, .param .b64 handle)
{
  .reg .pred %p<4>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<4>;
  mov.u32 %r1, 1;
  ld.param.u64 %rd1, [thread];
  ld.param.u64 %rd2, [grid];
  ld.param.u64 %rd3, [handle];
  setp.eq.u64 %p1, %rd3, 0;
  @%p1 bra DONE;
  mov.u32 %r1, 0;
  setp.eq.u64 %p2, %rd2, 0;
  mov.u32 %r2, 0;
  @!%p2 st.u32 [%rd2], %r2;
  mov.u32 %r3, %ctaid.z;
  mov.u32 %r4, %nctaid.y;
  mov.u32 %r5, %ctaid.y;
  mad.lo.u32 %r3, %r3, %r4, %r5;
  mov.u32 %r4, %nctaid.x;
  mov.u32 %r5, %ctaid.x;
  mad.lo.u32 %r3, %r3, %r4, %r5;
  mov.u32 %r4, %ntid.z;
  mov.u32 %r5, %tid.z;
  mad.lo.u32 %r3, %r3, %r4, %r5;
  mov.u32 %r4, %ntid.y;
  mov.u32 %r5, %tid.y;
  mad.lo.u32 %r3, %r3, %r4, %r5;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r3, %r3, %r4, %r5;
  setp.eq.u64 %p3, %rd1, 0;
  @!%p3 st.u32 [%rd1], %r3;
DONE:
  st.param.b32 [result], %r1;
  ret;
}
)";

}  // namespace

const ptx::Module& DeviceLibrary() {
  static const auto& library =
      *new ptx::Module(std::move(ptx::Parse(kPtx).module));
  return library;
}

bool InDeviceLibrary(absl::string_view function) {
  const std::vector<ptx::Function>& functions = DeviceLibrary().functions;
  return std::any_of(
      functions.begin(), functions.end(),
      [&](const ptx::Function& own) { return own.name == function; });
}

bool NeedsDeviceLibrary(const ptx::Module& module) {
  return std::any_of(module.functions.begin(), module.functions.end(),
                     [](const ptx::Function& function) {
                       return !function.defined &&
                              InDeviceLibrary(function.name);
                     });
}

}  // namespace holdfast::software
