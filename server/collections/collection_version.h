// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COLLECTIONS_COLLECTION_VERSION_H_
#define HOLDFAST_SERVER_COLLECTIONS_COLLECTION_VERSION_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/base/collection_limits.h"
#include "holdfast/v1/collection_commands.pb.h"
#include "server/account/quota.h"
#include "server/sharing/export_registry.h"

namespace holdfast::collections {

// A committed version of a collection. Never changes. Its memory lives until
// the last shared_ptr to the version is destroyed.
struct CollectionVersion {
  uint64_t number = 0;
  std::string client;   // the owner
  std::string session;  // the session that committed it
  absl::Time committed;
  // The client's description, without handles.
  v1::CommitCollection contents;
  std::vector<SharedResource> buffers;
  // The charges of the buffers' chunks to the tenant. Versions with a common
  // chunk share the charge of that chunk.
  std::vector<std::shared_ptr<const Charge>> charges;

  // The owner's quota of collections; null: the version is not charged.
  std::shared_ptr<const Quota> quota() const;
  // Bytes of all buffers.
  uint64_t size() const;
  // Returns the distinct chunks of the buffers, which own them.
  std::set<SharedChunk*> chunks() const;
};

// The most buffers of a version.
inline constexpr size_t kMaxCollectionBuffers = 1024;

// Checks the contents against buffers of these sizes, in bytes. An error of an
// array names the array.
//  INVALID_ARGUMENT: the collection's name is bad; an array's name is bad or
//    occurs twice; there is too much metadata; there are no buffers, or more
//    than kMaxCollectionBuffers; an array's size does not match its dtype,
//    shape and strides; or its offset is not a multiple of its element size.
//  OUT_OF_RANGE: an array is beyond its buffer's end, or in no buffer.
absl::Status CheckContents(const v1::CommitCollection& contents,
                           absl::Span<const uint64_t> buffer_sizes);

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_COLLECTION_VERSION_H_
