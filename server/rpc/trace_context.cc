// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/trace_context.h"

#include <algorithm>
#include <string>

#include "server/rpc/metadata.h"

namespace holdfast {
namespace {

// Positions in "vv-<32>-<16>-ff".
constexpr size_t kTraceAt = 3;
constexpr size_t kTraceDigits = 32;
constexpr size_t kSpanAt = kTraceAt + kTraceDigits + 1;
constexpr size_t kSpanDigits = 16;
constexpr size_t kFlagsAt = kSpanAt + kSpanDigits + 1;
constexpr size_t kLength = kFlagsAt + 2;

// The standard allows no capitals.
bool IsHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

bool IsId(absl::string_view text) {
  return IsHex(text) && text.find_first_not_of('0') != text.npos;
}

// Version ff is forbidden. A later version than 00 may have more behind a
// further dash.
bool HasKnownForm(absl::string_view value) {
  if (value.size() < kLength) return false;
  const absl::string_view version = value.substr(0, 2);
  if (!IsHex(version) || version == "ff") return false;
  if (value.size() > kLength && (version == "00" || value[kLength] != '-')) {
    return false;
  }
  return value[kTraceAt - 1] == '-' && value[kSpanAt - 1] == '-' &&
         value[kFlagsAt - 1] == '-' && IsHex(value.substr(kFlagsAt, 2));
}

}  // namespace

LogFields ParseTraceParent(absl::string_view value) {
  if (!HasKnownForm(value)) return {};
  const absl::string_view trace = value.substr(kTraceAt, kTraceDigits);
  const absl::string_view span = value.substr(kSpanAt, kSpanDigits);
  if (!IsId(trace) || !IsId(span)) return {};
  LogFields fields;
  fields.trace_id = std::string(trace);
  fields.span_id = std::string(span);
  return fields;
}

LogFields TraceOf(const grpc::ServerContextBase& context) {
  const auto value = FindMetadata(context, kTraceParentKey);
  if (!value.has_value() || value->size() > kTraceParentKey.max_bytes) {
    return {};
  }
  return ParseTraceParent(*value);
}

}  // namespace holdfast
