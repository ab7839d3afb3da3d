// SPDX-License-Identifier: Apache-2.0
//
// Describes a machine instruction that accesses memory: its PTX instruction and
// lanes. The line table of a generated object stores the descriptions, so that
// they cost nothing until a kernel faults.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ACCESS_SITE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ACCESS_SITE_H_

#include <cstdint>

namespace holdfast::software::jit {

struct AccessSite {
  enum class Kind : uint8_t {
    kUnknown,  // any lanes
    kLanes,    // lanes from `lane` on, at consecutive elements
    kSame,     // lanes from `lane` on, at one address
    kGather,   // lanes from `lane` on; a mask register has the lanes not done
    kOneLane,  // only `lane`
    kListed,   // a lane of WorkerContext::lanes; WorkerContext::addresses has
               // its address
  };

  uint32_t instruction = 0;  // index into the body of the lowered kernel
  Kind kind = Kind::kUnknown;
  bool masked = false;  // true: only the lanes in WorkerContext::lanes
  uint8_t lane = 0;     // below 32
  uint8_t bytes = 1;    // the size of an element: a power of two, at most 16

  // Encodes all fields except `instruction` as a column of the line table. The
  // column has at most 16 bits, and is never 0.
  uint32_t Column() const {
    const auto log = static_cast<uint32_t>(__builtin_ctz(bytes));
    return lane | (masked ? 1u << 5 : 0) | static_cast<uint32_t>(kind) << 6 |
           log << 9 | 1u << 12;
  }
  // Returns the site with this instruction and the fields that Column encoded.
  static AccessSite Of(uint32_t instruction, uint32_t column) {
    return {instruction, static_cast<Kind>(column >> 6 & 7),
            (column >> 5 & 1) != 0, static_cast<uint8_t>(column & 31),
            static_cast<uint8_t>(1u << (column >> 9 & 7))};
  }
};

// The CPU's registers when it stopped in generated code.
struct MachineState {
  uint64_t pc = 0;
  uint64_t registers[16] = {};  // in the order of their numbers: rax, rcx, ...
  uint64_t masks[8] = {};       // k0 to k7, if the CPU has them
};

// The memory access of one machine instruction, decoded with the registers at
// the time of the fault.
struct MachineAccess {
  AccessSite site;
  bool has_address = false;
  uint64_t address = 0;  // the first byte; not set unless has_address
  uint32_t left = 0;  // kGather: bit i is set: lane site.lane + i is not done
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ACCESS_SITE_H_
