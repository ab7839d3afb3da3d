// SPDX-License-Identifier: Apache-2.0
#include "client/c/json.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
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
  return Give(std::move(json), out);
}

absl::Status ReadJson(const char* json, google::protobuf::Message* message) {
  const auto status =
      google::protobuf::util::JsonStringToMessage(json, message);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("not a ", message->GetDescriptor()->name(), ": ",
                   std::string(status.message())));
}

}  // namespace holdfast::c
