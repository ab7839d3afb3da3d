// SPDX-License-Identifier: Apache-2.0
//
// Launches, and occupancy, which is asked for the same configurations.
#include "client/cpp/launch.h"

#include <cstddef>
#include <span>

#include "client/c/arguments.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/cpp/occupancy.h"
#include "core/base/status_macros.h"

using holdfast::c::Give;
using holdfast::c::Guard;

extern "C" {

hf_error* hf_launch(const hf_stream* stream, const hf_launch_config* config,
                    const hf_kernel* kernel, const hf_argument* arguments,
                    size_t argument_count) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream, config, kernel);
    if (argument_count > 0) HF_REQUIRE(arguments);
    if (kernel->session != stream->stream.session()) {
      return absl::InvalidArgumentError(
          "the kernel and the stream belong to different sessions");
    }
    holdfast::LaunchConfig all;
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::ToConfig(*config, all));
    holdfast::c::Arguments values;
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::ToArguments(
        {arguments, argument_count}, stream->stream.session(), values));
    return holdfast::Launch(stream->stream, all, kernel->kernel,
                            std::span<const holdfast::Argument>(values));
  });
}

hf_error* hf_occupancy_active_blocks(const hf_kernel* kernel, uint32_t device,
                                     uint32_t threads, uint64_t dynamic_shared,
                                     uint64_t* blocks) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(kernel, blocks);
    return Give(holdfast::Occupancy(kernel->kernel, device)
                    .MaxActiveBlocksPerMultiprocessor(threads, dynamic_shared),
                blocks);
  });
}

hf_error* hf_occupancy_block_size(const hf_kernel* kernel, uint32_t device,
                                  uint64_t dynamic_shared, uint32_t max_threads,
                                  uint32_t* threads, uint32_t* min_grid) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(kernel, threads, min_grid);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto size,
        holdfast::Occupancy(kernel->kernel, device)
            .MaxPotentialBlockSize(dynamic_shared, max_threads));
    *threads = size.threads;
    *min_grid = size.min_grid;
    return absl::OkStatus();
  });
}

hf_error* hf_occupancy_dynamic_shared(const hf_kernel* kernel, uint32_t device,
                                      uint32_t blocks, uint32_t threads,
                                      uint64_t* bytes) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(kernel, bytes);
    return Give(holdfast::Occupancy(kernel->kernel, device)
                    .AvailableDynamicSharedPerBlock(blocks, threads),
                bytes);
  });
}

hf_error* hf_occupancy_cluster_size(const hf_kernel* kernel, uint32_t device,
                                    const hf_launch_config* config,
                                    uint64_t* blocks) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(kernel, config, blocks);
    holdfast::LaunchConfig all;
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::ToConfig(*config, all));
    return Give(holdfast::Occupancy(kernel->kernel, device)
                    .MaxPotentialClusterSize(all),
                blocks);
  });
}

hf_error* hf_occupancy_active_clusters(const hf_kernel* kernel, uint32_t device,
                                       const hf_launch_config* config,
                                       uint64_t* clusters) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(kernel, config, clusters);
    holdfast::LaunchConfig all;
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::ToConfig(*config, all));
    return Give(
        holdfast::Occupancy(kernel->kernel, device).MaxActiveClusters(all),
        clusters);
  });
}

}  // extern "C"
