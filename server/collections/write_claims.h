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

// The sessions that claim to write a collection's first version, in order of
// arrival. The first session of a collection is its writer: it may write, and
// the others wait. Not thread-safe.
class WriteClaims {
 public:
  // Owner and name.
  using Key = std::pair<std::string, std::string>;
  // Called with nullopt when the session may write, with the version when it
  // was written, or with an error when the claim has ended. A call with nullopt
  // comes at most once, and no call follows a version or an error. Must not
  // call this object.
  using Answer = std::function<void(
      const absl::StatusOr<std::optional<v1::CollectionVersion>>&)>;

  static constexpr size_t kMaxWaiting = 4096;

  // Adds a claim. Calls `answer` with nullopt before it returns if the claim is
  // the first of its key. Returns a number for Remove; 0 if there are
  // kMaxWaiting claims.
  int64_t Add(const Key& key, const std::string& session, Answer answer);
  // Removes a claim without an answer. If it was the writer's, the next session
  // becomes the writer. Returns the claim's key; nothing if there is no such
  // claim.
  std::vector<Key> Remove(int64_t claim);
  // Removes the claims of a session that has ended, and answers them with
  // CANCELLED. Where the session was the writer, the next session becomes the
  // writer. Returns the keys of the claims.
  std::vector<Key> EndSession(const std::string& session);

  // Makes the session the writer, because an earlier daemon has done so. Other
  // claims wait until the session has written or ended. A claim of the session
  // is answered with nullopt again.
  void Expect(const Key& key, const std::string& session);
  // Returns the writer's session; empty if there is none.
  std::string WriterOf(const Key& key) const;

  // Checks whether the session may write. FAILED_PRECONDITION: another session
  // is the writer.
  absl::Status MayWrite(const Key& key, const std::string& session) const;
  // Removes all claims of the key, and answers them with the version that was
  // written.
  void Resolve(const Key& key, const v1::CollectionVersion& version);

 private:
  struct Claim {
    int64_t number = 0;  // 0: made by Expect, and has no answer to call
    std::string session;
    Answer answer;
  };
  using Claims = std::map<Key, std::list<Claim>>;

  // Removes the claims of the key for which `is_gone` returns true. If the
  // writer's claim is among them, the next session becomes the writer.
  void RemoveIf(Claims::iterator claims,
                const std::function<bool(const Claim&)>& is_gone);

  // The front of each list is the writer's. Empty lists are erased.
  Claims claims_;
  std::map<int64_t, Key> keys_;
  int64_t last_ = 0;
};

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_WRITE_CLAIMS_H_
