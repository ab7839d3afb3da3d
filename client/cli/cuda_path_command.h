// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_CUDA_PATH_COMMAND_H_
#define HOLDFAST_CLIENT_CLI_CUDA_PATH_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/command.h"

namespace holdfast::cli {

// `holdfast cuda-path`: the folder that makes a program find a CUDA driver of
// ours, by LD_LIBRARY_PATH.
void AddCudaPathCommand(CLI::App* app, CommonOptions* options,
                        absl::Status* status);

// Returns the folder with the software driver under the name libcuda.so.1, for
// a program in the folder `here`: the folder cpu beside the driver, as packages
// have it. Otherwise makes a folder of links in the folder `cache`. NOT_FOUND:
// there is no software driver.
absl::StatusOr<std::string> FindCpuDriver(const std::string& here,
                                          const std::string& cache);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_CUDA_PATH_COMMAND_H_
