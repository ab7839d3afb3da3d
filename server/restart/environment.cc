// SPDX-License-Identifier: Apache-2.0
#include "server/restart/environment.h"

#include <unistd.h>

#include <utility>

extern char** environ;

namespace holdfast {

std::vector<std::string> EnvironmentWith(std::string variable) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
  }
  environment.push_back(std::move(variable));
  return environment;
}

}  // namespace holdfast
