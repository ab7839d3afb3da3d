// SPDX-License-Identifier: Apache-2.0
//
// Kernels that make one access of every kind, to an address that one of their
// lanes is given.
#ifndef HOLDFAST_TESTS_CORE_SOFTWARE_RUNTIME_ACCESS_PROGRAM_H_
#define HOLDFAST_TESTS_CORE_SOFTWARE_RUNTIME_ACCESS_PROGRAM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace holdfast::software {

inline constexpr uint32_t kLanes = 32;

// An instruction with %a as its address, which is a multiple of `bytes`.
struct Access {
  const char* text;
  int bytes;
};

inline const Access kAccesses[] = {
    {"ld.u8 %r0, [%a];", 1},
    {"ld.global.u16 %h0, [%a];", 2},
    {"ld.global.u32 %r0, [%a];", 4},
    {"ld.u64 %d0, [%a];", 8},
    {"ld.global.nc.f64 %f0, [%a];", 8},
    {"ld.const.u32 %r0, [%a];", 4},
    {"ld.local.u32 %r0, [%a];", 4},
    {"ld.param.u32 %r0, [%a];", 4},
    {"ld.param.v2.u64 {%d0, %d1}, [%a];", 16},
    {"ld.volatile.u32 %r0, [%a];", 4},
    {"ld.acquire.gpu.global.u32 %r0, [%a];", 4},
    {"ld.global.v2.u8 {%h0, %h1}, [%a];", 2},
    {"ld.global.v2.u32 {%r0, %r1}, [%a];", 8},
    {"ld.global.v2.u64 {%d0, %d1}, [%a];", 16},
    {"ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%a];", 16},
    {"ld.relaxed.gpu.v2.u64 {%d0, %d1}, [%a];", 16},
    {"st.u8 [%a], %r9;", 1},
    {"st.global.u16 [%a], %h9;", 2},
    {"st.global.u32 [%a], %r9;", 4},
    {"st.local.u32 [%a], %r9;", 4},
    {"st.u64 [%a], %d9;", 8},
    {"st.volatile.global.u32 [%a], %r9;", 4},
    {"st.release.gpu.global.u64 [%a], %d9;", 8},
    {"st.global.v2.u64 [%a], {%d9, %d9};", 16},
    {"st.global.v4.u32 [%a], {%r9, %r9, %r9, %r9};", 16},
    {"st.relaxed.gpu.v2.u64 [%a], {%d9, %d9};", 16},
    {"atom.global.add.u32 %r0, [%a], %r9;", 4},
    {"atom.add.f64 %f0, [%a], %f9;", 8},
    {"atom.cas.b16 %h0, [%a], %h9, %h9;", 2},
    {"atom.global.cas.b64 %d0, [%a], %d9, %d9;", 8},
    {"atom.global.exch.b32 %r0, [%a], %r9;", 4},
    {"atom.global.add.noftz.f16 %h0, [%a], %h9;", 2},
    {"red.global.add.u32 [%a], %r9;", 4},
    {"red.global.max.s64 [%a], %d9;", 8},
    {"cp.async.ca.shared.global [%own], [%a], 4;", 4},
    {"cp.async.cg.shared.global [%own], [%a], 16;", 16},
    {"cp.async.bulk.global.shared::cta.bulk_group [%a], [%own], 16;", 16},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b32 [%a], [%own], "
     "16;",
     16},
    {"mbarrier.init.b64 [%a], 3;", 8},
    {"mbarrier.test_wait.parity.b64 %p9, [%a], 0;", 8},
};

// How the lanes come to their addresses and to the instruction. Lane 5 has the
// bad address in all of them.
enum class Way {
  kUniform,     // all lanes have it
  kNeighbours,  // lanes side by side, of which lane 5 and others are bad
  kStrided,     // at a distance of three elements
  kFarApart,    // at a distance of 1 GiB
  kOneLane,     // the others have good ones
  kGuarded,     // lane 5 alone takes part; the others have bad ones, too
  kParted,      // odd lanes go another way, and lane 5 with them
  kLoop,        // lane 5 in the fifth round of a loop that lanes leave
};
inline constexpr Way kWays[] = {Way::kUniform,  Way::kNeighbours, Way::kStrided,
                                Way::kFarApart, Way::kOneLane,    Way::kGuarded,
                                Way::kParted,   Way::kLoop};

inline constexpr char kBegin[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p_bad, .param .u64 p_good)
{
    .local .align 16 .b8 mine[64];
    .shared .align 16 .b8 ours[512];
    .reg .pred %p<10>;
    .reg .b16 %h<10>;
    .reg .b32 %r<10>, %lane, %own, %i;
    .reg .b64 %d<10>, %a, %bad, %good, %step;
    .reg .f64 %f<10>;
    ld.param.u64 %bad, [p_bad];
    ld.param.u64 %good, [p_good];
    mov.u32 %lane, %tid.x;
    mov.u16 %h9, 7;
    mov.u32 %r9, 7;
    mov.u64 %d9, 7;
    mov.f64 %f9, 0d3ff0000000000000;
    mov.u32 %own, ours;
    mad.lo.u32 %own, %lane, 16, %own;
    setp.eq.u32 %p1, %lane, 5;
    mad.wide.u32 %good, %lane, 16, %good;
)";

// Uses what was loaded, so that no load is left out.
inline constexpr char kEnd[] = R"(
    st.global.u32 [%good+1024], %r0;
    st.global.u64 [%good+2048], %d0;
    st.global.u16 [%good+3072], %h0;
    st.global.f64 [%good+4096], %f0;
    ret;
})";

inline std::string Step(uint64_t bytes) {
  // From lane 5 back to lane 0.
  const std::string text = std::to_string(bytes);
  return "mul.wide.u32 %step, %lane, " + text +
         ";\nadd.u64 %a, %bad, %step;\nsub.u64 %a, %a, " +
         std::to_string(5 * bytes) + ";\n";
}

// The instruction that brings the address in %a to the access's state space:
// in that of parameters a register holds an offset.
inline std::string ToSpace(const Access& access) {
  const bool parameter = strstr(access.text, ".param") != nullptr;
  return parameter ? "cvta.to.param.u64 %a, %a;\n" : "";
}

inline std::string Program(const Access& access, Way way) {
  const std::string to_space = ToSpace(access);
  const std::string text = to_space + access.text;
  const auto bytes = static_cast<uint64_t>(access.bytes);
  std::string body;
  switch (way) {
    case Way::kUniform:
      body = "mov.u64 %a, %bad;\n" + text;
      break;
    case Way::kNeighbours:
      body = Step(bytes) + text;
      break;
    case Way::kStrided:
      body = Step(3 * bytes) + text;
      break;
    case Way::kFarApart:
      body = Step(uint64_t{1} << 30) + text;
      break;
    case Way::kOneLane:
      body = "selp.b64 %a, %bad, %good, %p1;\n" + text;
      break;
    case Way::kGuarded:
      body = "mov.u64 %a, %bad;\n" + to_space + "@%p1 " + access.text;
      break;
    case Way::kParted:
      body =
          "selp.b64 %a, %bad, %good, %p1;\nand.b32 %r5, %lane, 1;\n"
          "setp.eq.u32 %p2, %r5, 0;\nmov.u32 %i, 0;\n@%p2 bra OUT;\n"
          "AGAIN: add.u32 %i, %i, 1;\nsetp.lt.u32 %p3, %i, %lane;\n"
          "@%p3 bra AGAIN;\n" +
          text + "\nOUT:\n";
      break;
    case Way::kLoop:
      body =
          "mov.u32 %i, 0;\nAGAIN: setp.eq.u32 %p3, %i, 4;\n"
          "and.pred %p3, %p3, %p1;\nselp.b64 %a, %bad, %good, %p3;\n" +
          text +
          "\nadd.u32 %i, %i, 1;\nsetp.le.u32 %p2, %i, %lane;\n"
          "@%p2 bra AGAIN;\n";
      break;
  }
  return kBegin + body + kEnd;
}

// The line of a program in which `text` begins.
inline int LineOf(const std::string& ptx, const std::string& text) {
  const auto end = ptx.begin() +
                   static_cast<ptrdiff_t>(std::min(ptx.find(text), ptx.size()));
  return 1 + static_cast<int>(std::count(ptx.begin(), end, '\n'));
}

}  // namespace holdfast::software

#endif  // HOLDFAST_TESTS_CORE_SOFTWARE_RUNTIME_ACCESS_PROGRAM_H_
