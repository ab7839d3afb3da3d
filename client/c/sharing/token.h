// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_C_SHARING_TOKEN_H_
#define HOLDFAST_CLIENT_C_SHARING_TOKEN_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/cpp/sharing/export.h"
#include "core/base/status_macros.h"

namespace holdfast::c {

// Returns the options of the caller's struct, or the defaults for null. Fails
// as Complete (handles.h).
inline absl::StatusOr<ExportOptions> ToOptions(const hf_export_options* given) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto all, Complete<hf_export_options>(
                                                given, HF_EXPORT_OPTIONS_INIT));
  return ExportOptions{
      .rights = all.writable ? Rights::kReadWrite : Rights::kRead,
      .offset = all.offset,
      .size = all.size,
      .session_id = Text(all.session_id),
      .tenant = Text(all.tenant),
      .lifetime = absl::Seconds(all.lifetime),
      .max_imports = all.max_imports};
}

// Returns a view of the caller's token. REQUIRES: HF_TOKEN_BYTES bytes.
inline absl::string_view ToToken(const uint8_t* token) {
  return {reinterpret_cast<const char*>(token), HF_TOKEN_BYTES};
}

// Writes a token to the caller's memory. INTERNAL: the daemon sent a token of
// another length.
inline absl::Status GiveToken(const std::string& made, uint8_t* token) {
  if (made.size() != HF_TOKEN_BYTES) {
    return absl::InternalError(
        absl::StrCat("the daemon sent a token of ", made.size(), " bytes"));
  }
  std::memcpy(token, made.data(), made.size());
  return absl::OkStatus();
}

}  // namespace holdfast::c

#endif  // HOLDFAST_CLIENT_C_SHARING_TOKEN_H_
