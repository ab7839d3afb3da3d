// SPDX-License-Identifier: Apache-2.0
#include "client/c/json.h"

#include <string>
#include <utility>

#include "client/c/error.h"
#include "client/c/handles.h"
#include "google/protobuf/util/json_util.h"

namespace holdfast::c {

absl::Status GiveJson(const google::protobuf::Message& message, hf_text** out) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) return absl::InternalError(std::string(status.message()));
  Give(std::move(json), out);
  return absl::OkStatus();
}

}  // namespace holdfast::c
