// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/launch.h"

#include <vector>

#include "client/cpp/connection/forked_process.h"
#include "client/cpp/launch_check.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

void WriteDim3(wire::MessageField field, const Dim3& dim, WireWriter& writer) {
  writer.Message(field, [&] {
    writer.Write(v1::fields::Dim3::kX, dim.x);
    writer.Write(v1::fields::Dim3::kY, dim.y);
    writer.Write(v1::fields::Dim3::kZ, dim.z);
  });
}

}  // namespace

void EncodeLaunch(uint64_t stream, const LaunchConfig& config,
                  const Kernel& kernel, std::span<const Argument> arguments,
                  WireWriter& writer) {
  using Fields = v1::fields::Launch;
  writer.Write(Fields::kKernel, kernel.handle());
  if (stream != 0) writer.Write(Fields::kStream, stream);
  WriteDim3(Fields::kGrid, config.grid, writer);
  WriteDim3(Fields::kBlock, config.block, writer);
  if (config.cluster) {
    WriteDim3(Fields::kCluster, *config.cluster, writer);
  }
  if (config.dynamic_shared_bytes != 0) {
    writer.Write(Fields::kDynamicSharedBytes, config.dynamic_shared_bytes);
  }
  if (config.cooperative) writer.Write(Fields::kCooperative, true);
  config.attributes.Encode(writer);
  for (const Argument& argument : arguments) {
    writer.Message(Fields::kArguments, [&] { argument.Encode(writer); });
  }
}

absl::Status Launch(const Stream& stream, const LaunchConfig& config,
                    const Kernel& kernel, std::span<const Argument> arguments) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  HOLDFAST_RETURN_IF_ERROR(CheckLaunch(config, kernel, stream.device()));
  std::vector<Argument> resolved;
  HOLDFAST_ASSIGN_OR_RETURN(
      arguments, ResolveAddresses(*stream.session(), arguments, resolved));
  return stream.Submit([&](WireWriter& writer) {
    writer.Message(v1::fields::Command::kLaunch, [&] {
      EncodeLaunch(stream.handle(), config, kernel, arguments, writer);
    });
  });
}

}  // namespace holdfast
