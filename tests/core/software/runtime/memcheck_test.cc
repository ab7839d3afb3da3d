// SPDX-License-Identifier: Apache-2.0
//
// Kernels in memcheck mode. A kernel that leaves its buffer, by any kind of
// access and by one byte or many, must end with the fault of an illegal
// address, although the memory there is mapped. The fault names the buffer. A
// kernel that stays inside its buffer must not fault.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/software/abi/buffer_table.h"
#include "core/software/abi/window.h"
#include "core/software/runtime/executable.h"
#include "gtest/gtest.h"
#include "tests/core/software/runtime/access_program.h"

namespace holdfast::software {
namespace {

using testing::Test;

// Memory of lanes and of parameters has no buffers.
bool HasBuffers(const Access& access) {
  return !absl::StrContains(access.text, ".local") &&
         !absl::StrContains(access.text, ".param");
}

std::string Hex(uint64_t address) {
  return absl::StrCat("0x", absl::Hex(address));
}

class MemcheckTest : public Test {
 protected:
  static constexpr uint64_t kBytes = 1 << 20;
  static constexpr uint64_t kGoodBytes = 1 << 16;

  static void SetUpTestSuite() { BufferTable::Enable(); }

  void SetUp() override {
    range_ = GetAddressSpace().Reserve(kBytes, kPageSize, 0);
    ASSERT_NE(range_, nullptr);
    ASSERT_EQ(mprotect(reinterpret_cast<void*>(base()), kBytes,
                       PROT_READ | PROT_WRITE),
              0);
    good_ = BufferEntry::Make(base(), kGoodBytes);
  }

  // A range of mapped memory, of which its first part is a buffer.
  uint64_t base() const { return range_->address(); }
  uint64_t place() const { return base() + kBytes / 2; }

  std::unique_ptr<Executable> Load(const std::string& ptx) {
    std::unique_ptr<Executable> executable;
    std::string log;
    Executable::Load(ptx, &executable, &log);
    EXPECT_NE(executable, nullptr) << log << "\n" << ptx;
    return executable;
  }

  LaunchOutcome Run(Executable& executable, uint64_t address,
                    uint32_t lanes = kLanes, size_t dynamic_shared_bytes = 0) {
    LaunchGeometry geometry;
    geometry.block[0] = lanes;
    geometry.dynamic_shared_bytes = dynamic_shared_bytes;
    const uint64_t parameters[] = {address, base()};
    return executable.Launch(0, geometry, parameters, nullptr);
  }

  // One lane makes the access.
  LaunchOutcome RunAlone(const std::string& access, uint64_t address) {
    const auto executable = Load(Program({access.c_str(), 16}, Way::kUniform));
    return Run(*executable, address, 1);
  }

  void ExpectIllegal(const LaunchOutcome& outcome, const std::string& what) {
    EXPECT_EQ(outcome.result, CUDA_ERROR_ILLEGAL_ADDRESS)
        << what << ": " << outcome.message;
    EXPECT_TRUE(
        absl::StrContains(outcome.message, "kernel k, block (0,0,0), thread"))
        << what << ": " << outcome.message;
  }

  void ExpectText(const LaunchOutcome& outcome, const std::string& text) {
    EXPECT_TRUE(absl::StrContains(outcome.message, text)) << outcome.message;
  }

  std::unique_ptr<AddressRange> range_;
  std::shared_ptr<const BufferEntry> good_;
};

// The buffer has 120 bytes, so that the last access of 16 bytes reaches over
// its end.
TEST_F(MemcheckTest, EveryWayOutOfABufferFaults) {
  const auto buffer = BufferEntry::Make(place(), 120);
  const auto neighbour = BufferEntry::Make(place() + 512, 4096);
  int narrow = 0;
  for (const Access& access : kAccesses) {
    if (!HasBuffers(access)) continue;
    // Code for all ways of all accesses would take too long.
    const bool all_ways = narrow++ % 4 == 0;
    for (const Way way : kWays) {
      if (!all_ways && way != Way::kUniform && way != Way::kNeighbours) {
        continue;
      }
      const auto executable = Load(Program(access, way));
      const auto bytes = static_cast<uint64_t>(access.bytes);
      for (const uint64_t bad :
           {place() + (120 + bytes - 1) / bytes * bytes, place() - bytes,
            place() + 112 + (bytes == 16 ? 0 : 16), place() + 512 - bytes}) {
        for (const uint32_t lanes : {kLanes, kLanes - 1}) {
          ExpectIllegal(
              Run(*executable, bad, lanes),
              absl::StrCat(access.text, " way ", static_cast<int>(way), " at ",
                           bad - place(), " of ", lanes));
        }
      }
    }
  }
}

// All bytes of the buffer may be accessed, by every shape of addresses. The
// addresses of lanes that do not take part do not matter.
TEST_F(MemcheckTest, AccessesInsideOfABufferRun) {
  constexpr uint64_t kSize = 32 * 16 * 3;
  const auto buffer = BufferEntry::Make(place(), kSize);
  for (const Access& access : kAccesses) {
    if (!HasBuffers(access)) continue;
    const auto bytes = static_cast<uint64_t>(access.bytes);
    // Lane 0 is five steps in front of the address.
    const struct {
      Way way;
      uint64_t address;
    } uses[] = {
        {Way::kUniform, place() + kSize - bytes},
        {Way::kUniform, place()},
        {Way::kNeighbours, place() + 5 * bytes},
        {Way::kNeighbours, place() + kSize - 27 * bytes},
        {Way::kStrided, place() + 15 * bytes},
        {Way::kOneLane, place() + kSize - bytes},
        {Way::kGuarded, place() + kSize - bytes},
        {Way::kParted, place() + kSize - bytes},
        {Way::kLoop, place() + kSize - bytes},
    };
    for (const auto& use : uses) {
      const auto executable = Load(Program(access, use.way));
      const LaunchOutcome outcome = Run(*executable, use.address);
      EXPECT_EQ(outcome.result, CUDA_SUCCESS)
          << access.text << " way " << static_cast<int>(use.way) << ": "
          << outcome.message;
      if (use.way != Way::kNeighbours || use.address == place() + 5 * bytes) {
        continue;
      }
      // Lane 31 is missing, and may be outside.
      const LaunchOutcome fewer =
          Run(*executable, use.address + bytes, kLanes - 1);
      EXPECT_EQ(fewer.result, CUDA_SUCCESS)
          << access.text << ": " << fewer.message;
    }
  }
}

TEST_F(MemcheckTest, ALoopThatRunsIntoTheNeighbourStops) {
  const auto first = BufferEntry::Make(place(), 256);
  const auto second = BufferEntry::Make(place() + 256, 256);
  const auto third = BufferEntry::Make(place() + 1024, 256);
  const std::string ptx = absl::StrCat(kBegin, R"(
    mov.u32 %i, 0;
    mov.u64 %a, %bad;
AGAIN:
    st.global.u32 [%a], %i;
    add.u64 %a, %a, 4;
    add.u32 %i, %i, 1;
    setp.lt.u32 %p2, %i, 512;
    @%p2 bra AGAIN;
    ret;
})");
  const auto executable = Load(ptx);
  const LaunchOutcome outcome = Run(*executable, place(), 1);
  ExpectIllegal(outcome, "loop");
  // The second buffer follows without a gap, so that the loop goes through it.
  ExpectText(outcome, absl::StrCat("st: 4-byte write at ", Hex(place() + 512),
                                   ", right behind the end of the buffer of "
                                   "256 bytes at ",
                                   Hex(place() + 256)));
  EXPECT_EQ(*reinterpret_cast<uint32_t*>(place() + 512), 0u);
}

// Memory may be mapped in pieces.
TEST_F(MemcheckTest, ABulkCopyMayReachOverBuffersSideBySide) {
  const auto first = BufferEntry::Make(place(), 32);
  const auto second = BufferEntry::Make(place() + 32, 32);
  const std::string copy =
      "cp.async.bulk.global.shared::cta.bulk_group [%a], [%own], 64;";
  EXPECT_EQ(RunAlone(copy, place()).result, CUDA_SUCCESS);
  const LaunchOutcome outcome = RunAlone(copy, place() + 16);
  ExpectIllegal(outcome, "bulk copy");
  ExpectText(outcome, absl::StrCat("access at ", Hex(place() + 64),
                                   ", right behind the end of the buffer of "
                                   "32 bytes at ",
                                   Hex(place() + 32)));
}

// The last of 16 lines of 64 bytes begins in the buffer, and ends behind it.
TEST_F(MemcheckTest, EveryByteOfATilesLinesIsTested) {
  const std::string load =
      "wmma.load.c.sync.aligned.row.m16n16k16.s32 {%r0, %r1, %r2, %r3, %r4, "
      "%r5, %r6, %r7}, [%a];";
  const auto executable = Load(Program({load.c_str(), 16}, Way::kUniform));
  auto buffer = BufferEntry::Make(place(), 1024);
  EXPECT_EQ(Run(*executable, place()).result, CUDA_SUCCESS);
  buffer = BufferEntry::Make(place(), 1008);
  const LaunchOutcome outcome = Run(*executable, place());
  ExpectIllegal(outcome, "tile");
  ExpectText(outcome,
             absl::StrCat("wmma: 16-byte access at ", Hex(place() + 1008),
                          ", right behind the end of the buffer of "
                          "1008 bytes at ",
                          Hex(place())));
}

TEST_F(MemcheckTest, TheReportNamesTheBuffer) {
  const auto buffer = BufferEntry::Make(place(), 16);
  const std::string name =
      absl::StrCat(" the buffer of 16 bytes at ", Hex(place()));
  const std::string write = "st.global.u32 [%a], %r9;";
  const auto at = [&](int64_t offset) {
    return place() + static_cast<uint64_t>(offset);
  };
  ExpectText(RunAlone(write, at(16)),
             absl::StrCat("st: 4-byte write at ", Hex(at(16)),
                          ", right behind the end of", name));
  ExpectText(RunAlone(write, at(20)),
             absl::StrCat("st: 4-byte write at ", Hex(at(20)),
                          ", 4 bytes behind the end of", name));
  ExpectText(RunAlone(write, at(-8)),
             absl::StrCat("st: 4-byte write at ", Hex(at(-8)),
                          ", 8 bytes before the start of", name));
  ExpectText(RunAlone("ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%a];", at(16)),
             absl::StrCat("ld: 16-byte read at ", Hex(at(16))));
  ExpectText(RunAlone("atom.global.add.u32 %r0, [%a], %r9;", at(16)),
             absl::StrCat("atom: 4-byte access at ", Hex(at(16))));
}

TEST_F(MemcheckTest, AnAccessOverTheEndIsToldFromOneBehindIt) {
  const auto buffer = BufferEntry::Make(place(), 12);
  ExpectText(RunAlone("ld.global.u64 %d0, [%a];", place() + 8),
             absl::StrCat("ld: 8-byte read at ", Hex(place() + 8),
                          ", of which 4 bytes behind the end of the buffer of "
                          "12 bytes at ",
                          Hex(place())));
}

TEST_F(MemcheckTest, ABufferThatWasFreedIsNamed) {
  auto buffer = BufferEntry::Make(place(), 64);
  const std::string write = "st.global.u32 [%a], %r9;";
  EXPECT_EQ(RunAlone(write, place()).result, CUDA_SUCCESS);
  buffer.reset();
  const LaunchOutcome outcome = RunAlone(write, place() + 60);
  ExpectIllegal(outcome, "freed");
  ExpectText(outcome, absl::StrCat("4-byte write at ", Hex(place() + 60),
                                   ", in the buffer of 64 bytes at ",
                                   Hex(place()), " that was freed"));
  // A new buffer gets a part of its bytes. The rest stays freed.
  const auto next = BufferEntry::Make(place() + 32, 64);
  EXPECT_EQ(RunAlone(write, place() + 60).result, CUDA_SUCCESS);
  EXPECT_EQ(RunAlone(write, place()).result, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(MemcheckTest, PartsOfABufferAreBuffers) {
  BufferTable& table = *BufferTable::Get();
  const auto whole = BufferEntry::Make(place(), 4096);
  const std::string write = "st.global.u32 [%a], %r9;";
  EXPECT_EQ(RunAlone(write, place() + 2048).result, CUDA_SUCCESS);
  table.AddPart(place(), 16);
  table.AddPart(place() + 512, 100);
  EXPECT_EQ(RunAlone(write, place() + 12).result, CUDA_SUCCESS);
  EXPECT_EQ(RunAlone(write, place() + 512 + 96).result, CUDA_SUCCESS);
  ExpectText(RunAlone(write, place() + 16),
             "right behind the end of the buffer of 16 bytes");
  ExpectText(RunAlone(write, place() + 508),
             "4 bytes before the start of the buffer of 100 bytes");
  EXPECT_EQ(RunAlone(write, place() + 2048).result, CUDA_ERROR_ILLEGAL_ADDRESS);
  table.RemovePart(place() + 512);
  ExpectText(RunAlone(write, place() + 512), "in the buffer of 100 bytes at " +
                                                 Hex(place() + 512) +
                                                 " that was freed");
}

// A variable of 12 bytes, with others around it.
TEST_F(MemcheckTest, VariablesOfAModuleAreBuffers) {
  const std::string ptx = R"(
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .b8 before[12];
.global .align 4 .b8 table[12];
.global .align 4 .b8 behind[12];
.visible .entry k(.param .u64 p_offset, .param .u64 p_good)
{
    .reg .b64 %a, %offset;
    .reg .b32 %r0;
    ld.param.u64 %offset, [p_offset];
    mov.u64 %a, table;
    add.u64 %a, %a, %offset;
    ld.global.u32 %r0, [%a];
    st.global.u32 [%a], %r0;
    ret;
})";
  const auto executable = Load(ptx);
  for (const uint64_t offset : {0, 4, 8}) {
    const LaunchOutcome outcome = Run(*executable, offset);
    EXPECT_EQ(outcome.result, CUDA_SUCCESS) << outcome.message;
  }
  ExpectText(Run(*executable, 12),
             "right behind the end of the variable table of 12 bytes");
  ExpectText(Run(*executable, uint64_t{0} - 4),
             "4 bytes before the start of the variable table of 12 bytes");
}

TEST_F(MemcheckTest, AVariableByItsNameIsCheckedAsWell) {
  const std::string ptx = R"(
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .b8 table[12];
.visible .entry k(.param .u64 p_a, .param .u64 p_b)
{
    .reg .b32 %r0;
    ld.global.u32 %r0, [table+8];
    st.global.u32 [table+12], %r0;
    ret;
})";
  const LaunchOutcome outcome = Run(*Load(ptx), 0);
  ExpectIllegal(outcome, "by name");
  ExpectText(outcome, "right behind the end of the variable table");
}

// Without memcheck, shared memory ends at the end of a page.
TEST_F(MemcheckTest, SharedMemoryEndsWithItsLastByte) {
  const std::string ptx = R"(
.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 ours[];
.visible .entry k(.param .u64 p_offset, .param .u64 p_good)
{
    .reg .b64 %a, %offset;
    .reg .b32 %at, %r0;
    ld.param.u64 %offset, [p_offset];
    cvt.u32.u64 %at, %offset;
    mov.u32 %r0, ours;
    add.u32 %at, %at, %r0;
    st.shared.u32 [%at], %r0;
    ret;
})";
  const auto executable = Load(ptx);
  EXPECT_EQ(Run(*executable, 96, kLanes, 100).result, CUDA_SUCCESS);
  const LaunchOutcome outcome = Run(*executable, 100, kLanes, 100);
  ExpectIllegal(outcome, "shared");
  ExpectText(outcome,
             "access to byte 100 of shared memory, of which the block has 100");
  EXPECT_EQ(Run(*executable, 0, kLanes, 0).result, CUDA_ERROR_ILLEGAL_ADDRESS);
  ExpectIllegal(Run(*executable, uint64_t{0} - 4, kLanes, 100), "in front");
}

// The table forgets the oldest freed buffers and their parts, so that it does
// not grow while a program allocates and frees for hours.
TEST_F(MemcheckTest, ManyFreedBuffersAreForgotten) {
  auto first = BufferEntry::Make(place(), 1);
  BufferTable::Get()->AddPart(place(), 1);
  first.reset();
  for (uint64_t i = 1; i <= 1 << 16; ++i) {
    BufferEntry::Make(place() + 2 * i, 1).reset();
  }
  EXPECT_FALSE(absl::StrContains(BufferTable::Get()->Describe(place(), 1),
                                 "that was freed"));
  EXPECT_TRUE(absl::StrContains(
      BufferTable::Get()->Describe(place() + (2 << 16), 1), "that was freed"));
}

}  // namespace
}  // namespace holdfast::software
