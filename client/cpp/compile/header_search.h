// SPDX-License-Identifier: Apache-2.0
//
// Collects the headers on this machine that a source includes. The daemon's
// compiler reads no files of the client, so each header is sent as a text with
// a name.
//
//   HeaderSearch search;
//   search.folders = {"/home/me/include"};
//   HOLDFAST_ASSIGN_OR_RETURN(const SourceWithHeaders whole,
//                             CollectHeaders(source, {}, search));
#ifndef HOLDFAST_CLIENT_CPP_COMPILE_HEADER_SEARCH_H_
#define HOLDFAST_CLIENT_CPP_COMPILE_HEADER_SEARCH_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace holdfast {

// The daemon's limits for the number of headers, and for the bytes of all
// headers together.
inline constexpr size_t kMaxCollectedHeaders = 8192;
inline constexpr size_t kMaxCollectedBytes = size_t{32} << 20;

struct HeaderSearch {
  // Searched in this order. Folders that do not exist are skipped, and so are
  // folders of a CUDA toolkit, because the daemon's compiler has its own.
  std::vector<std::string> folders;
  // Headers included before the first line of the source, in this order: paths
  // of files, or names to search for like those in the source.
  std::vector<std::string> pre_includes;
  // The first folder to search for #include "..." of the source itself; empty:
  // none.
  std::string source_folder;
  // The name of the source in the compiler's messages.
  std::string source_name;

  // True if no header has to be read.
  bool empty() const {
    return folders.empty() && pre_includes.empty() && source_folder.empty();
  }
};

struct SourceWithHeaders {
  std::string source;
  std::map<std::string, std::string> headers;
};

// Reads every header that the source includes, and the headers that these
// include. A header that is not found is left to the daemon, whose toolkit may
// have it. Every #include and __has_include counts, even in code that is not
// compiled, except absolute paths and names made by macros. The compiler knows
// each header by one name; an #include that spells it differently is rewritten.
// `given` headers take precedence and stay unchanged. RESOURCE_EXHAUSTED: the
// headers exceed a limit above.
absl::StatusOr<SourceWithHeaders> CollectHeaders(
    std::string source, std::map<std::string, std::string> given,
    const HeaderSearch& search);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COMPILE_HEADER_SEARCH_H_
