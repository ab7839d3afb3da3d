// SPDX-License-Identifier: Apache-2.0
#include "server/compile/ptx_version.h"

#include <unistd.h>

#include <cstddef>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace holdfast {
namespace {

// A module says its version in the first line that is no comment.
constexpr size_t kHeadBytes = 4096;

// The PTX version that came with each version of CUDA; 90 is 9.0.
struct Release {
  int driver;
  int ptx;
};
constexpr Release kReleases[] = {
    {11000, 70}, {11010, 71}, {11020, 72}, {11030, 73}, {11040, 74},
    {11050, 75}, {11060, 76}, {11070, 77}, {11080, 78}, {12000, 80},
    {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84}, {12050, 85},
    {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90}};

// 0: the driver is older or newer than the table.
int NewestPtx(int driver_version) {
  if (driver_version >= std::rbegin(kReleases)->driver + 10) return 0;
  int newest = 0;
  for (const Release& release : kReleases) {
    if (release.driver <= driver_version) newest = release.ptx;
  }
  return newest;
}

}  // namespace

int PtxVersionOf(absl::string_view head) {
  constexpr absl::string_view kDirective = "\n.version ";
  const std::string lines = absl::StrCat("\n", head);
  absl::string_view text = lines;
  const size_t at = text.find(kDirective);
  if (at == absl::string_view::npos) return 0;
  text.remove_prefix(at + kDirective.size());
  text = text.substr(0, text.find_first_of("\r\n \t"));
  const size_t dot = text.find('.');
  int major = 0;
  int minor = 0;
  if (dot == absl::string_view::npos ||
      !absl::SimpleAtoi(text.substr(0, dot), &major) ||
      !absl::SimpleAtoi(text.substr(dot + 1), &minor) || minor > 9) {
    return 0;
  }
  return 10 * major + minor;
}

int PtxVersionOf(const StoredObject& object) {
  if (object.header.format() != v1::OBJECT_FORMAT_PTX) return 0;
  char head[kHeadBytes];
  const ssize_t size = pread(object.memory.get(), head, sizeof head, 0);
  return size <= 0 ? 0 : PtxVersionOf({head, static_cast<size_t>(size)});
}

std::string PtxVersionWarning(int ptx_version, int driver_version) {
  const int newest = NewestPtx(driver_version);
  if (ptx_version == 0 || newest == 0 || ptx_version <= newest) return "";
  return absl::StrFormat(
      "the PTX is of version %d.%d, and the driver (CUDA %d.%d) loads at most "
      "%d.%d: compile to a cubin",
      ptx_version / 10, ptx_version % 10, driver_version / 1000,
      driver_version % 1000 / 10, newest / 10, newest % 10);
}

}  // namespace holdfast
