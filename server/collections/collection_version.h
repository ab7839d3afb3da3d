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

// A committed version of a collection. Never changes; its memory lives as long
// as a holder of it.
struct CollectionVersion {
  uint64_t number = 0;
  std::string client;   // the owner
  std::string session;  // the session that committed it
  absl::Time committed;
  // The client's description, without handles.
  v1::CommitCollection contents;
  std::vector<SharedResource> buffers;
  // The charges of their chunks to the tenant. Versions with a common chunk
  // share its charge.
  std::vector<std::shared_ptr<const Charge>> charges;

  // The owner's quota of collections; null: the version is not charged.
  std::shared_ptr<const Quota> quota() const;
  // Bytes of all buffers.
  uint64_t size() const;
  // The distinct chunks of the buffers.
  std::set<SharedChunk*> chunks() const;
};

inline constexpr size_t kMaxCollectionBuffers = 1024;

// Checks the contents against buffers of these sizes, in bytes. Messages name
// the array.
//  INVALID_ARGUMENT: a bad name, a duplicate name, too much metadata, no
//    buffers or over kMaxCollectionBuffers, or an array whose size does not
//    match its dtype, shape and strides, or whose offset is not a multiple of
//    its element size.
//  OUT_OF_RANGE: an array beyond its buffer's end, or in no buffer.
absl::Status CheckContents(const v1::CommitCollection& contents,
                           absl::Span<const uint64_t> buffer_sizes);

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_COLLECTION_VERSION_H_
