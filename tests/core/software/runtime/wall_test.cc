// SPDX-License-Identifier: Apache-2.0
//
// Kernels that try to leave the window: by every kind of access, with every
// kind of address, and through the functions of the runtime. Each must end with
// the fault that a GPU has for an illegal address, and touch nothing. The heap
// and the stack of this program lie outside of the window, as an executor's do.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/software/abi/window.h"
#include "core/software/runtime/executable.h"
#include "gtest/gtest.h"
#include "tests/core/software/runtime/access_program.h"

namespace holdfast::software {
namespace {

std::unique_ptr<Executable> LoadOrNull(const std::string& ptx,
                                       std::string* log) {
  std::unique_ptr<Executable> executable;
  Executable::Load(ptx, &executable, log);
  return executable;
}

std::unique_ptr<Executable> Load(const std::string& ptx) {
  std::string log;
  auto executable = LoadOrNull(ptx, &log);
  EXPECT_NE(executable, nullptr) << log << "\n" << ptx;
  return executable;
}

LaunchOutcome Launch(Executable* executable, uint64_t bad, uint64_t good,
                     uint32_t lanes = kLanes) {
  LaunchGeometry geometry;
  geometry.block[0] = lanes;
  const uint64_t parameters[] = {bad, good};
  return executable->Launch(0, geometry, parameters, nullptr);
}

// Memory of this process that is none of a kernel's, with a pattern that shows
// whether it was touched.
class Canary {
 public:
  Canary() : bytes_(kBytes, 0xA5) {}

  uint64_t address() const {
    // Aligned as no access needs more.
    return (reinterpret_cast<uint64_t>(bytes_.data()) + kBytes / 2) / 64 * 64;
  }
  bool intact() const {
    return std::all_of(bytes_.begin(), bytes_.end(),
                       [](uint8_t byte) { return byte == 0xA5; });
  }

 private:
  static constexpr size_t kBytes = 1 << 16;
  std::vector<uint8_t> bytes_;
};

// All that an attacker would like to reach, and the ends of what he may.
// Multiples of 16.
std::vector<std::pair<std::string, uint64_t>> BadAddresses(
    const Canary& canary) {
  const KernelWindow& window = GetKernelWindow();
  const auto of = [](const void* pointer) {
    return reinterpret_cast<uint64_t>(pointer) / 16 * 16;
  };
  static int in_the_program = 1;
  std::vector<std::pair<std::string, uint64_t>> list = {
      {"null", 0},
      {"near null", 16},
      {"the heap", canary.address()},
      {"the stack", of(__builtin_frame_address(0))},
      {"environ", of(&environ)},
      {"what environ points at", of(environ)},
      {"libc's code", of(reinterpret_cast<const void*>(&std::puts))},
      {"the program's data", of(&in_the_program)},
      {"the program's code", of(reinterpret_cast<const void*>(&LineOf))},
      {"below the window", window.base - 16},
      {"a page below it", window.base - 4096},
      {"below the guard", window.base - kWindowGuardBytes - 16},
      {"the window's first byte", window.base},
      {"its last bytes", window.base + window.size - 16},
      {"behind it", window.base + window.size},
      {"behind the guard", window.base + window.size + kWindowGuardBytes},
      {"no address of x86", 0xbad0'0000'0000'0000},
      {"the last one", ~uint64_t{15}},
  };
  for (int bit = 41; bit < 64; bit += 3) {
    list.emplace_back("the heap, with bit " + std::to_string(bit),
                      canary.address() ^ (uint64_t{1} << bit));
  }
  return list;
}

class WallTest : public testing::Test {
 protected:
  ~WallTest() override {
    EXPECT_TRUE(canary_.intact());
    ExpectKernelsRun();
  }

  uint64_t good() const {
    return reinterpret_cast<uint64_t>(memory_->data()) + 4096;
  }

  void ExpectIllegal(const LaunchOutcome& outcome, const std::string& what) {
    EXPECT_EQ(outcome.result, CUDA_ERROR_ILLEGAL_ADDRESS)
        << what << ": " << outcome.message;
    EXPECT_NE(outcome.message.find("kernel k, block (0,0,0), thread"),
              std::string::npos)
        << what << ": " << outcome.message;
  }

  // The same, of the instruction in `line` of the PTX.
  void ExpectIllegalAt(const LaunchOutcome& outcome, int line,
                       const std::string& what) {
    ExpectIllegal(outcome, what);
    EXPECT_NE(outcome.message.find("PTX line " + std::to_string(line) + ":"),
              std::string::npos)
        << what << ": " << outcome.message;
  }

  void ExpectKernelsRun() {
    auto store =
        Load(std::string(kBegin) + "st.global.u32 [%good], %lane;\nret;\n}\n");
    const LaunchOutcome outcome = Launch(store.get(), 0, good());
    EXPECT_EQ(outcome.result, CUDA_SUCCESS) << outcome.message;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      EXPECT_EQ(*reinterpret_cast<uint32_t*>(good() + 16 * lane), lane);
    }
  }

  const Canary canary_;
  const std::unique_ptr<WindowMemory> memory_ = WindowMemory::Map(1 << 16);
};

TEST_F(WallTest, EveryAccessToEveryBadAddressFaults) {
  const auto addresses = BadAddresses(canary_);
  for (const Access& access : kAccesses) {
    const std::string ptx = Program(access, Way::kUniform);
    auto program = Load(ptx);
    ASSERT_NE(program, nullptr);
    ASSERT_EQ(Launch(program.get(), good(), good()).result, CUDA_SUCCESS)
        << access.text;
    const int line = LineOf(ptx, access.text);
    for (const auto& [name, address] : addresses) {
      ExpectIllegalAt(Launch(program.get(), address, good()), line,
                      std::string(access.text) + " at " + name);
    }
  }
}

// Code for half of the accesses takes long enough.
TEST_F(WallTest, EveryWayToABadAddressFaults) {
  const KernelWindow& window = GetKernelWindow();
  for (size_t i = 0; i < std::size(kAccesses); i += 2) {
    const Access& access = kAccesses[i];
    for (const Way way : kWays) {
      const std::string ptx = Program(access, way);
      auto program = Load(ptx);
      ASSERT_NE(program, nullptr);
      const int line = LineOf(ptx, access.text);
      for (const uint64_t address :
           {canary_.address(), window.base - 16, window.base + window.size,
            window.base + window.size - 16, ~uint64_t{15}, uint64_t{0}}) {
        for (const uint32_t lanes : {kLanes, kLanes - 1}) {
          ExpectIllegalAt(Launch(program.get(), address, good(), lanes), line,
                          std::string(access.text) + " way " +
                              std::to_string(static_cast<int>(way)) + " at " +
                              std::to_string(address));
        }
      }
    }
  }
}

TEST_F(WallTest, TheLaneWithTheBadAddressIsNamed) {
  for (const Way way :
       {Way::kOneLane, Way::kGuarded, Way::kParted, Way::kLoop}) {
    for (const Access& access : {kAccesses[2], kAccesses[16], kAccesses[24]}) {
      auto program = Load(Program(access, way));
      const LaunchOutcome outcome =
          Launch(program.get(), canary_.address(), good());
      EXPECT_NE(outcome.message.find("thread (5,0,0), PTX line"),
                std::string::npos)
          << outcome.message;
      char hex[32];
      std::snprintf(hex, sizeof hex, "0x%llx",
                    static_cast<unsigned long long>(canary_.address()));
      EXPECT_NE(outcome.message.find(hex), std::string::npos)
          << outcome.message;
    }
  }
}

// Lanes that stay away may have any address.
TEST_F(WallTest, LanesThatStayAwayDoNotFault) {
  for (const Access& access : kAccesses) {
    std::string ptx = kBegin;
    ptx += "selp.b64 %a, %bad, %good, %p1;\nnot.pred %p1, %p1;\n" +
           ToSpace(access) + "@%p1 " + access.text;
    auto program = Load(ptx + "\nret;\n}\n");
    ASSERT_NE(program, nullptr);
    for (const uint64_t bad : {uint64_t{0}, canary_.address(), ~uint64_t{0}}) {
      const LaunchOutcome outcome = Launch(program.get(), bad, good());
      EXPECT_EQ(outcome.result, CUDA_SUCCESS)
          << access.text << ": " << outcome.message;
    }
  }
}

// An array that begins where memory does: the first lanes, which would lie in
// front of it, stay away.
TEST_F(WallTest, NeighboursAtTheEndsOfTheWindowMayTakePart) {
  const KernelWindow& window = GetKernelWindow();
  auto* first = reinterpret_cast<uint32_t*>(window.base);
  // Arenas lie there, which the program maps, or the device's memory, which the
  // driver does; nobody has.
  std::unique_ptr<AddressRange> range;
  if (!HasArenaRange()) {
    range = GetAddressSpace().Reserve(kPageSize, kPageSize, window.base);
    ASSERT_NE(range, nullptr);
    ASSERT_EQ(range->address(), window.base);
  }
  ASSERT_EQ(mprotect(first, kPageSize, PROT_READ | PROT_WRITE), 0);
  auto program = Load(std::string(kBegin) + R"(
    mul.wide.u32 %step, %lane, 4;
    add.u64 %a, %bad, %step;
    setp.ge.u32 %p2, %lane, 5;
    @%p2 st.global.u32 [%a], %lane;
    ret;
})");
  const LaunchOutcome outcome =
      Launch(program.get(), window.base - 5 * 4, good());
  EXPECT_EQ(outcome.result, CUDA_SUCCESS) << outcome.message;
  EXPECT_EQ(first[0], 5u);
  EXPECT_EQ(first[26], 31u);
  mprotect(first, kPageSize, PROT_NONE);
}

// One register, tested once, with offsets that lead away from it.
TEST_F(WallTest, OffsetsFromATestedRegisterLeadNowhere) {
  for (const char* offset : {"2147483632", "-2147483648", "4294967296",
                             "-4294967296", "1099511627776", "-1099511627776",
                             "-123145302310912", "9223372036854775792"}) {
    for (const char* form :
         {"ld.global.u64 %d1, [%good];\nld.global.u64 %d0, [%good+OFFSET];",
          "ld.global.u32 %r0, [%good];\nst.global.u32 [%good+OFFSET], %r9;",
          "st.global.v2.u64 [%bad], {%d9, %d9};\n"
          "atom.global.add.u64 %d1, [%bad+OFFSET], %d9;",
          "ld.global.u32 %r0, [%bad+OFFSET];"}) {
      std::string text = form;
      text.replace(text.find("OFFSET"), 6, offset);
      const size_t plus = text.find("+-");
      if (plus != std::string::npos) text.erase(plus, 1);
      std::string log;
      auto program = LoadOrNull(kBegin + text + kEnd, &log);
      if (program == nullptr) continue;  // an offset that PTX does not take
      ExpectIllegal(Launch(program.get(), good(), good()), text);
    }
  }
}

// The address that wraps to a good one is good; only that.
TEST_F(WallTest, SumsOfRegisterAndOffsetAreTestedAsSums) {
  auto program = Load(std::string(kBegin) +
                      "ld.global.u32 %r0, [%bad+2147483632];\n"
                      "st.global.u32 [%good], %r0;\nret;\n}\n");
  *reinterpret_cast<uint32_t*>(good() + 1024) = 77;
  EXPECT_EQ(Launch(program.get(), good() + 1024 - 2147483632, good()).result,
            CUDA_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<uint32_t*>(good()), 77u);
  ExpectIllegal(Launch(program.get(), canary_.address() - 2147483632, good()),
                "sum");
}

TEST_F(WallTest, SharedMemoryEndsAtItsArena) {
  for (const char* text :
       {"ld.shared.u8 %r0, [%r1];", "ld.shared.u32 %r0, [%r1];",
        "ld.shared.v4.u32 {%r0, %r3, %r4, %r5}, [%r1];",
        "st.shared.u8 [%r1], %r9;", "st.shared.u64 [%r1], %d9;",
        "st.volatile.shared.u32 [%r1], %r9;",
        "atom.shared.add.u32 %r0, [%r1], %r9;",
        "atom.shared.cas.b64 %d0, [%r1], %d9, %d9;",
        "red.shared.max.u32 [%r1], %r9;",
        "cp.async.ca.shared.global [%r1], [%good], 4;",
        "mbarrier.init.shared.b64 [%r1], 1;"}) {
    for (const char* lane_step :
         {"0", "4", "-16", "48", "65536", "268435456"}) {
      auto program = Load(std::string(kBegin) +
                          "cvt.u32.u64 %r1, %bad;\nsub.u32 %r2, %lane, 5;\n"
                          "mad.lo.s32 %r1, %r2, " +
                          lane_step + ", %r1;\n" + text + kEnd);
      ASSERT_NE(program, nullptr);
      for (const uint32_t offset :
           {0xfffffff0u, 0xffff0000u, 0x80000000u, 0x7ffffff0u, 0x40000000u,
            0x100000u, 0x40000u, 228u << 10, 0xfff00000u}) {
        if (std::string(text).find("u8") == std::string::npos &&
            std::string(lane_step) == "4" && offset != 0x40000000u) {
          continue;  // not aligned for all of them
        }
        const LaunchOutcome outcome = Launch(program.get(), offset, good());
        ExpectIllegal(outcome, std::string(text) + " at " +
                                   std::to_string(offset) + " step " +
                                   lane_step);
      }
    }
  }
}

TEST_F(WallTest, VariablesWithOffsetsEndWhereTheyDo) {
  for (const char* text :
       {"ld.shared.u32 %r0, [ours-16];", "ld.shared.u32 %r0, [ours+262144];",
        "st.shared.u32 [ours+2147483632], %r9;",
        "st.shared.u32 [ours-2147483648], %r9;",
        "ld.local.u32 %r0, [mine+2147483632];",
        "st.local.u32 [mine-2147483648], %r9;",
        "ld.param.u32 %r0, [p_bad+2147483632];",
        "ld.param.u32 %r0, [p_bad-2147483648];",
        // A variable of one memory in an instruction for another.
        "ld.global.u32 %r0, [ours+131072];", "ld.global.u32 %r0, [p_bad];",
        "ld.global.u32 %r0, [p_bad+4194304];", "st.shared.u32 [mine], %r9;",
        "ld.param.u32 %r0, [mine];", "st.global.u32 [4194304], %r9;"}) {
    std::string log;
    auto program = LoadOrNull(std::string(kBegin) + text + kEnd, &log);
    if (program == nullptr) continue;  // refused: as good
    ExpectIllegal(Launch(program.get(), 0, good()), text);
  }
}

// Parameters by their generic address, and what lies beside them.
TEST_F(WallTest, ParametersLieInTheWindow) {
  auto program = Load(std::string(kBegin) + R"(
    mov.u64 %a, p_bad;
    cvta.param.u64 %a, %a;
    st.global.u64 [%good], %a;
    ret;
})");
  ASSERT_EQ(Launch(program.get(), 1, good()).result, CUDA_SUCCESS);
  const uint64_t block = *reinterpret_cast<uint64_t*>(good());
  EXPECT_TRUE(GetKernelWindow().Contains(block, 16));
  // From the parameter space: an offset to the heap.
  auto load = Load(std::string(kBegin) + R"(
    mov.u64 %a, p_bad;
    cvta.param.u64 %d1, %a;
    sub.u64 %a, %bad, %d1;
    ld.param.u32 %r0, [%a];
)" + kEnd);
  ExpectIllegal(Launch(load.get(), canary_.address(), good()), "ld.param");
  auto walk = Load(Program({"ld.u64 %d0, [%a];", 8}, Way::kUniform));
  // In front of the page, and behind all pages of a place.
  ExpectIllegal(Launch(walk.get(), block / 4096 * 4096 - 8, good()),
                "in front");
  ExpectIllegal(Launch(walk.get(), block + (size_t{40} << 10), good()),
                "behind");
}

TEST_F(WallTest, CopiesOfNothingMayComeFromAnywhere) {
  auto program = Load(std::string(kBegin) +
                      "selp.b32 %r1, 4, 0, %p1;\n"
                      "cp.async.ca.shared.global [%own], [%bad], 4, %r1;\n"
                      "ret;\n}\n");
  ExpectIllegal(Launch(program.get(), canary_.address(), good()),
                "lane 5 copies");
  auto nothing = Load(std::string(kBegin) +
                      "mov.u32 %r1, 0;\n"
                      "cp.async.ca.shared.global [%own], [%bad], 4, %r1;\n"
                      "ret;\n}\n");
  EXPECT_EQ(Launch(nothing.get(), canary_.address(), good()).result,
            CUDA_SUCCESS);
  EXPECT_EQ(Launch(nothing.get(), 0, good()).result, CUDA_SUCCESS);
}

// One register, as an offset into shared memory and as an address: what is
// found of one of them is not known of the other.
TEST_F(WallTest, ARegisterThatIsTwoAddressesIsTestedTwice) {
  const std::string nothing =
      "mov.u32 %r1, 0;\ncvt.u64.u32 %a, %own;\n"
      "cp.async.cg.shared.global [%a], [%a], 16, %r1;\n";
  auto zeros = Load(kBegin + nothing +
                    "ld.shared.b64 %d0, [%a];\nst.global.u64 [%good], %d0;\n"
                    "ret;\n}\n");
  *reinterpret_cast<uint64_t*>(good()) = 77;
  const LaunchOutcome outcome = Launch(zeros.get(), 0, good());
  EXPECT_EQ(outcome.result, CUDA_SUCCESS) << outcome.message;
  EXPECT_EQ(*reinterpret_cast<uint64_t*>(good()), 0u);
  const std::string access = "ld.global.b64 %d0, [%a];";
  const std::string ptx = kBegin + nothing + access + kEnd;
  ExpectIllegalAt(Launch(Load(ptx).get(), 0, good()), LineOf(ptx, access),
                  access);
}

TEST_F(WallTest, KernelsWithoutInstructionsEnd) {
  for (const char* body : {"", ".reg .b32 a;", ".reg .b32 a; L:"}) {
    auto program =
        Load(std::string(".version 8.0\n.target sm_90\n.address_size 64\n"
                         ".visible .entry k(.param .u64 p, .param .u64 q) {") +
             body + "}\n");
    for (const uint32_t lanes : {kLanes, kLanes + 1}) {
      const LaunchOutcome outcome = Launch(program.get(), 0, 0, lanes);
      EXPECT_EQ(outcome.result, CUDA_SUCCESS) << outcome.message;
    }
  }
}

TEST_F(WallTest, PrefetchesGoAnywhereAndDoNothing) {
  auto program = Load(std::string(kBegin) +
                      "prefetch.global.L2 [%bad];\nprefetchu.L1 [%bad];\n"
                      "ret;\n}\n");
  for (const auto& [name, address] : BadAddresses(canary_)) {
    EXPECT_EQ(Launch(program.get(), address, good()).result, CUDA_SUCCESS)
        << name;
  }
}

// Functions of the runtime, as they are declared to device code.
std::string Calling(const std::string& call) {
  return std::string(R"(
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func free(.param .b64 p);
.global .align 8 .b8 text[8] = {37, 115, 37, 100, 10, 0, 0, 0};
.visible .entry k(.param .u64 p_bad, .param .u64 p_good)
{
    .reg .b64 %bad, %good, %text;
    .reg .pred %p;
    ld.param.u64 %bad, [p_bad];
    ld.param.u64 %good, [p_good];
    mov.u64 %text, text;
    st.global.u64 [%good], %bad;
    st.global.u64 [%good+8], %bad;
    )") + call +
         "\nret;\n}\n";
}

std::string Printf(const char* format, const char* arguments) {
  return Calling(std::string("{ .param .b64 f; .param .b64 a; .param .b32 r;\n"
                             "st.param.b64 [f], ") +
                 format + ";\nst.param.b64 [a], " + arguments +
                 ";\ncall.uni (r), vprintf, (f, a); }");
}

TEST_F(WallTest, TheRuntimeReadsNothingOutsideForAKernel) {
  auto format = Load(Printf("%bad", "%good"));
  auto arguments = Load(Printf("%text", "%bad"));
  auto string = Load(Printf("%text", "%good"));
  auto free = Load(Calling(
      "{ .param .b64 p; st.param.b64 [p], %bad;\ncall.uni free, (p); }"));
  for (const auto& [name, address] : BadAddresses(canary_)) {
    testing::internal::CaptureStdout();
    if (address != 0) {
      ExpectIllegal(Launch(format.get(), address, good()), "format at " + name);
    }
    ExpectIllegal(Launch(arguments.get(), address, good()),
                  "arguments at " + name);
    // A null string has a text of its own, as on a GPU.
    if (address != 0) {
      ExpectIllegal(Launch(string.get(), address, good()), "string at " + name);
    }
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    if (address == 0 || GetKernelWindow().Contains(address, 1)) continue;
    ExpectIllegal(Launch(free.get(), address, good()), "free of " + name);
  }
}

// Calls through the stack in a thread's local memory, whose contents a kernel
// may change: it goes astray in its own code, and nowhere else.
TEST_F(WallTest, ARuinedCallStackStaysInside) {
  auto program = Load(R"(
.version 8.0
.target sm_90
.address_size 64
.func deep(.param .b64 p, .param .b32 n)
{
    .reg .b64 %p;
    .reg .b32 %n, %i;
    .reg .pred %q, %z;
    .local .align 8 .b8 here[16];
    .reg .b64 %here;
    ld.param.u64 %p, [p];
    ld.param.u32 %n, [n];
    setp.eq.u32 %z, %n, 0;
    @%z bra RUIN;
    sub.u32 %n, %n, 1;
    { .param .b64 a; .param .b32 b;
      st.param.b64 [a], %p; st.param.b32 [b], %n;
      call.uni deep, (a, b); }
    ret;
RUIN:
    mov.u64 %here, here;
    mov.u32 %i, 0;
AGAIN:
    st.local.u64 [%here-64], %p;
    st.local.u64 [%here+16], %p;
    sub.u64 %here, %here, 8;
    add.u32 %i, %i, 1;
    setp.lt.u32 %q, %i, 40;
    @%q bra AGAIN;
    ret;
}
.visible .entry k(.param .u64 p_bad, .param .u64 p_good)
{
    .reg .b64 %bad;
    ld.param.u64 %bad, [p_bad];
    { .param .b64 a; .param .b32 b;
      st.param.b64 [a], %bad; st.param.b32 [b], 5;
      call.uni deep, (a, b); }
    ret;
}
)");
  ASSERT_NE(program, nullptr);
  for (const auto& [name, address] : BadAddresses(canary_)) {
    LaunchGeometry geometry;
    geometry.block[0] = kLanes;
    const uint64_t parameters[] = {address, good()};
    // It may run for ever.
    std::atomic<bool> cancel{false};
    std::thread end([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      cancel = true;
    });
    program->Launch(0, geometry, parameters, &cancel);
    end.join();
  }
}

// Draws addresses near what matters, and anywhere.
class AddressSource {
 public:
  AddressSource(const Canary& canary, uint64_t good)
      : places_(BadAddresses(canary)), good_(good) {}

  uint64_t Next() {
    switch (random_() % 4) {
      case 0:
        return random_();
      case 1:
        return places_[random_() % places_.size()].second + random_() % 256 -
               128;
      case 2:
        // One or two bits away from a good one.
        return Good() ^ (uint64_t{1} << random_() % 64) ^
               (uint64_t{random_() % 2} << random_() % 64);
      default:
        return Good();
    }
  }
  uint64_t Any() { return random_(); }

 private:
  uint64_t Good() { return good_ + random_() % 16 * 64; }

  const std::vector<std::pair<std::string, uint64_t>> places_;
  const uint64_t good_;
  std::mt19937_64 random_{20261122};
};

TEST_F(WallTest, RandomAddressesNeverReachAnythingElse) {
  AddressSource source(canary_, good());
  auto* table = reinterpret_cast<uint64_t*>(memory_->data());
  const KernelWindow& window = GetKernelWindow();
  for (const Access& access : kAccesses) {
    // Each thread takes its own address, and odd ones come by another way.
    std::string ptx = kBegin;
    ptx +=
        "mad.wide.u32 %a, %lane, 8, %bad;\nld.global.u64 %a, [%a];\n"
        "setp.ne.u64 %p2, %a, 0;\n@%p2 ";
    ptx += access.text;
    auto program = Load(ptx + "\nret;\n}\n");
    ASSERT_NE(program, nullptr);
    for (int round = 0; round < 100; ++round) {
      bool outside = false;
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const uint64_t bytes = static_cast<uint64_t>(access.bytes);
        table[lane] = source.Any() % 8 == 0 ? source.Next() : 0;
        table[lane] -= table[lane] % bytes;
        outside = outside ||
                  (table[lane] != 0 && !window.Contains(table[lane], bytes));
      }
      const LaunchOutcome outcome =
          Launch(program.get(), reinterpret_cast<uint64_t>(table), good());
      if (outside) {
        ExpectIllegal(outcome, access.text);
      } else {
        EXPECT_TRUE(outcome.result == CUDA_SUCCESS ||
                    outcome.result == CUDA_ERROR_ILLEGAL_ADDRESS ||
                    outcome.result == CUDA_ERROR_ILLEGAL_INSTRUCTION)
            << outcome.message;
      }
    }
    ASSERT_TRUE(canary_.intact()) << access.text;
  }
}

}  // namespace
}  // namespace holdfast::software
