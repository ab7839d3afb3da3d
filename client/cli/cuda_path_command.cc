// SPDX-License-Identifier: Apache-2.0
#include "client/cli/cuda_path_command.h"

#include <cstdio>
#include <memory>
#include <string>

#include "client/cli/cuda_folder.h"
#include "client/cli/json_writer.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

constexpr char kFooter[] = R"(
Examples:
  LD_LIBRARY_PATH=$(holdfast cuda-path) HOLDFAST_ADDRESS=... hashcat -b -m 0
  LD_LIBRARY_PATH=$(holdfast cuda-path --cpu) hashcat -b -m 0

The first program runs its kernels in a daemon, as with `holdfast exec`; the
second runs them on the processor, in its own process. NVIDIA's compilers and
libraries come from the CUDA toolkit.)";

absl::Status Print(bool cpu, bool json) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const std::string folder,
      FindCudaFolder(cpu ? CudaLibrary::kSoftware : CudaLibrary::kClient));
  if (json) {
    JsonWriter writer;
    writer.BeginObject().Member("path", folder).EndObject();
    std::puts(writer.text().c_str());
  } else {
    std::puts(folder.c_str());
  }
  return absl::OkStatus();
}

}  // namespace

void AddCudaPathCommand(CLI::App* app, CommonOptions* options,
                        absl::Status* status) {
  const auto cpu = std::make_shared<bool>(false);
  CLI::App* command = AddCommand(
      app, options, "cuda-path",
      "Print the folder of a libcuda.so.1 that runs unchanged CUDA programs",
      [cpu, options] { return Print(*cpu, options->json); }, status);
  command->add_flag("--cpu", *cpu,
                    "Print the folder of the software driver, which needs no "
                    "GPU and no daemon");
  command->footer(kFooter);
}

}  // namespace holdfast::cli
