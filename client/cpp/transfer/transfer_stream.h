// SPDX-License-Identifier: Apache-2.0
//
// Bytes by TransferService: one call, or for many bytes several at once, each
// on a connection of its own. They go from the caller's memory, and come to it,
// without a copy in between.
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_STREAM_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_STREAM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "client/cpp/transfer/transfer_channels.h"
#include "holdfast/v1/transfers.pb.h"

namespace holdfast {

// How the bytes of one session go. References have to live until the transfer
// returns.
struct TransferRoute {
  TransferChannels& channels;
  // 32 hexadecimal digits.
  const std::string& token;
  // Bytes in one message. At most what the daemon takes; see SessionLimits.
  uint64_t max_chunk_bytes = 0;
  uint32_t max_calls = 1;
  // The metadata of retried_transfer.h for the calls of one try; may be empty.
  std::string which_try = {};
};

// How many calls at once are of use on this machine, if the bytes are many.
// Half of the machine's threads, 1 to 8.
uint32_t UsefulTransferCalls();

// Return when `data` may be used again: every byte is in the buffer, or there.
// The first failure of a part ends the others. Both block. One call is made for
// each 8 MiB, up to max_calls. The errors are those of the daemon or the
// connection; how many bytes have arrived is then unknown.
absl::Status UploadStream(const TransferRoute& route,
                          const v1::TransferRange& range, const char* data);
absl::Status DownloadStream(const TransferRoute& route,
                            const v1::TransferRange& range, char* data);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_STREAM_H_
