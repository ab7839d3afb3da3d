// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/buffer.h"

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cpp/session_state.h"
#include "client/cpp/transfer.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

void WriteFree(uint64_t handle, v1::Command& command) {
  command.mutable_free_buffer()->set_buffer(handle);
}

}  // namespace

absl::StatusOr<Buffer> Buffer::Allocate(std::shared_ptr<SessionState> session,
                                        int device, uint64_t size,
                                        const Stream* stream) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Make(
          std::move(session), HandleKind::kBuffer,
          [&](uint64_t handle, v1::Command& command) {
            v1::AllocateBuffer& allocate = *command.mutable_allocate_buffer();
            allocate.set_buffer(handle);
            allocate.set_size(size);
            if (device < 0) {
              allocate.mutable_host();
            } else {
              allocate.set_device(static_cast<uint32_t>(device));
            }
            if (stream != nullptr) allocate.set_stream(stream->handle());
          },
          WriteFree));
  return Buffer(std::move(resource), size);
}

absl::StatusOr<Buffer> Buffer::OfGlobal(const Resource& module,
                                        std::shared_ptr<const void> owner,
                                        const std::string& name,
                                        uint32_t device) {
  HOLDFAST_ASSIGN_OR_RETURN(Resource resource,
                            Make(
                                module.session(), HandleKind::kBuffer,
                                [&](uint64_t handle, v1::Command& command) {
                                  v1::GetGlobal& get =
                                      *command.mutable_get_global();
                                  get.set_buffer(handle);
                                  get.set_module(module.handle());
                                  get.set_device(device);
                                  get.set_name(name);
                                },
                                WriteFree));
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result,
      module.session()->queue.Call([&](v1::Command& command) {
        command.mutable_describe_buffer()->set_buffer(resource.handle());
      }));
  return Buffer(std::move(resource), result.buffer().size(), std::move(owner));
}

absl::StatusOr<Buffer> Buffer::Sub(uint64_t offset, uint64_t size) const {
  HOLDFAST_ASSIGN_OR_RETURN(Resource resource,
                            Make(
                                session(), HandleKind::kBuffer,
                                [&](uint64_t part, v1::Command& command) {
                                  v1::CreateSubBuffer& create =
                                      *command.mutable_create_sub_buffer();
                                  create.set_buffer(part);
                                  create.set_parent(handle());
                                  create.set_offset(offset);
                                  create.set_size(size);
                                },
                                WriteFree));
  return Buffer(std::move(resource), size);
}

absl::Status Buffer::CopyFrom(const Buffer& source,
                              const Stream& stream) const {
  if (source.size() != size_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the source has ", source.size(), " bytes, the destination ", size_));
  }
  return CopyFrom(source, 0, 0, size_, stream);
}

absl::Status Buffer::CopyFrom(const Buffer& source, uint64_t source_offset,
                              uint64_t offset, uint64_t size,
                              const Stream& stream) const {
  return session()
      ->queue
      .Submit([&](v1::Command& command) {
        v1::CopyBuffer& copy = *command.mutable_copy_buffer();
        copy.set_stream(stream.handle());
        copy.set_destination(handle());
        copy.set_destination_offset(offset);
        copy.set_source(source.handle());
        copy.set_source_offset(source_offset);
        copy.set_size(size);
      })
      .status();
}

absl::Status Buffer::FillBytes(const void* pattern, size_t pattern_size,
                               uint64_t offset, uint64_t size,
                               const Stream& stream) const {
  uint32_t value = 0;
  std::memcpy(&value, pattern, pattern_size);
  return session()
      ->queue
      .Submit([&](v1::Command& command) {
        v1::FillBuffer& fill = *command.mutable_fill_buffer();
        fill.set_stream(stream.handle());
        fill.set_buffer(handle());
        fill.set_offset(offset);
        fill.set_size(size);
        if (pattern_size == 1) fill.set_byte(value);
        if (pattern_size == 2) fill.set_half_word(value);
        if (pattern_size == 4) fill.set_word(value);
      })
      .status();
}

absl::Status Buffer::Upload(const void* data, uint64_t size,
                            const Stream& stream, uint64_t offset) const {
  return UploadBytes(*session(), {handle(), offset, size, stream.handle()},
                     data);
}

absl::Status Buffer::Download(void* data, uint64_t size, const Stream& stream,
                              uint64_t offset) const {
  return DownloadBytes(*session(), {handle(), offset, size, stream.handle()},
                       data);
}

void Buffer::Free(const Stream& stream) {
  const uint64_t buffer = handle();
  DestroyWith([&](v1::Command& command) {
    command.mutable_free_buffer()->set_buffer(buffer);
    command.mutable_free_buffer()->set_stream(stream.handle());
  });
}

}  // namespace holdfast
