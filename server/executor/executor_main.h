// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_EXECUTOR_MAIN_H_
#define HOLDFAST_SERVER_EXECUTOR_EXECUTOR_MAIN_H_

#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "core/cuda/driver_loader.h"

namespace holdfast {

// The executor's life, from start to exit code: load the driver, make the
// context of device 0, tell the supervisor on `channel` what there is, wait for
// a session, serve it on its socket until told to stop, free everything. The
// only role of the daemon's binary in which CUDA is called.
//
// `stall_limit` is what a client may take for one message of a transfer.
int ExecutorMain(UniqueFd channel, const cuda::DriverOptions& options,
                 absl::Duration stall_limit = absl::Minutes(1));

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_EXECUTOR_EXECUTOR_MAIN_H_
