// SPDX-License-Identifier: Apache-2.0
//
// A kernel in the form that analyses and the code generator use: basic blocks
// in layout order, and symbols with addresses. LowerKernel (lower_kernel.h)
// makes it.
#ifndef HOLDFAST_CORE_SOFTWARE_LOWER_KERNEL_H_
#define HOLDFAST_CORE_SOFTWARE_LOWER_KERNEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/software/ptx/ast.h"

namespace holdfast::software::lower {

inline constexpr int kExit = -1;  // as a successor: the end of the thread

// A basic block: the instructions [first, last) of the function. Only the last
// instruction may branch. An instruction at which lanes wait for each other
// forms a block by itself.
struct Block {
  uint32_t first = 0;
  uint32_t last = 0;
  int taken = kExit;      // the target of the branch at the end
  int next = kExit;       // the next block; kExit after the last block
  bool branches = false;  // the last instruction is a branch or an exit
  bool in_cycle = false;  // control can return to the block
  // The block is in a loop that may wait for another thread.
  bool may_spin = false;
};

// The threads that wait for each other at an instruction.
enum class ConvergencePoint : uint8_t {
  kNone,
  kWarp,   // lanes of a warp: bar.warp.sync, shfl.sync, ...
  kBlock,  // all warps of a block: bar.sync, barrier.arrive, ...
};
ConvergencePoint ConvergencePointOf(const ptx::Instruction& instruction);

// The operands of the traps that lowering adds: for a stack overflow, and for a
// call through a register that has no function.
inline constexpr uint64_t kStackTrap = 1;
inline constexpr uint64_t kFunctionTrap = 2;

// A lowered kernel. It refers to its module and function.
struct Kernel {
  const ptx::Function* function = nullptr;
  std::vector<Block> blocks;
  // The offset of each variable in the parameter block or in the local memory
  // of a lane, by index into function->variables.
  std::vector<uint64_t> variable_offsets;
  // The address of each variable in this process, or its offset in shared
  // memory, by index into Module::variables. The element has no meaning for a
  // .shared variable that the kernel does not name.
  std::vector<uint64_t> addresses;
  const ptx::Module* module = nullptr;
  // Two fingerprints are equal only if the texts of the modules are equal;
  // empty: unknown. Code that was generated for a kernel with an equal
  // fingerprint, even in another process, is reused.
  std::string fingerprint;
  uint64_t parameter_bytes = 0;
  uint64_t static_shared_bytes = 0;
  // The offset of dynamic shared memory in shared memory.
  uint64_t dynamic_shared_begin = 0;
  bool uses_shared = false;  // an instruction names shared memory
  // An instruction reads the place of the block's reserved shared memory
  // (%reserved_smem_offset_...), which lies behind the kernel's shared memory.
  bool uses_reserved_shared = false;
  // An instruction names shared memory of other blocks. An address of shared
  // memory then includes the block.
  bool uses_cluster = false;
  uint64_t local_bytes = 0;  // the local memory of each lane
  // Warps of a block must run concurrently, because they wait for each other at
  // barriers or in loops.
  bool concurrent_warps = false;
  // A basic block has may_spin. Blocks of the grid may then also wait for each
  // other.
  bool may_spin = false;

  // Return the variable of the operand, and its address or offset plus the
  // operand's offset. REQUIRES: the operand is a variable.
  const ptx::Variable& VariableOf(const ptx::Operand& operand) const;
  uint64_t AddressOf(const ptx::Operand& operand) const;
};

// The addresses and sizes of bulk copies are multiples of this number of bytes.
inline constexpr int kBulkBytes = 16;

// The number of bytes in the row that a lane names for ldmatrix and stmatrix.
inline constexpr int kMatrixRowBytes = 16;

// Returns true if the instruction reads the carry.
bool TakesCarry(const ptx::Instruction& instruction);

// Returns the number of bytes that each lane accesses at once, which is also
// the required alignment. REQUIRES: the instruction accesses memory.
int AccessBytes(const ptx::Instruction& instruction);

// Returns the number of destinations, which are the first operands.
size_t DestinationCount(const ptx::Instruction& instruction);

// Return the registers that an instruction reads, including its guard and the
// addresses, or the registers that it writes. A register may occur repeatedly.
std::vector<uint32_t> RegistersRead(const ptx::Instruction& instruction);
std::vector<uint32_t> RegistersWritten(const ptx::Instruction& instruction);

}  // namespace holdfast::software::lower

#endif  // HOLDFAST_CORE_SOFTWARE_LOWER_KERNEL_H_
