// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COMPILE_REQUEST_TEXT_H_
#define HOLDFAST_CLIENT_CPP_COMPILE_REQUEST_TEXT_H_

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace holdfast {

// A `string` of a message that is not UTF-8 cannot be sent, and gRPC does not
// say so. INVALID_ARGUMENT names the first one: its field and its text.
absl::Status CheckRequestText(const google::protobuf::Message& request);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COMPILE_REQUEST_TEXT_H_
