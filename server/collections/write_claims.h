// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COLLECTIONS_WRITE_CLAIMS_H_
#define HOLDFAST_SERVER_COLLECTIONS_WRITE_CLAIMS_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "holdfast/v1/collection_commands.pb.h"

namespace holdfast {

// Who writes a collection's first version, and who waits for it, in the order
// in which they came. Not thread-safe.
class WriteClaims {
 public:
  // Owner and name.
  using Key = std::pair<std::string, std::string>;
  // A version: it is there. nullopt: write it. At most once each.
  using Answer =
      std::function<void(const std::optional<v1::CollectionVersion>&)>;

  static constexpr size_t kMaxWaiting = 4096;

  // The first one of a key is told to write; the others wait. Returns a number
  // for Remove; 0: too many wait.
  int64_t Add(const Key& key, const std::string& session, Answer answer);
  // If it was the one that writes, the next one is told to.
  void Remove(int64_t claim);

  // FAILED_PRECONDITION: another session writes it.
  absl::Status MayWrite(const Key& key, const std::string& session) const;
  // There is a version: everybody who waits is told.
  void Resolve(const Key& key, const v1::CollectionVersion& version);

 private:
  struct Claim {
    int64_t number = 0;
    std::string session;
    Answer answer;
  };

  // The front one writes. A list that is empty is erased.
  std::map<Key, std::list<Claim>> claims_;
  std::map<int64_t, Key> keys_;
  int64_t last_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COLLECTIONS_WRITE_CLAIMS_H_
