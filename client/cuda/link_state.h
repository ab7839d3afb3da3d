// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_LINK_STATE_H_
#define HOLDFAST_CLIENT_CUDA_LINK_STATE_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/compile/linker.h"
#include "client/cpp/connection/daemon.h"
#include "client/cuda/jit_options.h"
#include "cuda.h"

namespace holdfast::libcuda {

// A CUlinkState: collects inputs, and links them on the daemon. Thread-safe.
class LinkState {
 public:
  // `is_software`: for the software device, which has the functions of NVIDIA's
  // device runtime itself, so that libcudadevrt.a is not linked.
  LinkState(const JitOptions& options, bool is_software)
      : options_(options),
        is_software_(is_software),
        linker_({.options = options.LinkerOptions()}) {}

  // Sends the input to the daemon's store, unless it is there. The limits of
  // `options` replace those of the link, for PTX. UNIMPLEMENTED: the daemon
  // cannot link inputs of this type.
  absl::Status Add(Daemon& daemon, CUjitInputType type, absl::string_view bytes,
                   absl::string_view name, const JitOptions& options);
  // Links the inputs. Returns the code, valid until the next Complete or the
  // end of this object. PTX includes a final zero byte, because a program may
  // store the code in a file.
  absl::StatusOr<absl::string_view> Complete(Daemon& daemon);

 private:
  absl::Status Link(Daemon& daemon) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const JitOptions options_;
  const bool is_software_;
  absl::Mutex mutex_;
  Linker linker_ ABSL_GUARDED_BY(mutex_);
  std::string linked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_LINK_STATE_H_
