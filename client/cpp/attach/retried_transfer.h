// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_ATTACH_RETRIED_TRANSFER_H_
#define HOLDFAST_CLIENT_CPP_ATTACH_RETRIED_TRANSFER_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "holdfast/v1/transfers.pb.h"

namespace holdfast {

// A transfer and how often it was tried, as metadata (kTransferKey): the
// executor ends the calls of earlier tries before it begins with a later one,
// so that none of their bytes arrives behind the transfer's end.
struct TransferTry {
  std::string id;  // of this transfer and no other of its session
  uint32_t number = 1;

  std::string ToString() const;
};

// Carries out a transfer by `transfer(part, begin, try)`, whose part begins
// `begin` bytes behind the range's begin. If its connection breaks, does it
// again, in parts of `max_part` bytes, each as often as it takes: bytes that
// are there already are written or read once more. `await_session()` blocks
// until the session has a connection again, and returns why there will be none.
absl::Status RetriedTransfer(
    const v1::TransferRange& range, uint64_t max_part,
    absl::FunctionRef<absl::Status(const v1::TransferRange& part,
                                   uint64_t begin, const TransferTry& which)>
        transfer,
    absl::FunctionRef<absl::Status()> await_session);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_ATTACH_RETRIED_TRANSFER_H_
