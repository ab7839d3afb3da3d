// SPDX-License-Identifier: Apache-2.0
//
// Each emitter on a small kernel: how many LLVM instructions of a kind there
// are where it matters, and that the function is well-formed.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/software/jit/full_path_exits.h"
#include "core/software/jit/function_emitters.h"
#include "core/software/jit/kernel_emitter.h"
#include "core/software/jit/launch_values.h"
#include "core/software/jit/object_writer.h"
#include "core/software/ptx/parser.h"
#include "core/software/transform/lower_kernel.h"
#include "gtest/gtest.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Verifier.h"

namespace holdfast::software::jit {
namespace {

using analysis::Mode;
using I = llvm::Instruction;

constexpr Cpu kWide = {16, false};
constexpr Cpu kNarrow = {8, false};

// A kernel with registers %r (b32), %d (b64), %p (pred) and a parameter.
ptx::ParseResult ParsedKernel(const std::string& body) {
  ptx::ParseResult parsed = ptx::Parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".entry k(.param .u64 a) {\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n"
      ".reg .pred %p<9>;\n" +
      body + "exit;\n}\n");
  EXPECT_TRUE(parsed.ok()) << parsed.errors[0];
  return parsed;
}

// Such a kernel, and emitters of one of its functions.
class Emitters {
 public:
  explicit Emitters(const std::string& body, Mode mode = Mode::kFull,
                    const Cpu& cpu = kWide)
      : parsed_(ParsedKernel(body)),
        kernel_(lower::LowerKernel(parsed_.module, parsed_.module.functions[0],
                                   {})),
        module_("test", context_),
        b_(&module_, cpu.lanes),
        facts_(kernel_, kBlock, cpu.lanes),
        layout_(kernel_.blocks.size(),
                parsed_.module.functions[0].registers.size()),
        emitters_({.b = b_,
                   .kernel = kernel_,
                   .facts = facts_,
                   .layout = layout_,
                   .error = error_,
                   .block = kBlock,
                   .cpu = cpu,
                   .mode = mode}) {
    llvm::Type* ptr = b_.getPtrTy();
    EnterFunction(&emitters_.context,
                  b_.NewFunction("f", b_.getVoidTy(), {ptr, ptr, ptr}));
    DescribeAccesses(emitters_.context.function);
    emitters_.context.frame = emitters_.context.function->getArg(2);
    emitters_.context.warp = b_.I32(0);
    LoadLaunchValues(&emitters_.context);
    if (mode == Mode::kMasked) lanes_.exec = b_.AllocaAtEntry(b_.getInt32Ty());
  }

  FunctionEmitters& operator*() { return emitters_; }
  FunctionEmitters* operator->() { return &emitters_; }
  Builder& b() { return b_; }
  const lower::Kernel& kernel() const { return kernel_; }
  const KernelFacts& facts() const { return facts_; }
  const ActiveLanes& lanes() const { return lanes_; }
  const std::optional<std::string>& error() const { return error_; }
  Step StepAt(size_t i) const { return {kernel_.function->body[i], 0, lanes_}; }

  // Emits all instructions in front of the first branch.
  void EmitAll() {
    for (size_t i = 0; i + 1 < kernel_.function->body.size(); ++i) {
      emitters_.instructions.Emit(StepAt(i));
    }
  }
  size_t Count(const std::function<bool(const I&)>& fits) {
    size_t count = 0;
    for (const I& i : llvm::instructions(emitters_.context.function)) {
      if (fits(i)) ++count;
    }
    return count;
  }
  size_t Count(unsigned opcode) {
    return Count([&](const I& i) { return i.getOpcode() == opcode; });
  }
  size_t CountCalls(const std::string& prefix) {
    return Count([&](const I& i) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
      return call != nullptr && call->getCalledFunction() != nullptr &&
             call->getCalledFunction()->getName().starts_with(prefix);
    });
  }
  size_t CountBlocks(const std::string& prefix) {
    size_t count = 0;
    for (const llvm::BasicBlock& block : *emitters_.context.function) {
      if (block.getName().starts_with(prefix)) ++count;
    }
    return count;
  }
  bool IsWellFormed() {
    b_.CreateRetVoid();
    return !error_ &&
           !llvm::verifyFunction(*emitters_.context.function, &llvm::errs());
  }

 private:
  static constexpr analysis::BlockShape kBlock = {128, 1, 1};

  const ptx::ParseResult parsed_;
  const lower::Kernel kernel_;
  std::optional<std::string> error_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  Builder b_;
  const KernelFacts facts_;
  WarpFrame layout_;
  FunctionEmitters emitters_;
  ActiveLanes lanes_;
};

// %d1: a uniform address. %d2: a lane's own, `scale` bytes further each.
std::string Addresses(int scale) {
  return "ld.param.u64 %d1, [a];\nmov.u32 %r1, %tid.x;\n"
         "mul.wide.u32 %d2, %r1, " +
         std::to_string(scale) + ";\nadd.u64 %d2, %d1, %d2;\n";
}

size_t VectorLoads(Emitters& emitters) {
  return emitters.Count([](const I& i) {
    return llvm::isa<llvm::LoadInst>(i) && i.getType()->isVectorTy() &&
           !llvm::isa<llvm::AllocaInst>(i.getOperand(0));
  });
}

struct NeverOverflows : OverflowCheck {
  void CheckNoOverflow(const Step&, const Value&) override { ++checks; }
  int checks = 0;
};

TEST(MemoryEmitterTest, LanesSideBySideLoadAVectorAChunk) {
  for (const Cpu& cpu : {kWide, kNarrow}) {
    Emitters emitters(Addresses(4) + "ld.global.u32 %r2, [%d2];\n", Mode::kFull,
                      cpu);
    NeverOverflows check;
    emitters->instructions.set_overflow_check(&check);
    emitters.EmitAll();
    EXPECT_EQ(VectorLoads(emitters), 32u / cpu.lanes);
    EXPECT_EQ(check.checks, 1);  // mul.wide of an affine index
    EXPECT_TRUE(emitters.IsWellFormed());
  }
}

TEST(MemoryEmitterTest, LanesFarApartGather) {
  Emitters emitters(Addresses(12) + "ld.global.u32 %r2, [%d2];\n");
  NeverOverflows check;
  emitters->instructions.set_overflow_check(&check);
  emitters.EmitAll();
  EXPECT_EQ(emitters.CountCalls("llvm.masked.gather"), 2u);
  EXPECT_TRUE(emitters.IsWellFormed());
}

TEST(MemoryEmitterTest, AffineIndicesAreRefusedWithoutAnOverflowCheck) {
  Emitters emitters(Addresses(4));
  emitters.EmitAll();
  EXPECT_TRUE(emitters.error().has_value());
}

TEST(AddressesTest, OneTestServesNeighboursOfARegister) {
  Emitters once("ld.param.u64 %d1, [a];\nld.global.u64 %d3, [%d1];\n");
  once.EmitAll();
  Emitters twice(
      "ld.param.u64 %d1, [a];\nld.global.u64 %d3, [%d1];\n"
      "ld.global.u64 %d4, [%d1+64];\n");
  twice.EmitAll();
  EXPECT_EQ(once.CountBlocks("bad_address"), 1u);
  EXPECT_EQ(twice.CountBlocks("bad_address"), 1u);
}

TEST(AddressesTest, AWrittenRegisterIsTestedAgain) {
  Emitters emitters(
      "ld.param.u64 %d1, [a];\nld.global.u64 %d3, [%d1];\n"
      "add.u64 %d1, %d1, 64;\nld.global.u64 %d4, [%d1];\n");
  emitters.EmitAll();
  EXPECT_EQ(emitters.CountBlocks("bad_address"), 2u);
}

TEST(AddressesTest, AFarOffsetIsTestedByItself) {
  Emitters emitters(
      "ld.param.u64 %d1, [a];\nld.global.u64 %d3, [%d1];\n"
      "ld.global.u64 %d4, [%d1+-2147483656];\n");
  emitters.EmitAll();
  EXPECT_EQ(emitters.CountBlocks("bad_address"), 2u);
}

// One register, for an address in global memory and one in shared memory.
TEST(AddressesTest, ATestTellsNothingOfTheRegistersOtherAddress) {
  for (const char* valid : {"", ", %r2"}) {
    Emitters emitters(
        std::string("ld.param.u64 %d1, [a];\nmov.u32 %r2, 0;\n"
                    "cp.async.cg.shared.global [%d1], [%d1], 16") +
        valid + ";\nld.shared.b64 %d3, [%d1];\nld.global.b64 %d4, [%d1];\n");
    for (size_t i = 0; i < 3; ++i) {
      emitters->instructions.Emit(emitters.StepAt(i));
    }
    for (const auto& [index, tested] : (*emitters).notes.tested) {
      EXPECT_FALSE(tested.start.parts.empty()) << index;
      EXPECT_EQ(tested.space, ptx::Space::kShared) << index;
    }
    for (size_t i = 3; i < 5; ++i) {
      emitters->instructions.Emit(emitters.StepAt(i));
    }
    EXPECT_EQ(emitters.CountBlocks("bad_address"), *valid == '\0' ? 3u : 4u);
    EXPECT_TRUE(emitters.IsWellFormed());
  }
}

TEST(AtomicEmitterTest, OnePlaceAndNoResultIsOneOperation) {
  Emitters emitters("ld.param.u64 %d1, [a];\nred.global.add.u32 [%d1], 1;\n");
  emitters.EmitAll();
  EXPECT_EQ(emitters.Count(I::AtomicRMW), 1u);
  EXPECT_EQ(emitters.CountCalls("llvm.vector.reduce.add"), 1u);
  EXPECT_TRUE(emitters.IsWellFormed());
}

TEST(AtomicEmitterTest, PlacesOfTheirOwnAreUnrolledOrALoop) {
  NeverOverflows check;
  Emitters unrolled(Addresses(4) + "red.global.add.u32 [%d2], 1;\n");
  unrolled->instructions.set_overflow_check(&check);
  unrolled.EmitAll();
  EXPECT_EQ(unrolled.Count(I::AtomicRMW), 32u);
  Emitters loop(Addresses(4) +
                "atom.global.add.u32 %r2, [%d2], 1;\nadd.u32 %r3, %r2, 1;\n");
  loop->instructions.set_overflow_check(&check);
  loop.EmitAll();
  EXPECT_EQ(loop.Count(I::AtomicRMW), 1u);
  EXPECT_EQ(loop.CountBlocks("lanes"), 2u);  // and "lanes.done"
  EXPECT_TRUE(loop.IsWellFormed());
}

TEST(AtomicEmitterTest, SharedMemoryNeedsNoAtomicInstruction) {
  Emitters emitters("mov.u32 %r1, 64;\nred.shared.max.u32 [%r1], 1;\n");
  emitters.EmitAll();
  EXPECT_EQ(emitters.Count(I::AtomicRMW), 0u);
  EXPECT_EQ(emitters.CountCalls("llvm.vector.reduce.umax"), 1u);
  EXPECT_EQ(emitters.CountBlocks("bad_address"), 1u);
  EXPECT_TRUE(emitters.IsWellFormed());
}

TEST(WarpEmitterTest, AVoteIsArithmeticOnBits) {
  Emitters emitters(
      "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 3;\n"
      "vote.sync.ballot.b32 %r2, %p1, -1;\n");
  for (size_t i = 0; i < 2; ++i)
    emitters->instructions.Emit(emitters.StepAt(i));
  const size_t stores = emitters.Count(I::Store);
  // It is a block of its own, which the emitter does not mind.
  emitters->instructions.Emit(emitters.StepAt(2));
  EXPECT_EQ(emitters.Count(I::Store), stores + 1);  // one number for all lanes
  EXPECT_EQ(emitters.CountCalls("holdfast"), 0u);
  EXPECT_TRUE(emitters.IsWellFormed());
}

TEST(WarpEmitterTest, AShuffleIsAPermutationAChunk) {
  Emitters emitters(
      "mov.u32 %r1, %tid.x;\nshfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\n");
  emitters.EmitAll();
  EXPECT_EQ(emitters.CountCalls("llvm.x86.avx512.vpermi2var"), 2u);
  EXPECT_TRUE(emitters.IsWellFormed());
}

TEST(InstructionEmitterTest, AUniformGuardIsABranchAVaryingOneAMask) {
  Emitters uniform(
      "setp.eq.u32 %p1, %ctaid.x, 3;\n@%p1 mov.u32 %r2, %tid.x;\n");
  (*uniform).context.block_index = {uniform.b().I32(0), uniform.b().I32(0),
                                    uniform.b().I32(0)};
  uniform.EmitAll();
  EXPECT_EQ(uniform.CountBlocks("then"), 1u);
  Emitters varying(
      "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 3;\n"
      "@%p1 mul.lo.u32 %r2, %r1, %r1;\n");
  varying.EmitAll();
  EXPECT_EQ(varying.CountBlocks("then"), 0u);
  EXPECT_GE(varying.Count(I::Select), 2u);  // one a chunk
  EXPECT_TRUE(varying.IsWellFormed());
}

TEST(RegistersTest, MaskedCodeKeepsWhatLeavesABlockInTheFrame) {
  Emitters emitters(
      "mov.u32 %r1, %tid.x;\nL:\nadd.u32 %r1, %r1, 1;\nmul.lo.u32 %r2, %r1, "
      "3;\nsetp.lt.u32 %p1, %r2, 99;\n@%p1 bra L;\n",
      Mode::kMasked);
  const auto in_frame = [&](uint32_t r) {
    return !llvm::isa<llvm::AllocaInst>(
        (*emitters).registers.StorageOf(r, Mode::kMasked)[0].pointer);
  };
  const auto& body = emitters.kernel().function->body;
  EXPECT_TRUE(in_frame(body[1].operands[0].index));   // %r1 crosses
  EXPECT_FALSE(in_frame(body[2].operands[0].index));  // %r2 does not
}

TEST(RegistersTest, AWriteForgetsWhatIsKnownOfItsAddress) {
  Emitters emitters("ld.param.u64 %d1, [a];\n");
  const uint32_t r = emitters.kernel().function->body[0].operands[0].index;
  (*emitters).notes.tested[r].good = true;
  (*emitters).notes.prefetch.offsets[r] = 8;
  emitters.EmitAll();
  EXPECT_FALSE((*emitters).notes.tested.contains(r));
  EXPECT_TRUE((*emitters).notes.prefetch.offsets.empty());
}

TEST(RegistersTest, AKernelWithoutInstructionsHasNoneToClear) {
  const ptx::ParseResult parsed = ptx::Parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".entry k() { .reg .b32 a; }\n");
  ASSERT_TRUE(parsed.ok());
  const lower::Kernel kernel =
      lower::LowerKernel(parsed.module, parsed.module.functions[0], {});
  for (const Part part : {Part::kFull, Part::kDivergent, Part::kOverflow}) {
    llvm::LLVMContext context;
    llvm::Module module("test", context);
    KernelEmitter emitter(&module, kernel, {33, 1, 1}, kWide);
    EXPECT_EQ(emitter.Emit(part), std::nullopt);
    EXPECT_FALSE(llvm::verifyModule(module, &llvm::errs()));
  }
}

// A function has as many places for arrays of registers as one product needs.
size_t BytesOfArrays(const std::string& instruction, int times) {
  std::string body;
  for (int i = 0; i < times; ++i) body += instruction;
  Emitters emitters(body);
  emitters.EmitAll();
  EXPECT_FALSE(emitters.error().has_value());
  size_t bytes = 0;
  emitters.Count([&](const I& i) {
    const auto* place = llvm::dyn_cast<llvm::AllocaInst>(&i);
    if (place != nullptr && place->getAllocatedType()->isArrayTy()) {
      bytes += place->getAllocationSize(i.getDataLayout())->getFixedValue();
    }
    return false;
  });
  return bytes;
}

TEST(RegisterArraysTest, ManyProductsNeedNoMoreStackThanOne) {
  for (const std::string instruction :
       {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1, %r2}, "
        "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r1, %r2};\n",
        "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {%r1, %r2, %r3, "
        "%r4, %r5, %r6, %r7, %r8}, {%r1, %r2}, {%r3, %r4}, {%r1, %r2, %r3, "
        "%r4, %r5, %r6, %r7, %r8};\n",
        "wmma.load.a.sync.aligned.row.m16n16k16.s8 {%r1, %r2}, [%d1];\n"
        "wmma.store.d.sync.aligned.row.m8n8k32.s32 [%d1], {%r1, %r2};\n"}) {
    const size_t bytes = BytesOfArrays(instruction, 1);
    EXPECT_GT(bytes, 0U);
    EXPECT_EQ(BytesOfArrays(instruction, 50), bytes) << instruction;
  }
}

TEST(BarrierEmitterTest, AllLanesTogetherSimplyCallTheRuntime) {
  Emitters emitters("bar.sync 0;\n");
  emitters->barriers.Synchronize(emitters.StepAt(0));
  EXPECT_EQ(emitters.CountCalls("holdfast_barrier_sync"), 1u);
  EXPECT_TRUE(emitters.IsWellFormed());
}

TEST(BarrierEmitterTest, AReductionIsWrittenAfterTheWait) {
  Emitters emitters(
      "setp.eq.u32 %p2, %tid.x, 1;\nbarrier.red.popc.u32 %r1, 0, %p2;\n");
  emitters->instructions.Emit(emitters.StepAt(0));
  const Step step = emitters.StepAt(1);
  const auto round = emitters->barriers.Arrive(
      step, emitters.b().I32(kAllLanes), emitters.b().I32(kAllLanes));
  emitters->barriers.WaitFor(round);
  emitters->barriers.WriteReduction(step, round, nullptr);
  EXPECT_EQ(emitters.CountCalls("holdfast_barrier_arrive"), 1u);
  EXPECT_EQ(emitters.CountCalls("holdfast_barrier_result"), 1u);
  EXPECT_TRUE(emitters.IsWellFormed());
}

TEST(PendingLanesTest, EndsAreKeptAccountOfOnlyIfLanesWait) {
  Emitters alone("mov.u32 %r1, 0;\n");
  alone->pending.Add(lower::kExit, alone.b().I32(1));
  EXPECT_EQ(alone.Count(I::Store), 0u);
  Emitters waiting("bar.sync 0;\n");
  waiting->pending.Add(lower::kExit, waiting.b().I32(1));
  EXPECT_EQ(waiting.Count(I::Store), 1u);
  EXPECT_EQ(waiting.CountCalls("holdfast_lanes_ended"), 1u);
}

// Block 0 branches over block 1 to block 2, the end.
constexpr char kIf[] =
    "setp.eq.u32 %p1, %tid.x, 3;\n@%p1 bra E;\nmov.u32 %r1, 1;\nE:\n";

TEST(FullPathExitTest, MaskedCodeHasTheBlocksBehindItsRoots) {
  Emitters emitters(kIf);
  EXPECT_EQ(MaskedBlocksFrom(emitters.kernel(), emitters.facts(), {1}),
            (std::vector<bool>{false, true, true}));
  EXPECT_EQ(MaskedBlocksFrom(emitters.kernel(), emitters.facts(), {}),
            (std::vector<bool>{false, false, false}));
}

TEST(FullPathExitTest, OverflowBeforeDivergenceHasAFunctionOfItsOwn) {
  Emitters emitters(kIf);
  FullPathExit divergence, overflow;
  divergence.roots = {2};
  overflow.roots = {0};
  const MaskedPlan split =
      PlanMaskedCode(emitters.kernel(), emitters.facts(), divergence, overflow);
  EXPECT_TRUE(split.split);
  EXPECT_EQ(split.arrival.roots, (std::set<int>{0, 2}));
  divergence.roots = {0};
  EXPECT_FALSE(
      PlanMaskedCode(emitters.kernel(), emitters.facts(), divergence, overflow)
          .split);
}

TEST(FullPathExitsTest, AnOverflowLeavesInFrontOfTheInstruction) {
  Emitters emitters(Addresses(4));
  FullPathExits exits((*emitters).context, (*emitters).registers,
                      (*emitters).pending);
  exits.set_entry_number(emitters.b().AllocaAtEntry(emitters.b().getInt32Ty()));
  emitters->instructions.set_overflow_check(&exits);
  emitters.EmitAll();
  const auto& body = emitters.kernel().function->body;
  EXPECT_EQ(exits.EntryInFrontOf(body[2]),
            static_cast<int>(emitters.kernel().blocks.size()));
  EXPECT_EQ(exits.EntryInFrontOf(body[1]), -1);
  EXPECT_EQ(exits.overflow.roots, (std::set<int>{0}));
  EXPECT_TRUE(exits.divergence.roots.empty());
  // The rest of the block still reads %d1 and %r1.
  EXPECT_EQ(exits.overflow.live_outs.size(), 2u);
}

// The blocks of both functions of a kernel whose names begin so.
size_t BlocksOf(const std::string& body, const std::string& prefix) {
  const ptx::ParseResult parsed = ParsedKernel(body);
  const lower::Kernel kernel =
      lower::LowerKernel(parsed.module, parsed.module.functions[0], {});
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  KernelEmitter emitter(&module, kernel, {128, 1, 1}, kWide);
  EXPECT_EQ(emitter.Emit(Part::kFull), std::nullopt);
  EXPECT_FALSE(llvm::verifyModule(module, &llvm::errs()));
  size_t count = 0;
  for (const llvm::Function& function : module) {
    for (const llvm::BasicBlock& block : function) {
      if (block.getName().starts_with(prefix)) ++count;
    }
  }
  return count;
}

TEST(FullPathTest, AShortIfIsARegionAndNeedsNoMaskedCode) {
  EXPECT_EQ(BlocksOf(kIf, "region"), 2u);  // and "region.after"
  EXPECT_EQ(BlocksOf(kIf, "diverged"), 0u);
  EXPECT_EQ(BlocksOf(kIf, "masked"), 0u);
}

TEST(FullPathTest, ALoopOfALanesOwnLeavesForMaskedCode) {
  const std::string loop =
      "mov.u32 %r1, %tid.x;\nL:\nadd.u32 %r1, %r1, 1;\n"
      "setp.lt.u32 %p1, %r1, 99;\n@%p1 bra L;\n";
  EXPECT_EQ(BlocksOf(loop, "diverged"), 1u);
  EXPECT_GE(BlocksOf(loop, "dispatch"), 1u);
}

TEST(MaskedPathTest, LanesThatWaitAreParked) {
  const std::string barrier =
      "setp.lt.u32 %p1, %tid.x, 3;\n@%p1 bra E;\nbar.sync 0;\nE:\n";
  EXPECT_EQ(BlocksOf(barrier, "released"), 2u);  // on arrival and when idle
}

}  // namespace
}  // namespace holdfast::software::jit
