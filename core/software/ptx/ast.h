// SPDX-License-Identifier: Apache-2.0
//
// A parsed PTX module: plain values, in which names are resolved to indices.
// Parse (parser.h) makes a module, Link (link.h) joins modules, and lowering
// (transform/) prepares kernels for the JIT. Indices stay valid as long as no
// element is removed from the vectors.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_AST_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_AST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/software/ptx/forms.h"
#include "core/software/ptx/lexer.h"
#include "core/software/ptx/types.h"

namespace holdfast::software::ptx {

// The bytes or halves that a video instruction names after an operand, as in
// %r1.h1 and %r2.b3210. Numbers from 4 (bytes) or 2 (halves) on name parts of
// operand b.
struct Selector {
  uint8_t count = 0;      // the number of parts; 0: no selector
  bool halves = false;    // true: halves; false: bytes
  uint8_t parts[4] = {};  // the part for the lowest part of the result first
};

// An operand of an instruction. The kind decides which members are used.
struct Operand {
  enum class Kind : uint8_t {
    kNone,
    kRegister,       // index into Function::registers
    kSpecial,        // index is a Special
    kInteger,        // bits
    kFloat32,        // bits
    kFloat64,        // bits
    kVariable,       // index into Module::variables: its address
    kLocalVariable,  // index into Function::variables: its address
    kFunction,       // index into Module::functions: its address
    kLabel,          // index into Function::labels
    kVector,         // elements
    kSink,           // _
  };
  Kind kind = Kind::kNone;
  bool negated = false;  // !%p
  bool minus = false;    // -%r, in vmad
  bool memory = false;   // in brackets: the memory at this address + offset
  bool element = false;  // name[index]; `offset` is the offset of the element
  uint32_t index = 0;
  int64_t offset = 0;
  uint64_t bits = 0;
  Selector selector;
  std::vector<Operand> elements;

  // Returns true for a register itself, false for memory at the address in it.
  bool IsRegister() const { return kind == Kind::kRegister && !memory; }
};

// No register has this index.
inline constexpr uint32_t kNoRegister = UINT32_MAX;

// The source line of an instruction, from the .loc before the instruction.
struct SourceLine {
  uint32_t file = 0;  // index into Module::files
  uint32_t line = 0;  // 0: not known
};

// One instruction. The form defines which operands and modifiers it may have;
// the modifiers select the variant.
struct Instruction {
  const Form* form = nullptr;
  Modifiers modifiers;
  Operand guard;  // kNone: the instruction has no guard
  std::vector<Operand> operands;
  Location location;
  SourceLine source;
  // Only for calls: the numbers of results and of arguments. `operands` has the
  // results, the callee, and the arguments; operands[results] is the callee.
  uint32_t results = 0;
  uint32_t arguments = 0;
  // Only for extended precision, after lowering: the register of the carry.
  uint32_t carry = kNoRegister;

  Opcode opcode() const { return form->opcode; }
  Type type() const { return modifiers.types[0]; }
};

// A virtual register. Operands name it by its index in Function::registers.
struct Register {
  std::string name;
  Type type = Type::kNone;
};

// A position in an initialiser that holds the address of a symbol.
struct Relocation {
  // Bytes from the start of the initial values.
  uint64_t offset = 0;
  bool function = false;  // true: a function; false: a variable
  // The text has generic(name), which is the address in the generic space.
  bool generic = false;
  uint32_t index = 0;  // into Module::variables or Module::functions
  int64_t addend = 0;
};

// A variable of any state space, of a module or of a function.
struct Variable {
  std::string name;
  Space space = Space::kGlobal;
  Type type = Type::kNone;
  uint64_t bytes = 0;      // 0: extern array of unknown size
  uint32_t alignment = 1;  // bytes; a power of two
  bool external = false;
  bool visible = false;
  bool weak = false;             // another module may define it as well
  std::vector<uint8_t> initial;  // zeros follow if shorter than `bytes`
  std::vector<Relocation> relocations;
  Location location;

  // Returns true for an array whose size each launch determines.
  bool IsDynamicShared() const { return space == Space::kShared && bytes == 0; }
};

// A place in a function's body. Branches name labels by index.
struct Label {
  std::string name;
  int64_t instruction = -1;  // index into the body; -1: not defined yet
  Location location;
};

// A kernel (.entry) or a device function.
struct Function {
  std::string name;
  bool kernel = false;
  bool defined = false;  // has a body
  bool external = false;
  bool visible = false;
  bool weak = false;  // another module may define it as well
  // Kernel parameters and .param formals are variables of the function with
  // Space::kParam; .reg formals of a device function are registers.
  std::vector<Operand> results;
  std::vector<Operand> parameters;
  std::vector<Register> registers;
  std::vector<Variable> variables;
  std::vector<Label> labels;
  // The lists of .branchtargets: the index of the list's label, and the indices
  // of the labels in the list.
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> branch_targets;
  std::vector<Instruction> body;
  // .reqntid and .maxntid, in threads; 0: not given.
  uint32_t required_block[3] = {0, 0, 0};
  uint32_t max_block[3] = {0, 0, 0};
  uint32_t max_registers = 0;  // .maxnreg; 0: not set
  uint32_t min_blocks = 0;     // .minnctapersm; 0: not set
  // .reqnctapercluster, in blocks; 0: not given.
  uint32_t required_cluster[3] = {0, 0, 0};
  uint32_t max_cluster_blocks = 0;   // .maxclusterrank; 0: not given
  bool cluster_must_be_set = false;  // .explicitcluster
  // The reason why the function cannot run on this device, as
  // "line:column: reason"; empty: the function can run. The reason is an
  // instruction that the device does not support (missing.h). The body does not
  // contain this instruction.
  std::string unserved;
  Location location;
};

// All declarations of one PTX text.
struct Module {
  int version = 0;  // 10 * major + minor
  int target = 0;   // 90 for sm_90
  // The target ends with a letter, such as sm_90a, and has features that later
  // targets may lack.
  bool own_features = false;
  int address_bits = 64;
  std::vector<std::string> files;  // by .file number; empty: no such number
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_AST_H_
