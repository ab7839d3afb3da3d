// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/page/page_files.h"

namespace holdfast {
namespace {

// Made from the files by BUILD.bazel.
constexpr char kIndexHtml[] =
#include "server/telemetry/page/index.html.inc"
    ;
constexpr char kPageCss[] =
#include "server/telemetry/page/page.css.inc"
    ;
constexpr char kPageJs[] =
#include "server/telemetry/page/page.js.inc"
    ;

}  // namespace

std::optional<PageFile> FindPageFile(absl::string_view path) {
  if (path == "/") return PageFile{"text/html; charset=utf-8", kIndexHtml};
  if (path == "/page.css") return PageFile{"text/css", kPageCss};
  if (path == "/page.js") return PageFile{"text/javascript", kPageJs};
  return std::nullopt;
}

}  // namespace holdfast
