// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_REQUEST_TEXT_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_REQUEST_TEXT_H_

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace holdfast {

// Checks that every `string` field of the message is UTF-8. gRPC does not
// report other text, and a command with such text makes its whole batch
// unreadable, which ends the session. INVALID_ARGUMENT names the first such
// field and its text.
absl::Status CheckRequestText(const google::protobuf::Message& request);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_REQUEST_TEXT_H_
