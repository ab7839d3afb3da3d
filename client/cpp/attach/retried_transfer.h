// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_ATTACH_RETRIED_TRANSFER_H_
#define HOLDFAST_CLIENT_CPP_ATTACH_RETRIED_TRANSFER_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "holdfast/v1/transfers.pb.h"

namespace holdfast {

// Identifies a transfer, and one of the tries to carry it out. The calls of the
// try send it as metadata (kTransferKey). The executor ends the calls of
// earlier tries before it begins a later try, so that no byte of an earlier try
// arrives after the transfer's end.
struct TransferTry {
  std::string id;  // unique in the session
  uint32_t number = 1;

  std::string ToString() const;
};

// Carries out a transfer by calls of `transfer`, first for the whole range.
// `part` starts `begin` bytes after the start of `range`. If the connection
// breaks, repeats the whole transfer in parts of `max_part` bytes, and tries
// each part up to 1000 times. `await_session()` blocks until the session has a
// connection again. An error of `await_session`, or any other error of
// `transfer`, ends the transfer.
absl::Status RetriedTransfer(
    const v1::TransferRange& range, uint64_t max_part,
    absl::FunctionRef<absl::Status(const v1::TransferRange& part,
                                   uint64_t begin, const TransferTry& which)>
        transfer,
    absl::FunctionRef<absl::Status()> await_session);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_ATTACH_RETRIED_TRANSFER_H_
