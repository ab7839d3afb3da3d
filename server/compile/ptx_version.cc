// SPDX-License-Identifier: Apache-2.0
#include "server/compile/ptx_version.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace holdfast {
namespace {

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

// 0: there is none.
int VersionOf(absl::string_view head) {
  constexpr absl::string_view kDirective = "\n.version ";
  const size_t at = head.find(kDirective);
  if (at == absl::string_view::npos) return 0;
  absl::string_view text = head.substr(at + kDirective.size());
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

}  // namespace

std::string PtxVersionWarning(absl::string_view head, int driver_version) {
  const int version = VersionOf(absl::StrCat("\n", head));
  const int newest = NewestPtx(driver_version);
  if (version == 0 || newest == 0 || version <= newest) return "";
  return absl::StrFormat(
      "the PTX is of version %d.%d, and the driver (CUDA %d.%d) loads at most "
      "%d.%d: compile to a cubin",
      version / 10, version % 10, driver_version / 1000,
      driver_version % 1000 / 10, newest / 10, newest % 10);
}

}  // namespace holdfast
