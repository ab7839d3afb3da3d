// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_PAGE_PAGE_FILES_H_
#define HOLDFAST_SERVER_TELEMETRY_PAGE_PAGE_FILES_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace holdfast {

// A file of the status page, compiled into the daemon.
struct PageFile {
  absl::string_view content_type;
  absl::string_view text;
};

// Returns the file with this path: "/", "/page.css" or "/page.js". Returns
// nullopt for any other path.
std::optional<PageFile> FindPageFile(absl::string_view path);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_PAGE_PAGE_FILES_H_
