// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/gres_count.h"

#include <charconv>

namespace holdfast::slurm {
namespace {

bool ConsumePrefix(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

}  // namespace

uint64_t CountIn(std::string_view list, std::string_view gres) {
  while (!list.empty()) {
    std::string_view item = list.substr(0, list.find_first_of(",;"));
    list.remove_prefix(item.size() == list.size() ? item.size()
                                                  : item.size() + 1);
    if (!ConsumePrefix(&item, "gres:") && !ConsumePrefix(&item, "gres/")) {
      continue;
    }
    if (!ConsumePrefix(&item, gres)) continue;
    if (item.empty()) return 1;
    if (item[0] != ':' && item[0] != '=') continue;  // A longer name.
    uint64_t count = 0;
    std::from_chars(item.data() + 1, item.data() + item.size(), count);
    return count;
  }
  return 0;
}

}  // namespace holdfast::slurm
