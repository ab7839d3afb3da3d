// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_C_JSON_H_
#define HOLDFAST_CLIENT_C_JSON_H_

#include "absl/status/status.h"
#include "client/c/holdfast.h"
#include "google/protobuf/message.h"

namespace holdfast::c {

// Sets *out to the message as JSON; the caller frees it with hf_text_free. The
// fields have their names in the .proto file; fields with default values are
// included. INTERNAL: protobuf cannot convert the message.
absl::Status GiveJson(const google::protobuf::Message& message, hf_text** out);

// Sets *message from JSON in which each field has its name in the .proto file,
// as in the text of GiveJson, or its JSON name in lowerCamelCase.
// INVALID_ARGUMENT: the text is not such a message; the error names the reason.
absl::Status ReadJson(const char* json, google::protobuf::Message* message);

}  // namespace holdfast::c

#endif  // HOLDFAST_CLIENT_C_JSON_H_
