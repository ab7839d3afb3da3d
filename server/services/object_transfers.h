// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_OBJECT_TRANSFERS_H_
#define HOLDFAST_SERVER_SERVICES_OBJECT_TRANSFERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "proto/protocol_limits.h"
#include "server/objects/object_store.h"
#include "server/rpc/fair_share.h"
#include "server/rpc/stall_guard.h"

namespace holdfast {

// Limits the calls that put and get objects: their number, the bytes of
// unfinished uploads, and the time that a client may take for one message. One
// client gets at most half of the calls and bytes, which is enough for one
// upload of the largest size. Thread-safe.
struct ObjectTransfers {
  static constexpr size_t kMaxPartBytes = kMaxChunkBytes;
  static constexpr size_t kMaxHeaderBytes = size_t{4} << 20;  // with symbols
  static constexpr uint64_t kMaxStreams = 256;
  static constexpr absl::Duration kStallLimit = absl::Minutes(1);

  // `store_bytes` is the store's limit in bytes. Unfinished uploads may take
  // the same number of bytes in addition, but at least twice the largest
  // object.
  explicit ObjectTransfers(uint64_t store_bytes)
      : streams("calls of PutObject and GetObject", kMaxStreams),
        bytes("bytes of unfinished uploads",
              std::max(store_bytes, 2 * ObjectWriter::kMaxObjectBytes)),
        stall_guard(kStallLimit) {}

  FairShare streams;
  FairShare bytes;
  StallGuard stall_guard;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_OBJECT_TRANSFERS_H_
