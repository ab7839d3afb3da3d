// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/compile/header_search.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

// The name of a header in a line, and where in the line it stands.
struct IncludedName {
  absl::string_view name;
  bool quoted = false;
};

// <name> or "name" at the beginning of `text`.
std::optional<IncludedName> ParseName(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  const bool quoted = absl::ConsumePrefix(&text, "\"");
  if (!quoted && !absl::ConsumePrefix(&text, "<")) return std::nullopt;
  const size_t end = text.find(quoted ? '"' : '>');
  if (end == absl::string_view::npos || end == 0) return std::nullopt;
  return IncludedName{text.substr(0, end), quoted};
}

// Of a line that begins with '#'.
std::optional<IncludedName> ParseDirective(absl::string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "#")) return std::nullopt;
  line = absl::StripLeadingAsciiWhitespace(line);
  if (absl::ConsumePrefix(&line, "include")) return ParseName(line);
  constexpr absl::string_view kAsked = "__has_include";
  const size_t asked = line.find(kAsked);
  if (asked == absl::string_view::npos) return std::nullopt;
  line = absl::StripLeadingAsciiWhitespace(line.substr(asked + kAsked.size()));
  return absl::ConsumePrefix(&line, "(") ? ParseName(line) : std::nullopt;
}

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// Within a string literal.
std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}});
}

// CCCL's lie in a folder below, or in one of their own.
bool IsToolkitFolder(const fs::path& folder) {
  return IsFile(folder / "cuda_fp16.h") ||
         (IsFile(folder / "nv" / "target") &&
          IsFile(folder / ".." / "cuda_fp16.h"));
}

class HeaderCollector {
 public:
  HeaderCollector(std::map<std::string, std::string> given,
                  const HeaderSearch& search)
      : headers_(std::move(given)) {
    for (const std::string& folder : search.folders) {
      if (!IsToolkitFolder(folder)) folders_.emplace_back(folder);
    }
    for (const auto& [name, text] : headers_) bytes_ += text.size();
  }

  // The source with the names that its headers go by.
  absl::StatusOr<std::string> Collect(std::string source,
                                      const HeaderSearch& search) {
    std::string before;
    for (std::string header : search.pre_includes) {
      if (!IsGiven(header) && IsFile(header)) {
        HOLDFAST_ASSIGN_OR_RETURN(header,
                                  Read(header, fs::path(header).filename()));
      }
      absl::StrAppend(&before, "#include \"", header, "\"\n");
    }
    if (!before.empty()) {
      // The lines of the source keep their numbers.
      source = absl::StrCat(before, "#line 1 \"", Escaped(search.source_name),
                            "\"\n", source);
    }
    // Headers that were given come from no folder.
    for (auto& [name, text] : headers_) pending_.push_back({name, "", ""});
    HOLDFAST_ASSIGN_OR_RETURN(source, Scan(source, search.source_folder, ""));
    while (!pending_.empty()) {
      const Pending next = std::move(pending_.front());
      pending_.pop_front();
      HOLDFAST_ASSIGN_OR_RETURN(
          headers_[next.name],
          Scan(headers_[next.name], next.folder, next.name_folder));
    }
    return source;
  }

  std::map<std::string, std::string> headers() && {
    return std::move(headers_);
  }

 private:
  // A header whose own lines are to be read.
  struct Pending {
    std::string name;
    std::string folder;       // that its file lies in
    std::string name_folder;  // the same of its name
  };

  // The text, with the names of the headers that it includes.
  absl::StatusOr<std::string> Scan(const std::string& text,
                                   const std::string& folder,
                                   const std::string& name_folder) {
    std::string changed;
    size_t kept = 0;  // of `text`, up to where `changed` goes
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const absl::string_view line(text.data() + begin, end - begin);
      begin = end + 1;
      const std::optional<IncludedName> included = ParseDirective(line);
      if (!included.has_value()) continue;
      HOLDFAST_ASSIGN_OR_RETURN(const std::string name,
                                Find(*included, folder, name_folder));
      if (name == included->name) continue;
      const auto at = static_cast<size_t>(included->name.data() - text.data());
      absl::StrAppend(&changed, absl::string_view(text).substr(kept, at - kept),
                      name);
      kept = at + included->name.size();
    }
    return absl::StrCat(changed, absl::string_view(text).substr(kept));
  }

  // The name under which the daemon gets the header, or the name as it is.
  absl::StatusOr<std::string> Find(const IncludedName& included,
                                   const std::string& folder,
                                   const std::string& name_folder) {
    std::string name(included.name);
    if (IsGiven(name) || absl::StartsWith(name, "/")) return name;
    if (included.quoted && !folder.empty()) {
      const fs::path path = fs::path(folder) / name;
      if (IsFile(path)) {
        return Read(path, (fs::path(name_folder) / name).lexically_normal());
      }
    }
    for (const fs::path& searched : folders_) {
      const fs::path path = searched / name;
      if (IsFile(path)) return Read(path, fs::path(name).lexically_normal());
    }
    return name;
  }

  bool IsGiven(const std::string& name) const {
    return headers_.count(name) > 0 && read_.count(name) == 0;
  }

  absl::StatusOr<std::string> Read(const fs::path& path, const fs::path& as) {
    std::error_code error;
    const std::string real = fs::weakly_canonical(path, error).string();
    const auto known = by_path_.find(real);
    if (known != by_path_.end()) return known->second;
    std::string name = Unused(as);
    std::ifstream file(path, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (file.bad()) {
      return absl::UnavailableError(
          absl::StrCat("header ", path.string(), " cannot be read"));
    }
    bytes_ += text.size();
    if (headers_.size() >= kMaxCollectedHeaders ||
        bytes_ > kMaxCollectedBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the source includes more than ", kMaxCollectedHeaders,
          " headers or ", kMaxCollectedBytes >> 20, " MiB of them, with ",
          path.string(), "; a compilation may have as many"));
    }
    headers_[name] = std::move(text);
    read_.emplace(name);
    by_path_.emplace(real, name);
    pending_.push_back({name, path.parent_path().string(),
                        fs::path(name).parent_path().string()});
    return name;
  }

  // Two files may be "config.h", each beside the files that include it.
  std::string Unused(const fs::path& as) const {
    std::string base = as.string();
    if (absl::StartsWith(base, "..")) base = as.filename().string();
    std::string name = base;
    for (int i = 2; headers_.count(name) > 0; ++i) {
      name = absl::StrCat(i, "/", base);
    }
    return name;
  }

  std::vector<fs::path> folders_;
  std::map<std::string, std::string> headers_;  // by name
  std::map<std::string, std::string> by_path_;  // real path -> name
  std::set<std::string> read_;                  // names of files
  std::deque<Pending> pending_;
  size_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<SourceWithHeaders> CollectHeaders(
    std::string source, std::map<std::string, std::string> given,
    const HeaderSearch& search) {
  HeaderCollector collector(std::move(given), search);
  HOLDFAST_ASSIGN_OR_RETURN(source,
                            collector.Collect(std::move(source), search));
  return SourceWithHeaders{std::move(source), std::move(collector).headers()};
}

}  // namespace holdfast
