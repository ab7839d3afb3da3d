// SPDX-License-Identifier: Apache-2.0
//
// The metadata keys of the API's calls, from the table in metadata.inc:
//
//   context.AddMetadata(kSessionTokenKey.name, token);
#ifndef HOLDFAST_PROTO_METADATA_H_
#define HOLDFAST_PROTO_METADATA_H_

#include <cstddef>

namespace holdfast {

// Determines whether the daemon copies a key to an executor's call when it
// forwards a client's call.
enum class MetadataPassage {
  kForwarded,
  // The key is for the daemon, or belongs only to this connection.
  kEndsHere,
};

struct MetadataKey {
  const char* name;
  // The most bytes of a value; 0: values are not read.
  size_t max_bytes;
  MetadataPassage passage;
};

#define HOLDFAST_METADATA(Name, key, max_bytes, passage)    \
  inline constexpr MetadataKey k##Name##Key{key, max_bytes, \
                                            MetadataPassage::passage};
#include "proto/metadata.inc"

inline constexpr MetadataKey kMetadataKeys[] = {
#define HOLDFAST_METADATA(Name, key, max_bytes, passage) k##Name##Key,
#include "proto/metadata.inc"
};

// The greatest value of kTrailerBytesKey. Without the key, the trailers of a
// failed call are cut to 6 KiB, which every gRPC client accepts; a compiler's
// log may need more.
inline constexpr size_t kMaxTrailerBytes = size_t{1} << 20;

}  // namespace holdfast

#endif  // HOLDFAST_PROTO_METADATA_H_
