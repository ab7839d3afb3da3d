// SPDX-License-Identifier: Apache-2.0
//
// The headers of this machine that a source includes. The daemon's compiler
// reads no file of the client's: it gets each header as a text under a name.
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

// The daemon takes no more.
inline constexpr size_t kMaxCollectedHeaders = 8192;
inline constexpr size_t kMaxCollectedBytes = size_t{32} << 20;

struct HeaderSearch {
  // Searched in this order. A folder of a CUDA toolkit is passed over, since
  // the daemon's own toolkit belongs to its compiler; so is a missing one.
  std::vector<std::string> folders;
  // Included before the first line of the source, in this order: files, or
  // names that are sought as the source's are.
  std::vector<std::string> pre_includes;
  // Where #include "..." of the source itself is sought first; empty: nowhere.
  std::string source_folder;
  // The source's name in messages; lines are counted for it.
  std::string source_name;

  // True if nothing is to be read.
  bool empty() const {
    return folders.empty() && pre_includes.empty() && source_folder.empty();
  }
};

struct SourceWithHeaders {
  std::string source;
  std::map<std::string, std::string> headers;
};

// Reads every header that the source names, and the headers that these name. A
// header that is not found is left to the daemon, which has the toolkit's.
// Lines of #include and __has_include count whether they are compiled or not;
// names that macros make and absolute paths do not. The compiler knows headers
// by one name each: where a file says another name, its text is changed to that
// name. `given` come first, as they are. RESOURCE_EXHAUSTED: the headers are
// over one of the limits above.
absl::StatusOr<SourceWithHeaders> CollectHeaders(
    std::string source, std::map<std::string, std::string> given,
    const HeaderSearch& search);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COMPILE_HEADER_SEARCH_H_
