// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_SUCCESSOR_H_
#define HOLDFAST_SERVER_RESTART_SUCCESSOR_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/kept/descriptor_store.h"

namespace holdfast {

// The version of the format of the kept state. A daemon accepts the same or a
// lower version. 2: collections may be suspended (hf.saved, hf.owned). 3: a
// session may be on another device than its client names (Assign.moved_to).
inline constexpr int kStateFormat = 3;

// The environment variable of a successor that is checked: the TCP addresses on
// which this daemon listens, separated by commas. The successor binds all other
// addresses of its configuration, to see that they are free. The same port at
// another address is in use by this daemon, and is therefore refused.
inline constexpr char kTakenAddresses[] = "HOLDFAST_TAKEN_ADDRESSES";

// The binary that replaces this process: the present contents of the file from
// which the daemon was started, with the same arguments. Immutable;
// thread-safe.
class Successor {
 public:
  // Returns the successor of this process. Returns an error if /proc cannot be
  // read. REQUIRES: called at the start, before the file is replaced.
  static absl::StatusOr<Successor> Find();

  const std::string& binary() const { return binary_; }
  // The first argument is the program.
  const std::vector<std::string>& arguments() const { return arguments_; }

  // Returns true if the file was replaced since this process started; false if
  // it was not, or if there is no file.
  bool IsNew() const;

  // Runs the binary in child processes to check that it accepts the state, the
  // arguments and the configuration. `addresses`: see kTakenAddresses. Returns
  // the binary's version. Blocks for up to a minute. FAILED_PRECONDITION: the
  // binary refuses; the message has its output.
  absl::StatusOr<std::string> Check(const std::string& addresses) const;

  // Executes the binary in this process. Returns only on an error.
  absl::Status Execute(std::vector<KeptDescriptor> kept) const;

 private:
  std::string binary_;
  std::vector<std::string> arguments_;
  dev_t device_ = 0;  // of the file that this process runs
  ino_t inode_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_SUCCESSOR_H_
