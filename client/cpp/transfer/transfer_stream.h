// SPDX-License-Identifier: Apache-2.0
//
// Transfers by TransferService: one call or, for many bytes, several parallel
// calls, each on its own connection. Bytes are sent from the caller's memory,
// and received into it, without a copy in between.
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_STREAM_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_STREAM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "client/cpp/connection/transfer_channels.h"
#include "holdfast/v1/transfers.pb.h"

namespace holdfast {

// The parameters of a session's transfers. References must live until the
// transfer returns.
struct TransferRoute {
  TransferChannels& channels;
  // 32 hexadecimal digits.
  const std::string& token;
  // The most bytes of one message; at most the daemon's limit, see
  // SessionLimits.
  uint64_t max_chunk_bytes = 0;
  uint32_t max_calls = 1;
  // The text of a TransferTry (retried_transfer.h), which the calls of one try
  // send; empty: no try is named.
  std::string which_try = {};
};

// Returns the number of parallel calls that is useful for large transfers: half
// of the machine's threads, 1 to 8.
uint32_t UsefulTransferCalls();

// Block until every byte is copied. Make one call for each 8 MiB, up to
// max_calls. The first failure of a call, an error of the daemon or of the
// connection, ends the other calls and is returned. The number of copied bytes
// is then unknown.
absl::Status UploadStream(const TransferRoute& route,
                          const v1::TransferRange& range, const char* data);
absl::Status DownloadStream(const TransferRoute& route,
                            const v1::TransferRange& range, char* data);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_STREAM_H_
