// SPDX-License-Identifier: Apache-2.0
//
// The buffers of one `holdfast run`: filled from files, passed to the kernel,
// written to files.
#ifndef HOLDFAST_CLIENT_CLI_KERNEL_BUFFERS_H_
#define HOLDFAST_CLIENT_CLI_KERNEL_BUFFERS_H_

#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/argument_spec.h"
#include "client/cli/npy.h"
#include "client/cpp/device.h"

namespace holdfast::cli {

// One ARG with what it is on this side and on the device. `array` has the
// file's content, or is of the form that will be written; `buffer` is set by
// UploadArguments.
struct RunArgument {
  ArgumentSpec spec;
  Array array;
  std::vector<Buffer> buffer;  // none or one
};

// Parses them and reads the input files; needs no daemon.
absl::StatusOr<std::deque<RunArgument>> ReadArguments(
    const std::vector<std::string>& texts);

// The names of buffers in the session.
enum class BufferNames {
  kNone,
  // Outputs have that of their file and their form, by which `holdfast attach`
  // writes them.
  kOutputs,
};

// Allocates and fills the buffers; returns what to launch with, which refers to
// `arguments`. INVALID_ARGUMENT: an output's name cannot be that of a buffer.
absl::StatusOr<std::vector<Argument>> UploadArguments(
    const Device& device, const Stream& stream,
    std::deque<RunArgument>* arguments, BufferNames names = BufferNames::kNone);

// Writes the output files.
absl::Status DownloadArguments(const Stream& stream,
                               std::deque<RunArgument>* arguments);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_KERNEL_BUFFERS_H_
