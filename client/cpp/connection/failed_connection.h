// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_FAILED_CONNECTION_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_FAILED_CONNECTION_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cpp/connection/address.h"

namespace holdfast {

// Looks for the reason why gRPC, which does not tell, could not connect to an
// address of the network. Connects once more, with a socket and a TLS handshake
// of its own; each of their steps may take `limit`. Returns UNAVAILABLE with a
// sentence that names the mistake and the option of the address that mends it.
// REQUIRES: `address` is of kind kTcp or kTls.
absl::Status ExplainFailedConnection(const Address& address,
                                     absl::Duration limit);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_FAILED_CONNECTION_H_
