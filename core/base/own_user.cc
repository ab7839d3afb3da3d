// SPDX-License-Identifier: Apache-2.0
#include "core/base/own_user.h"

#include <pwd.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/str_cat.h"

namespace holdfast {

std::string OwnUser() {
  const uid_t user = geteuid();
  passwd entry = {};
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : absl::StrCat(user);
}

}  // namespace holdfast
