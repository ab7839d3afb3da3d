// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_CUDA_FOLDER_H_
#define HOLDFAST_CLIENT_CLI_CUDA_FOLDER_H_

#include <string>

#include "absl/status/statusor.h"

namespace holdfast::cli {

// Holdfast's two libraries that programs can load as libcuda.so.1.
enum class CudaLibrary {
  // client/cuda: the program's kernels run in a daemon.
  kClient,
  // The software driver: the program's kernels run in its own process, on the
  // CPU.
  kSoftware,
};

// Returns a folder, for LD_LIBRARY_PATH, that has the library under the names
// libcuda.so.1 and libcuda.so, and beside it the runtime, libcudart.so.13, if
// that is installed. Packages install such a folder. If there is none, this
// function makes a folder of links in the folder `cache`. `here` is the folder
// of the calling program. NOT_FOUND: the library is not installed.
absl::StatusOr<std::string> FindCudaFolder(CudaLibrary library,
                                           const std::string& here,
                                           const std::string& cache);

// Returns the folder for this program, with the user's cache folder.
absl::StatusOr<std::string> FindCudaFolder(CudaLibrary library);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_CUDA_FOLDER_H_
