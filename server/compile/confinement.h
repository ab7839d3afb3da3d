// SPDX-License-Identifier: Apache-2.0
//
// What keeps a source that has taken over its compiler from harming more than
// this one process. Each part that the machine does not offer is left out, and
// said to be.
//
//   Confinement confinement({.memory_bytes = ...});
//   ... load the compilers ...
//   confinement.Close(directories);
//   LogInfo(confinement.ToString());
#ifndef HOLDFAST_SERVER_COMPILE_CONFINEMENT_H_
#define HOLDFAST_SERVER_COMPILE_CONFINEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

class Confinement {
 public:
  struct Limits {
    uint64_t memory_bytes = 0;  // address space
    uint64_t file_bytes = 0;    // of one memfd, the only files that it writes
  };

  // Namespaces of its own, and limits; libraries can still be loaded.
  // REQUIRES: the process has one thread.
  explicit Confinement(const Limits& limits);

  // From now on, only files below these directories can be opened, for reading,
  // and only harmless system calls work.
  void Close(const std::vector<std::string>& readable);

  // "files by Landlock, system calls by seccomp, own namespaces, limits"; what
  // is missing stands there as "no ...".
  std::string ToString() const;

 private:
  void LimitResources(const Limits& limits);
  void CloseFiles(const std::vector<std::string>& readable);

  bool own_namespaces_ = false;
  bool system_calls_ = false;
  std::string files_;  // by what; empty: by nothing
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_CONFINEMENT_H_
