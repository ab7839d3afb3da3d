// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_LOCAL_PAIRED_STREAM_H_
#define HOLDFAST_CLIENT_CPP_LOCAL_PAIRED_STREAM_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "client/cpp/local/local_mapping.h"
#include "client/cpp/stream.h"

namespace holdfast {

// Pairs a stream of a session with a CUstream of this process, so that the two
// streams act as one stream: each operation runs after all earlier operations
// of both streams. `handle` is a CUstream of another library; nullopt: this
// call makes a CUstream, which lives as long as `stream`. Returns the CUstream.
// Blocks until the pair is made.
//
// A semaphore that both processes have mapped orders the streams; the host
// never waits. Each command costs four more operations: one in each driver
// before the command, and one in each driver behind it.
//
// If a command of the session fails, the next call that reports the failure
// also ends the waits of the CUstream.
//
// Destroying `stream` waits for the CUstream's last operation of the pair. The
// CUstream may be destroyed before, if `stream` is given no more work.
//
// ALREADY_EXISTS: `stream` is paired already. FAILED_PRECONDITION: the daemon
// is on another machine. UNAVAILABLE: this process has no driver.
absl::StatusOr<uint64_t> PairStream(const Stream& stream,
                                    std::optional<uint64_t> handle,
                                    const LocalMappingOptions& options = {});

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LOCAL_PAIRED_STREAM_H_
