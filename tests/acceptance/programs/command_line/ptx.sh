#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PTX is text that other tools read, and PTX of other compilers runs.
# shellcheck source=tests/acceptance/checks/checks.sh
. "$CHECKS/checks.sh"
echo 'extern "C" __global__ void seven(int* x) { x[threadIdx.x] = 7; }' >k.cu
works "CUDA C++ to PTX" holdfast compile k.cu -o k.ptx
same "zero bytes in it" "$(tr -dc '\000' <k.ptx | wc -c)" 0
works "grep finds its entry" grep -q 'entry seven' k.ptx
works "it runs" holdfast run k.ptx --kernel seven --grid 1 --block 2 'out:o.npy:i32[2]'
same "its result" "$(array o.npy)" "[7, 7]"
works "its kernels are listed" holdfast kernels k.ptx
works "linked" holdfast link k.ptx -o linked.ptx
# As Triton's compiler writes it: one element in braces, .ptr parameters, .loc and empty sections.
cat >triton.ptx <<'PTX'
.version 8.4
.target sm_80
.address_size 64
	// .globl	half
.extern .shared .align 16 .b8 global_smem[];
.visible .entry half(
	.param .u64 .ptr .global .align 1 half_param_0,
	.param .u64 .ptr .global .align 1 half_param_1,
	.param .u32 half_param_2
)
.reqntid 64
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<8>;
	.loc	1 5 0
$L__func_begin0:
	ld.param.u64 	%rd1, [half_param_0];
	ld.param.u64 	%rd2, [half_param_1];
	ld.param.u32 	%r1, [half_param_2];
	mov.u32 	%r2, %ctaid.x;
	shl.b32 	%r3, %r2, 6;
	mov.u32 	%r4, %tid.x;
	or.b32  	%r5, %r3, %r4;
	setp.lt.s32 	%p1, %r5, %r1;
	mul.wide.s32 	%rd3, %r5, 4;
	add.s64 	%rd4, %rd1, %rd3;
	// begin inline asm
	mov.u32 %r6, 0x0;
	@%p1 ld.global.b32 { %r6 }, [ %rd4 + 0 ];
	// end inline asm
	shr.s32 	%r7, %r6, 1;
	add.s64 	%rd5, %rd2, %rd3;
	// begin inline asm
	@%p1 st.global.b32 [ %rd5 + 0 ], { %r7 };
	// end inline asm
	ret;
$L__func_end0:
}
	.file	1 "/home/user/half.py"
	.section	.debug_macinfo	{	}
PTX
"$PYTHON" -c 'import numpy; numpy.save("x.npy", numpy.arange(128, dtype="i4"))'
works "Triton's form" holdfast run triton.ptx --kernel half --grid 2 --block 64 in:x.npy 'out:h.npy:i32[128]' i32:100
same "its result" "$(array h.npy)" "$("$PYTHON" -c 'print([i // 2 if i < 100 else 0 for i in range(128)])')"
refused "another block than .reqntid names the number" 1 "64|reqntid|requires a block" holdfast run triton.ptx --kernel half --grid 2 --block 32 in:x.npy 'out:h.npy:i32[128]' i32:100
finish
