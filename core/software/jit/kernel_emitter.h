// SPDX-License-Identifier: Apache-2.0
//
// Turns a lowered kernel into LLVM functions for one block shape.
//
// The first loops over blocks and warps. It has the full code, in which all 32
// lanes of a warp go the same way, as chunks of vectors. It calls the second,
// which has the masked code, where lanes diverge. See core/software/README.md
// for the two modes, and README.md here for the files that define the methods.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_KERNEL_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_KERNEL_EMITTER_H_

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/software/analysis/control_flow.h"
#include "core/software/analysis/divergence.h"
#include "core/software/analysis/scalar_loops.h"
#include "core/software/jit/access_site.h"
#include "core/software/jit/arithmetic/builder.h"
#include "core/software/jit/host_cpu.h"
#include "core/software/jit/value.h"
#include "core/software/jit/warp_frame.h"
#include "core/software/lower/kernel.h"
#include "llvm/ADT/SmallVector.h"

namespace holdfast::software::jit {

// The symbol of the address of Module::variables[index].
inline std::string VariableSymbol(uint32_t index) {
  return "holdfast_variable_" + std::to_string(index);
}

// The functions of a kernel. Each is an object of its own, made when it is
// first needed: of most kernels, only full code ever runs.
enum class Part {
  kFull,  // all lanes of a warp together
  // Masked code for warps whose lanes have diverged.
  kMasked,
  // Masked code for warps that left full code because an affine index
  // overflowed. Kept apart from kMasked so that the common function stays
  // small; made only if an overflow leads to blocks that kMasked lacks.
  kWrapped,
};
inline constexpr const char* kSymbols[] = {"kernel", "kernel_masked",
                                           "kernel_wrapped"};
// The symbols of the pointers through which full code calls the other parts.
inline constexpr const char* kSlotSymbols[] = {"", "holdfast_masked_slot",
                                               "holdfast_wrapped_slot"};
inline const char* SymbolOf(Part part) {
  return kSymbols[static_cast<int>(part)];
}
inline const char* SlotSymbolOf(Part part) {
  return kSlotSymbols[static_cast<int>(part)];
}

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module* module, const lower::Kernel& kernel,
                const analysis::BlockShape& block, const Cpu& cpu);

  // Adds full code and one of masked code: `part`, or what takes most room in
  // the frame that they share. On failure returns the reason, with line:column.
  std::optional<std::string> Emit(Part part);

 private:
  using Mode = analysis::Mode;

  // emit_frame.cc: the two functions, and the loops around the code of a warp.
  void EnterFunction(llvm::Function* function);
  void LoadSurroundings();
  void EmitFullFunction();
  void FinishFrame();
  void EmitBlockLoop();
  void EmitWarpBody();
  void FindMasked();
  std::vector<bool> ReachableFrom(const std::set<int>& roots) const;
  void EmitDiverged();
  llvm::Value* CallMasked(Part part);
  llvm::Value* MaskedFunction(Part part);
  void ClearStorage(Mode mode);
  void EmitMaskedFunction(Part part);
  void EmitMasked();
  void EmitEntries();
  llvm::Value* LoadField(llvm::Value* base, size_t offset, llvm::Type* type,
                         bool invariant);

  // emit_control.cc: blocks, branches, masks.
  void EmitBlock(size_t k);
  void EmitInstruction(const ptx::Instruction& instruction);
  void EmitUnguarded(const ptx::Instruction& instruction);
  void EmitBranch(const ptx::Instruction* instruction, size_t k);
  void BranchFull(const ptx::Instruction* instruction, size_t k);
  void BranchMasked(const ptx::Instruction* instruction, size_t k,
                    llvm::Value* rotate);
  llvm::BasicBlock* FullTarget(int target);
  llvm::BasicBlock* DispatchAfter(size_t k);
  llvm::BasicBlock* DispatchFrom(size_t k);
  void Pend(int target, llvm::Value* bits);
  void PollCancel();
  // emit_modes.cc: full code copies registers to where masked code expects
  // them, and goes there.
  struct Departure;
  void LeaveFull(const std::vector<bool>& registers, Departure* departure);
  void TakeOver();
  void Diverge(int entry, Departure* departure);
  std::vector<bool> NeededAt(const ptx::Instruction& instruction) const;
  void EnterFull(size_t k);    // masked code: all lanes meet at block k
  void ReenterFull(size_t k);  // full code: copies registers back
  llvm::Value* FitsFull(uint32_t index);
  void CheckNoWrap(const ptx::Instruction& instruction, const Value& narrow);
  llvm::Value* ExecBits();  // i32, lanes that run now
  llvm::Value* ChunkMask(llvm::Value* bits, int chunk);  // <W x i1>
  llvm::Value* BitsOfPredicate(const Value& predicate);  // i32
  llvm::Value* AllAre(const Value& predicate, bool value);

  // emit_region.cc: lanes part for a few instructions.
  void EmitRegion(size_t k, llvm::Value* taken);
  void EmitRegionBlock(size_t k);
  void AddToRegion(int target, llvm::Value* bits);
  struct Tested;
  void ForgetTestsBut(const std::map<uint32_t, Tested>& before);
  void PendRegion();

  // emit_lanes.cc
  void LeaveForLaneLoop(size_t k);
  void EnterLaneLoop(size_t k);
  void EmitLaneLoops();
  void FindLaneRegisters(int first);
  void EmitLaneLoop(int first);
  void LeaveLaneLoop(int target);
  void BranchAlone(const ptx::Instruction* instruction, size_t k);
  llvm::Value* LaneBit();  // i32
  void TakeIn(uint32_t index, llvm::Value* lane);
  void GiveBack(uint32_t index);
  llvm::Value* Reach(llvm::Value* base, const analysis::LaneShape& shape,
                     llvm::Value* lane);
  Value AtLane(const Value& value, llvm::Value* lane);
  Value OfLane(const Value& value) {
    return lane_ == nullptr ? value : AtLane(value, lane_);
  }

  // emit_barrier.cc
  struct BarrierRound {
    llvm::Value* barrier;  // i32
    llvm::Value* round;    // i32
  };
  llvm::Value* CallRuntime(const char* name, llvm::Type* result,
                           absl::Span<llvm::Value* const> in);
  llvm::Value* LoadI32(llvm::Value* place);
  llvm::Value* OfFirstLane(const Value& value, llvm::Value* lanes);
  BarrierRound EmitArrive(const ptx::Instruction& instruction,
                          llvm::Value* lanes, llvm::Value* live);
  void WriteReduction(const ptx::Instruction& instruction,
                      const BarrierRound& round, llvm::Value* lanes);
  llvm::Value* Passed(const BarrierRound& round);
  void MeetFull(size_t k);
  void MeetMasked(size_t k);
  void MeetWarpMasked(size_t k);
  void MeetBlockMasked(size_t k);
  void Release(size_t k);
  void EmitIdle();
  lower::ConvergencePoint MeetingAt(size_t k) const;
  llvm::Value* EmitSpin(size_t k);

  // emit_warp.cc
  llvm::Value* Members(const ptx::Instruction& instruction);
  llvm::Value* LaneNumbers(int chunk);
  llvm::Value* Pick(const Value& value, llvm::Value* index);
  Value LoadLanes(llvm::AllocaInst* array, ptx::Type type);
  llvm::Value* Reduce(const ptx::Instruction& instruction, const Value& value,
                      llvm::Value* members);
  void EmitShuffle(const ptx::Instruction& instruction);
  void EmitVote(const ptx::Instruction& instruction);
  void EmitMatch(const ptx::Instruction& instruction);
  void EmitRedux(const ptx::Instruction& instruction);
  void EmitElect(const ptx::Instruction& instruction);
  void EmitActivemask(const ptx::Instruction& instruction);
  void EmitFence(const ptx::Instruction& instruction);
  void CompilerFence();
  void EmitTrap(const ptx::Instruction& instruction);

  // emit_atomics.cc
  void EmitAtomic(const ptx::Instruction& instruction);
  void EmitAtomicElement(const ptx::Instruction& instruction,
                         const ptx::Operand* result, const Value& address,
                         const ptx::Operand& operand,
                         const ptx::Operand* swapped_operand);
  void AtomicTogether(const ptx::Instruction& instruction, const Value& address,
                      const Value& value, llvm::Value* lanes);
  void AtomicOfAll(const ptx::Instruction& instruction, const Value& address,
                   const Value& value);
  llvm::Value* AtomicOne(const ptx::Instruction& instruction,
                         llvm::Value* place, llvm::Value* value,
                         ptx::Space space);
  llvm::Value* AtomicHalf(const ptx::Instruction& instruction,
                          llvm::Value* place, llvm::Value* value,
                          ptx::Space space);
  llvm::Value* CombineHalves(const ptx::Instruction& instruction,
                             llvm::Value* a, llvm::Value* b);
  llvm::Value* CombineHalf(const ptx::Instruction& instruction, ptx::Type type,
                           llvm::Value* a, llvm::Value* b);
  llvm::Value* CompareAndSwap(llvm::Value* place, llvm::Value* expected,
                              llvm::Value* value, ptx::Space space);

  // emit_call.cc
  void EmitCall(const ptx::Instruction& instruction);
  llvm::AllocaInst* CallForLanes(const std::string& name,
                                 absl::Span<llvm::Value* const> options,
                                 absl::Span<const Value> arguments);
  ptx::Type TypeOfOperand(const ptx::Operand& operand) const;

  // emit_address_check.cc
  bool IsGoodVariable(const ptx::Operand& operand, ptx::Space space,
                      uint64_t bytes) const;
  bool IsTested(const ptx::Operand& operand, ptx::Space space,
                const Value& address, uint64_t bytes) const;
  void CheckAddress(const ptx::Operand& operand, ptx::Space space,
                    const Value& address);
  bool BranchIfBad(const Value& address, ptx::Space space, uint64_t bytes,
                   llvm::BasicBlock* bad, llvm::BasicBlock* good);
  void ReportAddress(const Value& address, ptx::Space space, uint64_t bytes,
                     bool sure);

  // emit_prefetch.cc
  void Prefetch(const ptx::Operand& place, const Value& address, bool write);
  void FetchAt(const Value& address, uint64_t bytes, llvm::Value* distance,
               uint32_t level, bool write);
  bool IsFetched(const ptx::Operand& place, uint64_t bytes);
  llvm::Value* PrefetchDistance(llvm::Value* place, uint64_t bytes);

  // emit_vectors.cc
  using Parts = llvm::SmallVector<llvm::Value*, 16>;
  bool InGroups(const Value& address, ptx::Type type, size_t count);
  template <typename T>
  T* MarkGroups(T* access, int lane, int groups, size_t count);
  llvm::Value* GroupPointer(const Value& address, int lane);
  std::vector<Value> LoadGroups(const Value& address, ptx::Type type,
                                size_t count);
  void StoreGroups(const Value& address, absl::Span<const Value> elements);
  std::vector<Value> LoadWhole(const Value& address, ptx::Type type,
                               size_t count);
  void StoreWhole(const Value& address, absl::Span<const Value> elements);
  Value WordOf(absl::Span<const Value> elements, int first_bit, int bits);
  Value ElementOf(absl::Span<const Value> words, ptx::Type type, size_t i);
  Parts SplitPairs(llvm::ArrayRef<llvm::Value*> halves);
  Parts JoinPairs(llvm::ArrayRef<llvm::Value*> parts);
  Parts SplitFours(llvm::ArrayRef<llvm::Value*> groups);
  Parts JoinFours(llvm::ArrayRef<llvm::Value*> parts);
  Parts TurnSquares(llvm::ArrayRef<llvm::Value*> parts);

  // emit_async.cc
  void EmitCopyAsync(const ptx::Instruction& instruction);
  void CheckSource(const ptx::Operand& operand, const Value& from,
                   const std::optional<Value>& valid);
  Value WantedFrom(const Value& valid, uint32_t at);
  Value Displaced(const Value& address, uint64_t bytes);
  Value ValidBytes(const ptx::Operand& operand, int bytes);
  Value LoadValid(const Value& from, const Value& valid, uint32_t at);
  void EmitMbarrier(const ptx::Instruction& instruction);

  // emit_values.cc: operands and registers.
  Value Read(const ptx::Operand& operand, ptx::Type type);
  Value ReadRegister(uint32_t index, Mode mode);
  Value PredicateOf(llvm::Value* bits);
  Value ReadSpecial(ptx::Special special);
  Value ReadAddress(const ptx::Operand& operand);  // of a variable
  Value ReadLanemask(ptx::Special special);
  Value ReadClock(ptx::Special special);
  Value ReadLaunch(ptx::Special special);
  void Write(const ptx::Operand& operand, Value value);
  void WriteRegister(uint32_t index, const Value& value, Mode mode,
                     llvm::Value* mask);
  Value Reshape(const Value& value, const analysis::LaneShape& shape);
  Value As(const Value& value, ptx::Type type);
  llvm::Value* Vector(const Value& value, int chunk);
  llvm::Value* Base(const Value& value, int chunk);
  Value Uniform(ptx::Type type, llvm::Value* scalar);
  // Where a part of a register is kept.
  struct Place {
    llvm::Value* pointer;
    llvm::Type* type;
  };
  llvm::SmallVector<Place, 4> Storage(uint32_t index, Mode mode);
  llvm::Value* LoadKept(const Place& place);
  bool KeptAlike(uint32_t index) const;
  llvm::SmallVector<Place, 4> Handed(uint32_t index);
  bool OnlyInItsBlock(uint32_t index) const;
  llvm::Value* Slot(uint64_t offset);  // of the frame
  int PartsOf(const analysis::LaneShape& shape) const;

  // emit_arithmetic.cc
  void EmitArithmetic(const ptx::Instruction& instruction);
  Value CombinePredicates(const ptx::Instruction& instruction,
                          absl::Span<const Value> in);
  llvm::Value* ConvertAddress(const ptx::Instruction& instruction,
                              llvm::Value* address);

  // emit_pack.cc
  void EmitPack(const ptx::Instruction& instruction);
  void EmitUnpack(const ptx::Instruction& instruction);

  // emit_carry.cc
  void EmitCarry(const ptx::Instruction& instruction);

  // emit_pairs.cc
  void EmitSetpPair(const ptx::Instruction& instruction);
  void EmitLogicPair(const ptx::Instruction& instruction);

  // emit_memory.cc, emit_gather.cc
  static ptx::Space SpaceOf(const ptx::Instruction& instruction);
  void EmitSpaceTest(const ptx::Instruction& instruction);
  llvm::Value* IsIn(ptx::Modifier space, llvm::Value* address);
  void EmitLoad(const ptx::Instruction& instruction);
  void EmitStore(const ptx::Instruction& instruction);
  // The address of a variable. In global and constant memory it is a symbol,
  // since objects outlive the process.
  llvm::Value* VariableAddress(const ptx::Operand& operand);
  Value Address(const ptx::Operand& operand, ptx::Space space);
  Value StartOf(const ptx::Operand& operand, ptx::Space space);
  Value LoadFrom(const Value& address, ptx::Type type);
  Value Gather(const Value& address, ptx::Type type, llvm::Value* bits);
  Value GatherListed(const Value& address, ptx::Type type, llvm::Value* bits);
  bool ByEight(ptx::Type type) const;
  llvm::Value* Half(llvm::Value* vector, int half);
  llvm::Value* Whole(llvm::Value* low, llvm::Value* high);
  llvm::Value* GatherByEight(llvm::Value* from, ptx::Type type,
                             llvm::Value* mask, int lane);
  void ScatterByEight(const Value& address, const Value& value,
                      llvm::Value* bits);
  llvm::Value* GatherOneByOne(llvm::Value* from, ptx::Type type, int lane);
  llvm::Value* SafeAddress(llvm::Value* address, llvm::Value* wanted);
  void StoreTo(const Value& address, const Value& value);
  void StoreUniform(const Value& address, const Value& value,
                    llvm::Value* bits);
  void Scatter(const Value& address, const Value& value, llvm::Value* bits);
  void ScatterAll(const Value& address, const Value& value);
  Value GatherStrided(const Value& address, ptx::Type type);
  Value GatherByOffset(const Value& address, ptx::Type type, llvm::Value* bits);
  llvm::Value* LanePointer(const Value& address, int lane);
  llvm::Value* LaneMask();  // i32 of exec and the guard; null: all lanes
  void ForEachLane(llvm::Value* bits,
                   const std::function<void(llvm::Value* lane)>& body);
  llvm::AllocaInst* Spill(const Value& value);
  llvm::Value* SpillAddresses(const Value& addresses);
  void NoteLanes(llvm::Value* bits);
  void NoteInstruction();
  // Says of an instruction that touches memory for `current_` which lanes it
  // does that for.
  template <typename T>
  T* Mark(T* access, AccessSite::Kind kind, int lane, bool masked,
          int elements = 1);
  template <typename T>
  T* MarkAtomic(T* access);
  llvm::Value* Pointer(llvm::Value* address);

  void Fail(const ptx::Instruction& instruction, std::string reason);

  const lower::Kernel& kernel_;
  const analysis::BlockShape block_;
  const Cpu cpu_;
  const int lanes_;   // of a chunk
  const int chunks_;  // of a warp
  Builder b_;
  WarpFrame layout_;
  llvm::AllocaInst* room_ = nullptr;  // for the frame, in the full function
  llvm::CallInst* clear_ = nullptr;   // of its fields
  llvm::Function* masked_function_ = nullptr;
  // The function that is being emitted:
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::BasicBlock* done_ = nullptr;  // the warp has ended
  llvm::Value* frame_ = nullptr;      // as layout_ says
  llvm::Value* launch_ = nullptr;
  llvm::Value* worker_ = nullptr;
  llvm::Value* parameters_ = nullptr;
  llvm::Value* shared_ = nullptr;  // i64
  llvm::Value* local_ = nullptr;   // i64
  llvm::Value* warp_ = nullptr;    // i32
  std::array<llvm::Value*, 3> block_index_ = {};
  std::array<llvm::Value*, 3> grid_ = {};

  Mode mode_ = Mode::kFull;
  analysis::DivergenceAnalysis shapes_[2];  // by Mode
  size_t block_at_ = 0;                     // whose code is being emitted
  // Storage of registers that are values, not in the frame.
  std::vector<llvm::SmallVector<llvm::AllocaInst*, 4>> storage_[2];
  std::vector<llvm::BasicBlock*> full_;      // code of a block
  std::vector<llvm::BasicBlock*> masked_;    // code of a block
  std::vector<llvm::BasicBlock*> dispatch_;  // is block k pending?
  llvm::AllocaInst* exec_ = nullptr;         // i32, kMasked
  llvm::BasicBlock* idle_ = nullptr;         // no block is pending
  // Lanes that wait at a meeting (by block).
  struct Parked {
    llvm::Value* lanes;    // i32
    llvm::Value* barrier;  // i32
    llvm::Value* round;    // i32; at a meeting of a warp: wait no longer
  };
  std::map<size_t, Parked> parked_;
  bool meetings_ = false;
  bool block_meetings_ = false;
  std::vector<std::vector<bool>> live_registers_;
  std::vector<int> loops_;       // by block, as of analysis::Loops
  std::vector<int> own_loops_;   // and of a warp that does not wait in between
  std::vector<bool> crosses_;    // by register: live where some block starts
  std::vector<bool> ever_read_;  // by register
  // How full code leaves for masked code.
  struct Departure {
    llvm::BasicBlock* block = nullptr;  // full code, which calls masked code
    std::set<int> roots;                // blocks where masked code may start
    // The number of a block or, to continue in front of an instruction, one of
    // resume_.
    std::set<int> entries;
    std::set<uint32_t> handed;  // registers that it leaves there
  };
  Departure parting_;   // lanes part, or never were all
  Departure wrapping_;  // a value wraps
  bool split_ = false;  // kMasked is not for wrapping_, kWrapped is
  Departure arrival_;   // masked code: those that it is for
  llvm::AllocaInst* entry_number_ = nullptr;
  std::vector<bool> masked_needed_;  // by block: masked code may come there
  std::vector<bool> meets_;          // by block: it may go back to full code
  std::map<const ptx::Instruction*, int> resume_;
  std::map<int, llvm::BasicBlock*> resume_blocks_;
  // Predicates written in the block at hand, as vectors.
  std::map<uint32_t, Value> predicates_;
  // By register: the address that the code at hand has made of its value, and
  // has found to lie where it may and to be a multiple of `bytes` with `offset`
  // added, if `good`. The parts are frozen, and stand for the register in
  // whatever follows, so that what was tested is what is accessed.
  struct Tested {
    Value start;  // without an offset
    ptx::Space space = ptx::Space::kGeneric;
    bool good = false;
    uint64_t bytes = 1;
    int64_t offset = 0;
  };
  std::map<uint32_t, Tested> tested_;
  // In the block at hand: of accesses of so many bytes a lane; by register,
  // where something was fetched for it.
  struct PrefetchAhead {
    llvm::Value* distance = nullptr;
    uint64_t bytes = 0;
    std::map<uint32_t, int64_t> offsets;
  };
  PrefetchAhead prefetch_;
  const ptx::Instruction* current_ = nullptr;
  // The lanes that the atomic operation at hand is emitted for.
  struct AtomicLanes {
    AccessSite::Kind kind = AccessSite::Kind::kListed;
    int lane = 0;
    bool masked = true;
  };
  AtomicLanes atomic_lanes_;
  llvm::Value* guard_bits_ = nullptr;  // i32 while a guarded instruction runs
  // While full code runs a region: the lanes that run, and by block (its join
  // included) an i32 of those that have to.
  llvm::Value* region_ = nullptr;
  std::map<int, llvm::AllocaInst*> region_bits_;
  // A loop that each lane runs by itself.
  struct LaneLoop {
    llvm::BasicBlock* start = nullptr;
    llvm::AllocaInst* entry = nullptr;  // i32, the block to start with
    std::vector<size_t> entries;
    std::set<uint32_t> taken_in, written;     // registers
    std::map<int, llvm::BasicBlock*> blocks;  // code of a block
    std::map<int, llvm::BasicBlock*> exits;   // to a block outside
  };
  std::map<int, LaneLoop> lane_loops_;  // by the first block
  LaneLoop* loop_ = nullptr;
  llvm::Value* lane_ = nullptr;  // i32, while code of one lane is emitted
  std::map<uint32_t, llvm::AllocaInst*> lane_registers_;
  std::optional<std::string> error_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_KERNEL_EMITTER_H_
