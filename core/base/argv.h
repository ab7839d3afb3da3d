// SPDX-License-Identifier: Apache-2.0
// The arguments of a program as execv and posix_spawn take them.
#ifndef HOLDFAST_CORE_BASE_ARGV_H_
#define HOLDFAST_CORE_BASE_ARGV_H_

#include <string>
#include <vector>

namespace holdfast {

// Returns a pointer to each argument, then the null pointer that ends them. The
// pointers are valid until `arguments` changes or ends. The strings must not be
// written through them: they are non-const only for the signature of execv.
inline std::vector<char*> Argv(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_ARGV_H_
