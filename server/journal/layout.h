// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a journal: a memfd of fixed size that the supervisor makes and
// an executor writes. Both map it. README.md describes its use.
//
//   0      Header
//   4096   half 0 ┐ records, one behind the other: 32 bits of length in the
//   ...    half 1 ┘ machine's order, then a serialised internal.JournalRecord
//
// Header::state has the valid half and the number of its valid bytes. A reader
// ignores the bytes behind these and the other half. So one store publishes a
// record, or a compacted journal as a whole.
#ifndef HOLDFAST_SERVER_JOURNAL_LAYOUT_H_
#define HOLDFAST_SERVER_JOURNAL_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast::journal {

inline constexpr uint64_t kMagic = 0x4c4e524a54534648;  // "HFSTJRNL"
inline constexpr size_t kHeaderBytes = 4096;
// Bytes of each half. Pages that were never written take no memory.
inline constexpr size_t kHalfBytes = size_t{32} << 20;
inline constexpr size_t kJournalBytes = kHeaderBytes + 2 * kHalfBytes;

// One of the last commands, in the header.
struct LastCommand {
  static constexpr size_t kNameBytes = 64;
  uint64_t sequence;      // 0: the slot was never used
  uint64_t stream;        // handle; 0: the command has none
  uint32_t field;         // the number of the command's field in v1.Command
  char name[kNameBytes];  // of the kernel, cut; ends with 0 if it is shorter
};

// The header of a journal. The executor writes it, and is not trusted.
struct Header {
  static constexpr size_t kLastCommands = 16;

  uint64_t magic;
  // The valid half, 0 or 1, in the top bit, and the length of its records in
  // bytes in the other bits.
  std::atomic<uint64_t> state;

  // Sequence numbers of commands. The commands up to `received` have arrived.
  // The command `begun` is being carried out, or was the last to be carried
  // out. The commands up to `processed` were carried out and are in the
  // journal. The commands up to `completed` have taken effect on the devices.
  alignas(64) std::atomic<uint64_t> received;
  std::atomic<uint64_t> completed;
  alignas(64) std::atomic<uint64_t> begun;
  std::atomic<uint64_t> processed;
  // The number of commands that have begun. Modulo kLastCommands, it is the
  // slot of the next command in `last`.
  std::atomic<uint64_t> commands;
  LastCommand last[kLastCommands];
  // The time of the executor's last check for kernels over their time limit, in
  // nanoseconds of the machine's steady clock. 0: there is no kernel to check.
  alignas(64) std::atomic<uint64_t> looked;
};
static_assert(sizeof(Header) <= kHeaderBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

inline constexpr uint64_t kHalfBit = uint64_t{1} << 63;

}  // namespace holdfast::journal

#endif  // HOLDFAST_SERVER_JOURNAL_LAYOUT_H_
