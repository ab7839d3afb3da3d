// SPDX-License-Identifier: Apache-2.0
//
// The layout of the frame in which full code and masked code of a warp pass
// state to each other: registers, and the lanes that have to run each block.
// The state lies in memory, because masked code can go from any block to any
// other: with a phi for each register in each block, LLVM would take seconds.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_WARP_FRAME_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_WARP_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::software::jit {

// Offsets in bytes. All fields but registers are 32-bit and start at zero.
class WarpFrame {
 public:
  static constexpr uint64_t kAlignment = 64;

  WarpFrame(size_t blocks, size_t registers);

  // Lanes that have to run block k.
  uint64_t Pending(size_t k) const { return 4 * k; }
  // Lanes that have not ended; kept only if lanes can wait.
  uint64_t Live() const { return 4 * blocks_; }
  // Not zero: look for pending blocks again.
  uint64_t Again() const { return Live() + 4; }
  // Rounds of waiting loops.
  uint64_t Spins() const { return Live() + 8; }
  // Lanes that go on in front of an instruction in the middle of a block.
  uint64_t Resumed() const { return Live() + 12; }
  // Not zero: groups of lanes that wait for each other have been looked at
  // since a lane last went on from a convergence point.
  uint64_t Retried() const { return Live() + 16; }
  // The lanes that wait at block k, their barrier and its round.
  uint64_t Parked(size_t k) const { return Live() + 20 + 12 * k; }

  // Makes room for a register of masked code at the first call.
  uint64_t Register(uint32_t index, uint64_t bytes) {
    return Room(&registers_[index], bytes);
  }
  bool Holds(uint32_t index) const { return registers_[index] != kNone; }
  // The same for a register that full code stores at an exit in another form
  // than masked code keeps it.
  uint64_t LiveOut(uint32_t index, uint64_t bytes) {
    return Room(&live_outs_[index], bytes);
  }

  // Bytes of all fields but registers. The registers lie behind them.
  uint64_t field_bytes() const { return Parked(blocks_); }
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
