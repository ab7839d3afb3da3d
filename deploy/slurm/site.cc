// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/site.h"

#include <map>
#include <string_view>

namespace holdfast::slurm {

bool ParseSite(int count, char* words[], Site* site, std::string* error) {
  const std::map<std::string_view, std::string*> fields = {
      {"cli", &site->cli},
      {"address", &site->address},
      {"directory", &site->directory},
      {"accounting", &site->accounting},
      {"gres", &site->gres}};
  for (int i = 0; i < count; ++i) {
    const std::string_view word = words[i];
    const size_t equals = word.find('=');
    const auto field = fields.find(word.substr(0, equals));
    if (equals == std::string_view::npos || field == fields.end()) {
      *error = "plugstack.conf: '" + std::string(word) +
               "': the words are cli=, address=, directory=, accounting= and "
               "gres=";
      return false;
    }
    *field->second = word.substr(equals + 1);
  }
  return true;
}

}  // namespace holdfast::slurm
