// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_C_JSON_H_
#define HOLDFAST_CLIENT_C_JSON_H_

#include "absl/status/status.h"
#include "client/c/holdfast.h"
#include "google/protobuf/message.h"

namespace holdfast::c {

// Sets *out to the message as JSON, which the caller frees. The fields have
// their names in the .proto file; fields with default values are included.
absl::Status GiveJson(const google::protobuf::Message& message, hf_text** out);

// Reads the text of GiveJson, or JSON with protobuf's own names of fields.
// INVALID_ARGUMENT: the text is not such a message; the error names the reason.
absl::Status ReadJson(const char* json, google::protobuf::Message* message);

}  // namespace holdfast::c

#endif  // HOLDFAST_CLIENT_C_JSON_H_
