// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/launch.h"

#include "client/cpp/session_state.h"

namespace holdfast {
namespace {

void Encode(const Dim3& from, v1::Dim3* to) {
  to->set_x(from.x);
  to->set_y(from.y);
  to->set_z(from.z);
}

}  // namespace

absl::Status Launch(const Stream& stream, const LaunchConfig& config,
                    const Kernel& kernel, std::span<const Argument> arguments) {
  return stream.session()
      ->queue
      .Submit([&](v1::Command& command) {
        v1::Launch& launch = *command.mutable_launch();
        launch.set_kernel(kernel.handle());
        launch.set_stream(stream.handle());
        Encode(config.grid, launch.mutable_grid());
        Encode(config.block, launch.mutable_block());
        if (config.cluster) Encode(*config.cluster, launch.mutable_cluster());
        launch.set_dynamic_shared_bytes(config.dynamic_shared_bytes);
        launch.set_cooperative(config.cooperative);
        config.attributes.Encode(&launch);
        for (const Argument& argument : arguments) {
          argument.Encode(launch.add_arguments());
        }
      })
      .status();
}

}  // namespace holdfast
