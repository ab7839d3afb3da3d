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

// Queues the sessions that claim to write a collection's first version, in
// order of arrival. Not thread-safe.
class WriteClaims {
 public:
  // Owner and name.
  using Key = std::pair<std::string, std::string>;
  // Called with nullopt when the session may write, with the version that
  // another session has written, or with an error when the claim has ended.
  // Each at most once, and nothing after a version or an error.
  using Answer = std::function<void(
      const absl::StatusOr<std::optional<v1::CollectionVersion>>&)>;

  static constexpr size_t kMaxWaiting = 4096;

  // Adds a claim. The first claim of a key is told to write; the others wait.
  // Returns a number for Remove; 0 if too many wait.
  int64_t Add(const Key& key, const std::string& session, Answer answer);
  // Removes a claim. If it was the writer's, tells the next session to write.
  // Returns the claim's key, if there is such a claim.
  std::vector<Key> Remove(int64_t claim);
  // Removes the claims of a session that has ended, and answers them with
  // CANCELLED.
  std::vector<Key> EndSession(const std::string& session);

  // Notes that an earlier daemon has told the session to write. Other claims
  // wait until the session claims the key again or ends.
  void Expect(const Key& key, const std::string& session);
  // Returns the session that was told to write; empty if there is none.
  std::string WriterOf(const Key& key) const;

  // FAILED_PRECONDITION: another session writes it.
  absl::Status MayWrite(const Key& key, const std::string& session) const;
  // Answers all waiting claims with the version.
  void Resolve(const Key& key, const v1::CollectionVersion& version);

 private:
  struct Claim {
    int64_t number = 0;  // 0: expected, has no answer to call
    std::string session;
    Answer answer;
  };
  using Claims = std::map<Key, std::list<Claim>>;

  // Removes the claims of the key for which `is_gone` returns true. If the
  // writer's claim is among them, tells the next session to write.
  void RemoveIf(Claims::iterator claims,
                const std::function<bool(const Claim&)>& is_gone);

  // The front of each list is the writer's. Empty lists are erased.
  Claims claims_;
  std::map<int64_t, Key> keys_;
  int64_t last_ = 0;
};

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_WRITE_CLAIMS_H_
