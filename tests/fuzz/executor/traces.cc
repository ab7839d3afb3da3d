// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/executor/traces.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace holdfast::fuzz {
namespace {

constexpr char kFolder[] = "tests/fuzz/executor/traces";

Trace Read(const std::filesystem::path& path) {
  std::ifstream file(path);
  Trace trace;
  std::string line, paragraph;
  const auto finish = [&] {
    if (paragraph.empty()) return;
    if (!google::protobuf::TextFormat::ParseFromString(paragraph,
                                                       &trace.emplace_back())) {
      std::fprintf(stderr, "%s has a batch that is none\n", path.c_str());
      std::abort();
    }
    paragraph.clear();
  };
  while (std::getline(file, line)) {
    if (line.empty()) finish();
    paragraph += line + "\n";
    if (paragraph == "\n") paragraph.clear();
  }
  finish();
  return trace;
}

}  // namespace

std::vector<Trace> ReadTraces() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    paths.push_back(entry.path());
  }
  // A seed means the same wherever the folder lists its files in another order.
  std::sort(paths.begin(), paths.end());
  std::vector<Trace> traces;
  for (const auto& path : paths) traces.push_back(Read(path));
  if (traces.empty()) std::abort();
  return traces;
}

const char kKernelsSha256[] = "an object of the fuzzer 32 bytes";

const char kKernels[] = R"(.version 8.0
.target sm_80
.address_size 64

.extern .func cudaGraphSetConditional(.param .b64 condition,
                                      .param .b32 value);

.visible .global .align 4 .b8 table[256];

.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y,
                      .param .u64 out, .param .u64 n) { ret; }
.visible .entry scale(.param .u64 data, .param .f32 factor,
                      .param .u64 n) { ret; }
.visible .entry square(.param .u64 data, .param .u64 n) { ret; }
.visible .entry _Z10vector_addIfEvPKT_S2_PS0_m(
    .param .u64 a, .param .u64 b, .param .u64 c, .param .u64 n) { ret; }
.visible .entry arguments(
    .param .u64 buffer, .param .u8 boolean, .param .s8 i8, .param .s16 i16,
    .param .s32 i32, .param .s64 i64, .param .u8 u8, .param .u16 u16,
    .param .u32 u32, .param .u64 u64, .param .b16 f16, .param .f32 f32,
    .param .f64 f64, .param .align 8 .b8 raw[24], .param .u64 texture,
    .param .u64 surface) { ret; }

.visible .entry set_condition(.param .u64 condition, .param .u32 value) {
  .reg .b32 %r0;
  .reg .b64 %rd0;
  ld.param.u64 %rd0, [condition];
  ld.param.u32 %r0, [value];
  {
    .param .b64 param0;
    .param .b32 param1;
    st.param.b64 [param0], %rd0;
    st.param.b32 [param1], %r0;
    call.uni cudaGraphSetConditional, (param0, param1);
  }
  ret;
}

.visible .entry twice(.param .u64 x, .param .u32 n) {
  .reg .pred %p;
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [x];
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p, %r1, %r0;
  @%p bra done;
  cvta.to.global.u64 %rd1, %rd0;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %r2, [%rd3];
  mad.lo.u32 %r3, %r2, 2, 1;
  st.global.u32 [%rd3], %r3;
done:
  ret;
}
)";

}  // namespace holdfast::fuzz
