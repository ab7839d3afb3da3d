// SPDX-License-Identifier: Apache-2.0
#include "client/cli/graph_source.h"

#include <algorithm>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/printable.h"

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

bool IsBelow(const fs::path& path, const fs::path& folder) {
  const auto [rest, ignored] =
      std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return rest == folder.end();
}

}  // namespace

absl::StatusOr<std::string> GraphSource(const fs::path& folder,
                                        const std::string& source) {
  const fs::path here = folder.empty() ? fs::path(".") : folder;
  std::error_code error;
  const fs::path root = fs::canonical(here, error);
  if (error) {
    return absl::NotFoundError(absl::StrCat("the graph's folder ",
                                            ToPrintable(here.string()), ": ",
                                            error.message()));
  }
  const fs::path named = source;
  const absl::Status outside = absl::InvalidArgumentError(
      absl::StrCat("the graph names the source \"", ToPrintable(source),
                   "\", which is not below the graph's folder, ",
                   ToPrintable(root.string())));
  if (named.is_absolute() ||
      std::find(named.begin(), named.end(), "..") != named.end()) {
    return outside;
  }
  const fs::path path = fs::canonical(here / named, error);
  if (error) {
    return absl::NotFoundError(absl::StrCat(
        "the graph's source \"", ToPrintable(source), "\": ", error.message()));
  }
  if (!IsBelow(path, root)) return outside;
  return (here / named).string();
}

}  // namespace holdfast::cli
