// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/launch.h"

#include "client/cpp/session_state.h"

namespace holdfast {
namespace {

void WriteDim3(int field, const Dim3& dim, WireWriter& writer) {
  writer.Message(field, [&] {
    writer.Varint(v1::Dim3::kXFieldNumber, dim.x);
    writer.Varint(v1::Dim3::kYFieldNumber, dim.y);
    writer.Varint(v1::Dim3::kZFieldNumber, dim.z);
  });
}

}  // namespace

void EncodeLaunch(uint64_t stream, const LaunchConfig& config,
                  const Kernel& kernel, std::span<const Argument> arguments,
                  WireWriter& writer) {
  using Fields = v1::Launch;
  writer.Fixed64(Fields::kKernelFieldNumber, kernel.handle());
  if (stream != 0) writer.Fixed64(Fields::kStreamFieldNumber, stream);
  WriteDim3(Fields::kGridFieldNumber, config.grid, writer);
  WriteDim3(Fields::kBlockFieldNumber, config.block, writer);
  if (config.cluster) {
    WriteDim3(Fields::kClusterFieldNumber, *config.cluster, writer);
  }
  if (config.dynamic_shared_bytes != 0) {
    writer.Varint(Fields::kDynamicSharedBytesFieldNumber,
                  config.dynamic_shared_bytes);
  }
  if (config.cooperative) writer.Varint(Fields::kCooperativeFieldNumber, true);
  config.attributes.Encode(writer);
  for (const Argument& argument : arguments) {
    writer.Message(Fields::kArgumentsFieldNumber,
                   [&] { argument.Encode(writer); });
  }
}

absl::Status Launch(const Stream& stream, const LaunchConfig& config,
                    const Kernel& kernel, std::span<const Argument> arguments) {
  return stream.Submit([&](WireWriter& writer) {
    writer.Message(v1::Command::kLaunchFieldNumber, [&] {
      EncodeLaunch(stream.handle(), config, kernel, arguments, writer);
    });
  });
}

}  // namespace holdfast
