// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/request_text.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/utf8.h"

namespace holdfast {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

absl::Status CheckFields(const Message& message, const std::string& path);

// `index` is -1 in a field that is not repeated.
absl::Status CheckField(const Message& message, const FieldDescriptor& field,
                        int index, const std::string& path) {
  const auto& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return CheckFields(
        index < 0 ? reflection.GetMessage(message, &field)
                  : reflection.GetRepeatedMessage(message, &field, index),
        absl::StrCat(path, "."));
  }
  std::string scratch;
  const std::string& text =
      index < 0 ? reflection.GetStringReference(message, &field, &scratch)
                : reflection.GetRepeatedStringReference(message, &field, index,
                                                        &scratch);
  if (IsValidUtf8(text)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", absl::CHexEscape(text), "\" in ", path, " is not UTF-8"));
}

absl::Status CheckFields(const Message& message, const std::string& path) {
  const auto& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->type() != FieldDescriptor::TYPE_STRING &&
        field->type() != FieldDescriptor::TYPE_MESSAGE) {
      continue;
    }
    const std::string name = absl::StrCat(path, field->name());
    if (!field->is_repeated()) {
      HOLDFAST_RETURN_IF_ERROR(CheckField(message, *field, -1, name));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      HOLDFAST_RETURN_IF_ERROR(CheckField(message, *field, i, name));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRequestText(const Message& request) {
  return CheckFields(request, "");
}

}  // namespace holdfast
