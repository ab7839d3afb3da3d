// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_ACCOUNT_CHUNK_LIMIT_H_
#define HOLDFAST_SERVER_ACCOUNT_CHUNK_LIMIT_H_

#include <cstddef>
#include <cstdint>

#include "server/account/quota.h"

namespace holdfast {

// The part of a chunk limit that does not depend on the limit of the buffers:
// bytes for each device.
inline constexpr uint64_t kChunkSlackOfDevice = uint64_t{64} << 20;

// Returns the limit, in bytes, of the chunks of device memory for clients whose
// buffers may have `buffer_bytes` in sum. The limit is twice `buffer_bytes`,
// and kChunkSlackOfDevice for each device. A chunk is larger than its buffers:
// its size is rounded up to the device's granularity, a shared chunk has room
// for later buffers, and freed memory stays in a chunk while a device uses it.
// The sum saturates, because `buffer_bytes` may come from a client.
// Quota::kUnlimited stays unlimited.
inline uint64_t ChunkLimit(uint64_t buffer_bytes, size_t devices) {
  const auto add = [](uint64_t a, uint64_t b) {
    return a > Quota::kUnlimited - b ? Quota::kUnlimited : a + b;
  };
  const uint64_t slack = devices > Quota::kUnlimited / kChunkSlackOfDevice
                             ? Quota::kUnlimited
                             : devices * kChunkSlackOfDevice;
  return add(add(buffer_bytes, buffer_bytes), slack);
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_ACCOUNT_CHUNK_LIMIT_H_
