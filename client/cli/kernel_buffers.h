// SPDX-License-Identifier: Apache-2.0
//
// The buffers of one `holdfast run`. They are filled from files, passed to the
// kernel, and written to files.
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

// An ARG with its array in this process and its buffer on the device. `array`
// has the input file's content, or the type and shape of the output.
// UploadArguments sets `buffer`.
struct RunArgument {
  ArgumentSpec spec;
  Array array;
  std::vector<Buffer> buffer;  // none or one
};

// Parses the arguments and reads the input files. Needs no daemon.
absl::StatusOr<std::deque<RunArgument>> ReadArguments(
    const std::vector<std::string>& texts);

// The names of buffers in the session.
enum class BufferNames {
  kNone,
  // The name of an output's buffer has its file, type and shape, so that
  // `holdfast attach` can write the file.
  kOutputs,
};

// Allocates and fills the buffers. Returns the arguments for the launch, which
// refer to `arguments`. INVALID_ARGUMENT: an output's name cannot be a buffer's
// name.
absl::StatusOr<std::vector<Argument>> UploadArguments(
    const Device& device, const Stream& stream,
    std::deque<RunArgument>* arguments, BufferNames names = BufferNames::kNone);

// Downloads the outputs in the stream's order, and writes the output files.
absl::Status DownloadArguments(const Stream& stream,
                               std::deque<RunArgument>* arguments);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_KERNEL_BUFFERS_H_
