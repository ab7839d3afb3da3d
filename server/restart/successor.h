// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_SUCCESSOR_H_
#define HOLDFAST_SERVER_RESTART_SUCCESSOR_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/restart/descriptor_store.h"

namespace holdfast {

// The number of the form in which server/restart keeps state. A daemon takes
// the state of one with the same number, or a lower one. 2: collections may be
// suspended (hf.saved, hf.owned). 3: a session may be on another device than
// the one that its client names (Assign.moved_to).
inline constexpr int kStateFormat = 3;

// The binary that is to take this process over: the file that the daemon was
// started from, as it is now, with the arguments that the daemon was started
// with. Immutable; thread-safe.
class Successor {
 public:
  // REQUIRES: called before the file is replaced, at the start.
  static absl::StatusOr<Successor> Find();

  const std::string& binary() const { return binary_; }
  // The first is the program.
  const std::vector<std::string>& arguments() const { return arguments_; }

  // The file is not the one that this process runs.
  bool IsNew() const;

  // Asks it whether it takes the state and the arguments, in a process of its
  // own. Returns its version. FAILED_PRECONDITION: it does not, and says why.
  absl::StatusOr<std::string> Check() const;

  // Makes this process that binary. Returns why that failed, else never.
  absl::Status Execute(std::vector<KeptDescriptor> kept) const;

 private:
  std::string binary_;
  std::vector<std::string> arguments_;
  dev_t device_ = 0;  // of the file that this process runs
  ino_t inode_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_SUCCESSOR_H_
