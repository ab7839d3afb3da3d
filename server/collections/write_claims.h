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
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "holdfast/v1/collection_commands.pb.h"

namespace holdfast::collections {

// Sessions that write a collection's first version, and those that wait for it,
// in the order in which they came. Not thread-safe.
class WriteClaims {
 public:
  // Owner and name.
  using Key = std::pair<std::string, std::string>;
  // A version: it is there. nullopt: write it. An error: the claim has ended.
  // At most once each; nothing comes after a version or an error.
  using Answer = std::function<void(
      const absl::StatusOr<std::optional<v1::CollectionVersion>>&)>;

  static constexpr size_t kMaxWaiting = 4096;

  // The first one of a key is told to write; the others wait. Returns a number
  // for Remove; 0: too many wait.
  int64_t Add(const Key& key, const std::string& session, Answer answer);
  // If it was the one that writes, the next one is told to. Returns the key;
  // none if there is no such claim.
  std::vector<Key> Remove(int64_t claim);
  // All of a session, which has ended: they are answered with CANCELLED.
  std::vector<Key> EndSession(const std::string& session);

  // An earlier daemon has told the session to write, and it may not know of
  // this one yet: others wait until it has claimed the key again or has ended.
  void Expect(const Key& key, const std::string& session);
  // The session that was told to write; empty: none.
  std::string WriterOf(const Key& key) const;

  // FAILED_PRECONDITION: another session writes it.
  absl::Status MayWrite(const Key& key, const std::string& session) const;
  // There is a version: everybody who waits is told.
  void Resolve(const Key& key, const v1::CollectionVersion& version);

 private:
  struct Claim {
    int64_t number = 0;  // 0: expected, there is nobody to answer
    std::string session;
    Answer answer;
  };
  using Claims = std::map<Key, std::list<Claim>>;

  // Removes those of the key's claims that `is_gone` says. If the one that
  // writes is among them, the next one is told to.
  void RemoveIf(Claims::iterator claims,
                const std::function<bool(const Claim&)>& is_gone);

  // The front one writes. A list that is empty is erased.
  Claims claims_;
  std::map<int64_t, Key> keys_;
  int64_t last_ = 0;
};

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_WRITE_CLAIMS_H_
