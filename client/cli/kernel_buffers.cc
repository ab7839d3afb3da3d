// SPDX-License-Identifier: Apache-2.0
#include "client/cli/kernel_buffers.h"

#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/generated_array.h"
#include "client/cli/usage_error.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

absl::StatusOr<RunArgument> ReadArgument(const std::string& text) {
  RunArgument argument;
  HOLDFAST_ASSIGN_OR_RETURN(argument.spec, ArgumentSpec::Parse(text));
  const ArgumentSpec& spec = argument.spec;
  if (spec.kind != ArgumentSpec::Kind::kBuffer) return argument;
  if (!spec.input.empty()) {
    HOLDFAST_ASSIGN_OR_RETURN(argument.array, ReadNpy(spec.input));
    return argument;
  }
  argument.array.type = spec.type;
  argument.array.shape = spec.shape;
  if (spec.elements == Elements::kZeros) return argument;
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t size,
                            ByteSize(spec.type, spec.shape));
  absl::StatusOr<std::string> bytes =
      Generate(spec.elements, spec.type, size / Size(spec.type));
  if (!bytes.ok()) {
    return UsageError(
        WithPrefix(absl::StrCat("argument \"", text, "\""), bytes.status()));
  }
  argument.array.bytes = *std::move(bytes);
  return argument;
}

std::string NameOf(const RunArgument& argument, BufferNames names) {
  if (names == BufferNames::kNone || argument.spec.output.empty()) return "";
  const std::filesystem::path path(argument.spec.output);
  const Array& array = argument.array;
  return absl::StrCat(path.filename().string(), ":",
                      array.shape.empty() ? std::string(Name(array.type))
                                          : Describe(array.type, array.shape));
}

absl::StatusOr<Buffer> MakeBuffer(const Device& device, const Stream& stream,
                                  const RunArgument& argument,
                                  BufferNames names) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const uint64_t size, ByteSize(argument.array.type, argument.array.shape));
  HOLDFAST_ASSIGN_OR_RETURN(
      Buffer buffer,
      device.AllocateNamed(NameOf(argument, names), size, stream));
  if (size == 0) return buffer;
  if (argument.array.bytes.empty()) {
    HOLDFAST_RETURN_IF_ERROR(buffer.Fill(uint8_t{0}, stream));
  } else {
    HOLDFAST_RETURN_IF_ERROR(buffer.Upload(argument.array.bytes, stream));
  }
  return buffer;
}

}  // namespace

absl::StatusOr<std::deque<RunArgument>> ReadArguments(
    const std::vector<std::string>& texts) {
  std::deque<RunArgument> arguments;
  for (const std::string& text : texts) {
    HOLDFAST_ASSIGN_OR_RETURN(RunArgument argument, ReadArgument(text));
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

absl::StatusOr<std::vector<Argument>> UploadArguments(
    const Device& device, const Stream& stream,
    std::deque<RunArgument>* arguments, BufferNames names) {
  std::vector<Argument> list;
  for (RunArgument& argument : *arguments) {
    if (argument.spec.kind != ArgumentSpec::Kind::kBuffer) {
      list.push_back(ToArgument(argument.spec));
      continue;
    }
    HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer,
                              MakeBuffer(device, stream, argument, names));
    list.emplace_back(buffer);
    argument.buffer.push_back(std::move(buffer));
  }
  // Nothing is launched on memory that could not be had.
  HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
  return list;
}

absl::Status DownloadArguments(const Stream& stream,
                               std::deque<RunArgument>* arguments) {
  for (RunArgument& argument : *arguments) {
    if (argument.spec.output.empty()) continue;
    argument.array.bytes.resize(argument.buffer[0].size());
    HOLDFAST_RETURN_IF_ERROR(
        argument.buffer[0].Download(argument.array.bytes, stream));
    HOLDFAST_RETURN_IF_ERROR(WriteNpy(argument.spec.output, argument.array));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::cli
