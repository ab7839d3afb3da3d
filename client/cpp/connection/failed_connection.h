// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_FAILED_CONNECTION_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_FAILED_CONNECTION_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cpp/connection/address.h"

namespace holdfast {

// Finds out why gRPC could not connect to a network address; gRPC itself does
// not report the reason. Connects once more, with its own socket and TLS
// handshake. Each step of the connection may take `limit`. Returns UNAVAILABLE
// with a sentence that names the mistake and the option of the address that
// corrects it.
// REQUIRES: `address` is of kind kTcp or kTls.
absl::Status ExplainFailedConnection(const Address& address,
                                     absl::Duration limit);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_FAILED_CONNECTION_H_
