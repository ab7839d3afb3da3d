// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_E2E_SHARING_STORM_BOARD_H_
#define HOLDFAST_TESTS_E2E_SHARING_STORM_BOARD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cpp/sharing/export.h"

namespace holdfast::e2e {

// Actions of a storm's processes. The test checks how often each happened.
enum class Deed {
  kExported,
  kImported,
  kMappedLocally,
  kImportedForeign,
  kCommitted,
  kOpened,
  kFaulted,
  kExecutorKilled,
  kDied,
  kKilobytesCompared,
  kSlept,
  kSemaphoresAwaited,
  kSemaphoresMapped,
  kEventsAwaited,
  kProcessFaulted,
};
inline constexpr int kDeeds = 15;
// Returns the name to print: "faults of kernels".
const char* Name(Deed deed);

// An exported resource: memory, a semaphore or an event.
struct Offer {
  LocalExport memory;  // only the token if the taker is a session
  // The seed of the memory's pattern, or the value of the semaphore.
  uint32_t seed = 0;
};

// Returns the contents of memory that was filled with this seed.
std::vector<uint32_t> Pattern(uint32_t seed, size_t words);

// Passes offers between the processes of a storm, as files of a directory, and
// counts their deeds in shared memory. A process may be killed at any instant.
class StormBoard {
 public:
  // REQUIRES: the directory exists.
  explicit StormBoard(std::string directory);
  ~StormBoard();
  StormBoard(const StormBoard&) = delete;
  StormBoard& operator=(const StormBoard&) = delete;

  // Adds an offer. Kinds are "session" (memory for a session), "process"
  // (memory for a process to map), "semaphore" (for a session), "word" (a
  // semaphore for a process to map) and "event". No kind is a prefix of
  // another.
  void Put(const std::string& kind, const Offer& offer);
  // Takes an offer of this kind from the board, so that no other process gets
  // it. `choice` is any number, and selects the offer. nullopt: there is no
  // offer, or another process has just taken the selected one.
  std::optional<Offer> Take(const std::string& kind, uint32_t choice);

  // Adds to the count of an action. Counted returns the count of all processes.
  void Count(Deed deed, uint64_t count = 1);
  uint64_t Counted(Deed deed) const;

 private:
  const std::string directory_;
  uint64_t* counts_ = nullptr;
  int offers_ = 0;
};

}  // namespace holdfast::e2e

#endif  // HOLDFAST_TESTS_E2E_SHARING_STORM_BOARD_H_
