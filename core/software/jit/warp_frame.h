// SPDX-License-Identifier: Apache-2.0
//
// The layout of the frame in which full code and masked code of a warp pass
// state to each other: registers, and the lanes that have to run each block.
// The state lies in memory, because in masked code control can go from any
// block to any other block. With a phi for each register in each block, LLVM
// would take seconds.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_WARP_FRAME_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_WARP_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::software::jit {

// The functions return offsets in the frame, in bytes. All fields except
// registers have 32 bits, and are 0 when a warp begins.
class WarpFrame {
 public:
  static constexpr uint64_t kAlignment = 64;

  WarpFrame(size_t blocks, size_t registers);

  // The field of the lanes that have to run block k.
  uint64_t Pending(size_t k) const { return 4 * k; }
  // The field of the lanes that have not ended. It is only used if lanes of the
  // kernel may wait for each other.
  uint64_t Live() const { return 4 * blocks_; }
  // The field that is not 0 if masked code must look for pending blocks again.
  uint64_t Again() const { return Live() + 4; }
  // The field that counts the iterations of loops that may wait.
  uint64_t Spins() const { return Live() + 8; }
  // The field of the lanes that continue in front of an instruction in the
  // middle of a block.
  uint64_t Resumed() const { return Live() + 12; }
  // The field that is not 0 if masked code has tested all groups of waiting
  // lanes since a lane last left a convergence point.
  uint64_t Retried() const { return Live() + 16; }
  // Three fields: the lanes that wait at block k, their barrier, and its round.
  uint64_t Parked(size_t k) const { return Live() + 20 + 12 * k; }

  // The `bytes` bytes of a register of masked code. The first call makes room.
  uint64_t Register(uint32_t index, uint64_t bytes) {
    return Room(&registers_[index], bytes);
  }
  // Returns true if the frame has room for the register.
  bool Holds(uint32_t index) const { return registers_[index] != kNone; }
  // The `bytes` bytes of a register that full code stores at an exit in another
  // form than the form of masked code. The first call makes room.
  uint64_t LiveOut(uint32_t index, uint64_t bytes) {
    return Room(&live_outs_[index], bytes);
  }

  // The size of all fields except registers. The registers lie after them.
  uint64_t field_bytes() const { return Parked(blocks_); }
  // The size of the frame.
  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  uint64_t Room(uint64_t* place, uint64_t bytes);

  const size_t blocks_;
  std::vector<uint64_t> registers_;
  std::vector<uint64_t> live_outs_;
  uint64_t bytes_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_WARP_FRAME_H_
