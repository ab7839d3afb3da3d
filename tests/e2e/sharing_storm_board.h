// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_E2E_SHARING_STORM_BOARD_H_
#define HOLDFAST_TESTS_E2E_SHARING_STORM_BOARD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cpp/sharing/export.h"

namespace holdfast::e2e {

// The things that processes of a storm did, which the test counts.
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
const char* Name(Deed deed);

// Exported memory, and the seed of the pattern that it holds.
struct Offer {
  LocalExport memory;  // for a session: the token alone
  // Or the value that a semaphore has.
  uint32_t seed = 0;
};

// The words that memory with this seed holds.
std::vector<uint32_t> Pattern(uint32_t seed, size_t words);

// Where the processes of a storm leave tokens for each other, in files of a
// directory, and count their deeds, in memory that they share. A process may be
// killed at any instant.
class StormBoard {
 public:
  explicit StormBoard(std::string directory);
  ~StormBoard();
  StormBoard(const StormBoard&) = delete;
  StormBoard& operator=(const StormBoard&) = delete;

  // `kind`: who may take it, "session" or "process"; of semaphores and events,
  // "semaphore", "word" (for a process) and "event"; no kind begins with
  // another.
  void Put(const std::string& kind, const Offer& offer);
  // One of those that are there, which no other process gets then; `choice` is
  // any number.
  std::optional<Offer> Take(const std::string& kind, uint32_t choice);

  void Count(Deed deed, uint64_t count = 1);
  uint64_t Counted(Deed deed) const;

 private:
  const std::string directory_;
  uint64_t* counts_ = nullptr;
  int offers_ = 0;
};

}  // namespace holdfast::e2e

#endif  // HOLDFAST_TESTS_E2E_SHARING_STORM_BOARD_H_
