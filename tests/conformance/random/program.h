// SPDX-License-Identifier: Apache-2.0
//
// A random program in two forms. Each instruction has PTX text, which the
// driver under test compiles, and a function with the same effect, which the
// interpreter calls.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_PROGRAM_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_PROGRAM_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::random_ptx {

// Sizes of the memories that a program uses, in bytes. Each thread has bytes of
// its own in global, shared and local memory. All threads share the sums.
inline constexpr size_t kInputBytes = 4096;  // global, only read
inline constexpr size_t kTableBytes = 256;   // .const
inline constexpr size_t kBlobBytes = 64;     // a parameter
inline constexpr size_t kOwnBytes = 64;      // global
inline constexpr size_t kSlotBytes = 16;     // shared
inline constexpr size_t kLocalBytes = 64;    // of each function
inline constexpr size_t kSums = 16;          // words, global and shared
inline constexpr size_t kDumpBytes = 1024;   // global, written at the end

struct Function;

// A call of a function by one thread.
struct Frame {
  const Function* function = nullptr;
  size_t next = 0;  // the index of the next instruction
  std::vector<uint64_t> registers;
  std::array<uint8_t, kLocalBytes> local = {};
};

// The inputs and results of a grid.
struct Memory {
  std::vector<uint8_t> input, table, blob;
  std::vector<uint8_t> own, dump;  // by thread of the grid
  std::array<uint32_t, kSums> sums = {};
};

struct Thread {
  uint32_t block, index, lane;
  size_t global;  // among all threads of the grid
  Memory* memory;
  std::vector<uint8_t>* slots;  // shared memory of the block, by thread
  std::array<uint32_t, kSums>* shared_sums;
  std::vector<Frame> frames;  // the innermost call is the last

  uint64_t& operator[](size_t at) { return frames.back().registers[at]; }
  bool ended() const { return frames.empty(); }
};

struct Instruction {
  enum class Kind {
    kPlain,
    kLabel,
    kBranch,
    kCall,
    kReturn,  // in the kernel: exit
    kWarp,    // the lanes of a mask execute it together
    kBlock,   // all threads of the block that have not ended do so
  };
  Kind kind = Kind::kPlain;
  std::string text;  // lines
  // The predicate register that guards each line of `text`; nullopt: none.
  std::optional<size_t> guard;
  bool unless = false;  // the guard is negated
  // The program stays valid without this instruction.
  bool optional = false;
  size_t region = 0;  // the innermost, an index into Function::regions

  std::function<void(Thread&)> act;  // kPlain
  // kLabel: the label's number. kBranch: `target` returns the label's number.
  size_t label = 0;
  std::function<size_t(Thread&)> target;
  // kCall: `callee` returns the function's index. `arguments` are the registers
  // that are copied to its first registers; `result` receives its result.
  std::function<size_t(Thread&)> callee;
  std::vector<size_t> arguments;
  size_t result = 0;  // kCall, kReturn: a register
  size_t mask = 0;    // kWarp: the register with the lanes
  std::function<void(const std::vector<Thread*>&)> together;
};

struct Register {
  std::string name;
  std::string type;  // as declared
};

struct Function {
  std::string name;
  std::vector<Register> registers;
  std::vector<Instruction> code;
  // The enclosing region of each region. All instructions of a region can be
  // removed together. Region 0 is the whole function.
  std::vector<size_t> regions = {0};
};

struct Program {
  uint64_t seed = 0;
  unsigned blocks = 1, threads = 32;
  unsigned rows = 1;  // threads of a block in y
  Memory initial;
  std::vector<Function> functions;  // the first is the kernel
};

// Instruction::act sets this flag if PTX does not define the result. The
// interpreter clears the flag.
extern thread_local bool undefined;

// The initial value of each thread's word of `shared_sums`.
inline constexpr uint32_t kFirstSum = 0x5A5A00FF;

// Returns the program as PTX text.
std::string PtxOf(const Program& program);

}  // namespace holdfast::random_ptx

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_PROGRAM_H_
