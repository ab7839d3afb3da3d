// SPDX-License-Identifier: Apache-2.0
//
// A kernel as both sides see it: each instruction is the text that a driver
// compiles, and what it means for one thread, which the interpreter does.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_PROGRAM_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_PROGRAM_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::random_ptx {

// Bytes of the memories that a program uses. Each thread has some of its own
// in global, shared and local memory; sums belong to all.
inline constexpr size_t kInputBytes = 4096;  // global, only read
inline constexpr size_t kTableBytes = 256;   // .const
inline constexpr size_t kBlobBytes = 64;     // a parameter
inline constexpr size_t kOwnBytes = 64;      // global
inline constexpr size_t kSlotBytes = 16;     // shared
inline constexpr size_t kLocalBytes = 64;    // of each function
inline constexpr size_t kSums = 16;          // words, global and shared
inline constexpr size_t kDumpBytes = 1024;   // global, written at the end

struct Function;

struct Frame {
  const Function* function = nullptr;
  size_t next = 0;  // the instruction to do
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
    kReturn,  // of the kernel: exit
    kWarp,    // the lanes of a mask do it together
    kBlock,   // all threads of the block that have not ended
  };
  Kind kind = Kind::kPlain;
  std::string text;  // lines
  // The predicate that lets a thread do it; it then stands before each line.
  std::optional<size_t> guard;
  bool unless = false;
  // May go without making the program invalid.
  bool optional = false;
  size_t region = 0;  // of Function::regions, the innermost

  std::function<void(Thread&)> act;  // kPlain
  // kLabel: itself. kBranch: where a thread goes.
  size_t label = 0;
  std::function<size_t(Thread&)> target;
  // kCall: which function, what its first registers get, where its result goes.
  std::function<size_t(Thread&)> callee;
  std::vector<size_t> arguments;
  size_t result = 0;  // kCall, kReturn
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
  // The region around each; what lies in one can be left out as a whole. 0 is
  // the function.
  std::vector<size_t> regions = {0};
};

struct Program {
  uint64_t seed = 0;
  unsigned blocks = 1, threads = 32;
  unsigned rows = 1;  // threads of a block in y
  Memory initial;
  std::vector<Function> functions;  // the first is the kernel
};

// How `act` says that PTX leaves open what the result is; the interpreter
// clears it.
extern thread_local bool undefined;

// The initial value of each thread's word of `shared_sums`.
inline constexpr uint32_t kFirstSum = 0x5A5A00FF;

std::string PtxOf(const Program& program);

}  // namespace holdfast::random_ptx

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_PROGRAM_H_
