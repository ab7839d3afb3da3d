// SPDX-License-Identifier: Apache-2.0
#include "client/c/error.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace holdfast::c {
namespace {

// Stands for an error whose own memory could not be allocated. Never freed.
hf_error* OutOfMemory() {
  static hf_error* const error = new hf_error{
      absl::ResourceExhaustedError("out of memory"), "out of memory", {}, {}};
  return error;
}

// A compiler's log has its own accessor.
std::string MessageWithoutLog(absl::string_view message,
                              absl::string_view log) {
  if (!log.empty() && absl::ConsumeSuffix(&message, log)) {
    message = absl::StripTrailingAsciiWhitespace(message);
  }
  return std::string(message);
}

// Made while there is memory.
const hf_error* const out_of_memory = OutOfMemory();

}  // namespace

absl::Status NullArgument(absl::string_view names, size_t index) {
  const std::vector<absl::string_view> all = absl::StrSplit(names, ", ");
  return absl::InvalidArgumentError(absl::StrCat(all[index], " is NULL"));
}

hf_error* ToError(const absl::Status& status) {
  if (status.ok()) return nullptr;
  try {
    ErrorDetail detail = GetErrorDetail(status).value_or(ErrorDetail{});
    std::string message = MessageWithoutLog(status.message(), detail.log);
    return new hf_error{status, std::move(message), std::move(detail),
                        Fault::Of(status)};
  } catch (const std::exception&) {
    return OutOfMemory();
  }
}

}  // namespace holdfast::c

extern "C" {

const char* hf_code_name(hf_code code) {
  static const auto* const names = [] {
    auto* const all = new std::string[HF_UNAUTHENTICATED + 1];
    for (int i = 0; i <= HF_UNAUTHENTICATED; ++i) {
      all[i] = absl::StatusCodeToString(static_cast<absl::StatusCode>(i));
    }
    return all;
  }();
  const int index = static_cast<int>(code);
  return names[index < 0 || index > HF_UNAUTHENTICATED ? HF_UNKNOWN : index]
      .c_str();
}

hf_code hf_error_code(const hf_error* error) {
  return error == nullptr ? HF_OK : static_cast<hf_code>(error->status.code());
}

const char* hf_error_message(const hf_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}

const char* hf_error_call(const hf_error* error) {
  return error == nullptr ? "" : error->detail.call.c_str();
}

int32_t hf_error_result(const hf_error* error) {
  return error == nullptr ? 0 : error->detail.result;
}

const char* hf_error_result_name(const hf_error* error) {
  return error == nullptr ? "" : error->detail.result_name.c_str();
}

const char* hf_error_explanation(const hf_error* error) {
  return error == nullptr ? "" : error->detail.explanation.c_str();
}

const char* hf_error_log(const hf_error* error) {
  return error == nullptr ? "" : error->detail.log.c_str();
}

bool hf_error_session_lost(const hf_error* error) {
  return error != nullptr && error->detail.session_lost;
}

const hf_fault* hf_error_fault(const hf_error* error) {
  return error == nullptr || error->fault == nullptr ? nullptr
                                                     : &error->fault->view();
}

void hf_error_free(hf_error* error) {
  if (error != holdfast::c::out_of_memory) delete error;
}

const char* hf_text_data(const hf_text* text) { return text->text.c_str(); }

size_t hf_text_size(const hf_text* text) { return text->text.size(); }

void hf_text_free(hf_text* text) { delete text; }

}  // extern "C"
