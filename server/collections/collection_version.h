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
#include "server/executor/account/quota.h"
#include "server/sharing/export_registry.h"

namespace holdfast::collections {

// A committed version of a collection. It never changes; its memory lives as
// long as somebody holds it.
struct CollectionVersion {
  uint64_t number = 0;
  std::string client;   // that it belongs to
  std::string session;  // that committed it
  absl::Time committed;
  // The client's description, without handles.
  v1::CommitCollection contents;
  std::vector<SharedResource> buffers;
  // The bytes of their chunks, charged to the tenant. Versions that have a
  // chunk in common share its charge.
  std::vector<std::shared_ptr<const Charge>> charges;

  // Bytes of all buffers.
  uint64_t size() const;
  // Each chunk once.
  std::set<SharedChunk*> chunks() const;
};

inline constexpr size_t kMaxCollectionBuffers = 1024;

// Is this a collection of buffers of these sizes, in bytes?
// INVALID_ARGUMENT: a bad name, a name twice, an array whose size is not that
// of
//   its dtype, shape and strides, or whose offset is no multiple of its
//   element's size; too much metadata.
// OUT_OF_RANGE: an array beyond its buffer's end, or of a buffer that is not
//   there. Messages name the array.
absl::Status CheckContents(const v1::CommitCollection& contents,
                           absl::Span<const uint64_t> buffer_sizes);

}  // namespace holdfast::collections

#endif  // HOLDFAST_SERVER_COLLECTIONS_COLLECTION_VERSION_H_
