// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_C_JSON_H_
#define HOLDFAST_CLIENT_C_JSON_H_

#include "absl/status/status.h"
#include "client/c/holdfast.h"
#include "google/protobuf/message.h"

namespace holdfast::c {

// Hands the message to the caller as JSON, with the names of the .proto file
// and fields that have their default.
absl::Status GiveJson(const google::protobuf::Message& message, hf_text** out);

// Reads what GiveJson writes, or the names that protobuf's JSON has.
// INVALID_ARGUMENT: it is no such message, and why.
absl::Status ReadJson(const char* json, google::protobuf::Message* message);

}  // namespace holdfast::c

#endif  // HOLDFAST_CLIENT_C_JSON_H_
