// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/buffer.h"

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cpp/arena.h"
#include "client/cpp/session_state.h"
#include "client/cpp/transfer.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

void WriteFree(uint64_t handle, WireWriter& writer) {
  writer.Message(v1::Command::kFreeBufferFieldNumber, [&] {
    writer.Fixed64(v1::FreeBuffer::kBufferFieldNumber, handle);
  });
}

// One CopyIn or CopyOut; they have the same fields.
template <typename Fields>
absl::Status CopySpan(const Buffer& buffer, uint64_t offset,
                      const ArenaSpan& span, uint64_t span_offset,
                      uint64_t size, const Stream& stream, int command) {
  if (span_offset > span.size() || size > span.size() - span_offset) {
    return absl::OutOfRangeError(absl::StrCat(size, " bytes at offset ",
                                              span_offset, " of a span of ",
                                              span.size(), " bytes"));
  }
  if (size == 0) return absl::OkStatus();
  if (span.arena().session() != buffer.session()) {
    return absl::InvalidArgumentError(
        "the arena and the buffer belong to different sessions");
  }
  HOLDFAST_RETURN_IF_ERROR(span.arena().Ready());
  return buffer.session()
      ->queue
      .Submit([&](WireWriter& writer) {
        writer.Message(command, [&] {
          writer.Fixed64(Fields::kStreamFieldNumber, stream.handle());
          writer.Fixed64(Fields::kBufferFieldNumber, buffer.handle());
          writer.Varint(Fields::kOffsetFieldNumber, offset);
          writer.Fixed64(Fields::kArenaFieldNumber, span.arena().handle());
          writer.Varint(Fields::kArenaOffsetFieldNumber,
                        span.offset() + span_offset);
          writer.Varint(Fields::kSizeFieldNumber, size);
        });
      })
      .status();
}

}  // namespace

absl::StatusOr<Buffer> Buffer::Allocate(std::shared_ptr<SessionState> session,
                                        int device, uint64_t size,
                                        const Stream* stream) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Make(
          std::move(session), HandleKind::kBuffer,
          [&](uint64_t handle, WireWriter& writer) {
            writer.Message(v1::Command::kAllocateBufferFieldNumber, [&] {
              using Fields = v1::AllocateBuffer;
              writer.Fixed64(Fields::kBufferFieldNumber, handle);
              writer.Varint(Fields::kSizeFieldNumber, size);
              if (device < 0) {
                writer.Message(Fields::kHostFieldNumber, [] {});
              } else {
                writer.Varint(Fields::kDeviceFieldNumber,
                              static_cast<uint32_t>(device));
              }
              if (stream != nullptr) {
                writer.Fixed64(Fields::kStreamFieldNumber, stream->handle());
              }
            });
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
                                [&](uint64_t handle, WireWriter& writer) {
                                  v1::Command command;
                                  v1::GetGlobal& get =
                                      *command.mutable_get_global();
                                  get.set_buffer(handle);
                                  get.set_module(module.handle());
                                  get.set_device(device);
                                  get.set_name(name);
                                  writer.Fields(command);
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
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Make(
          session(), HandleKind::kBuffer,
          [&](uint64_t part, WireWriter& writer) {
            writer.Message(v1::Command::kCreateSubBufferFieldNumber, [&] {
              using Fields = v1::CreateSubBuffer;
              writer.Fixed64(Fields::kBufferFieldNumber, part);
              writer.Fixed64(Fields::kParentFieldNumber, handle());
              writer.Varint(Fields::kOffsetFieldNumber, offset);
              writer.Varint(Fields::kSizeFieldNumber, size);
            });
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
      .Submit([&](WireWriter& writer) {
        writer.Message(v1::Command::kCopyBufferFieldNumber, [&] {
          using Fields = v1::CopyBuffer;
          writer.Fixed64(Fields::kStreamFieldNumber, stream.handle());
          writer.Fixed64(Fields::kDestinationFieldNumber, handle());
          writer.Varint(Fields::kDestinationOffsetFieldNumber, offset);
          writer.Fixed64(Fields::kSourceFieldNumber, source.handle());
          writer.Varint(Fields::kSourceOffsetFieldNumber, source_offset);
          writer.Varint(Fields::kSizeFieldNumber, size);
        });
      })
      .status();
}

absl::Status Buffer::CopyFrom(const ArenaSpan& source, const Stream& stream,
                              uint64_t offset) const {
  return CopyFrom(source, 0, offset, source.size(), stream);
}

absl::Status Buffer::CopyFrom(const ArenaSpan& source, uint64_t source_offset,
                              uint64_t offset, uint64_t size,
                              const Stream& stream) const {
  return CopySpan<v1::CopyIn>(*this, offset, source, source_offset, size,
                              stream, v1::Command::kCopyInFieldNumber);
}

absl::Status Buffer::CopyTo(const ArenaSpan& target, const Stream& stream,
                            uint64_t offset) const {
  return CopyTo(target, 0, offset, target.size(), stream);
}

absl::Status Buffer::CopyTo(const ArenaSpan& target, uint64_t target_offset,
                            uint64_t offset, uint64_t size,
                            const Stream& stream) const {
  return CopySpan<v1::CopyOut>(*this, offset, target, target_offset, size,
                               stream, v1::Command::kCopyOutFieldNumber);
}

absl::Status Buffer::FillBytes(const void* pattern, size_t pattern_size,
                               uint64_t offset, uint64_t size,
                               const Stream& stream) const {
  uint32_t value = 0;
  std::memcpy(&value, pattern, pattern_size);
  return session()
      ->queue
      .Submit([&](WireWriter& writer) {
        writer.Message(v1::Command::kFillBufferFieldNumber, [&] {
          using Fields = v1::FillBuffer;
          writer.Fixed64(Fields::kStreamFieldNumber, stream.handle());
          writer.Fixed64(Fields::kBufferFieldNumber, handle());
          writer.Varint(Fields::kOffsetFieldNumber, offset);
          writer.Varint(Fields::kSizeFieldNumber, size);
          if (pattern_size == 1) {
            writer.Varint(Fields::kByteFieldNumber, value);
          } else if (pattern_size == 2) {
            writer.Varint(Fields::kHalfWordFieldNumber, value);
          } else {
            writer.Fixed32(Fields::kWordFieldNumber, value);
          }
        });
      })
      .status();
}

absl::Status Buffer::Upload(const void* data, uint64_t size,
                            const Stream& stream, uint64_t offset) const {
  return UploadBytes(*session(),
                     {handle(), offset, size, stream.handle(), size_}, data);
}

absl::Status Buffer::Download(void* data, uint64_t size, const Stream& stream,
                              uint64_t offset) const {
  return DownloadBytes(*session(),
                       {handle(), offset, size, stream.handle(), size_}, data);
}

void Buffer::Free(const Stream& stream) {
  const uint64_t buffer = handle();
  DestroyWith([&](WireWriter& writer) {
    writer.Message(v1::Command::kFreeBufferFieldNumber, [&] {
      writer.Fixed64(v1::FreeBuffer::kBufferFieldNumber, buffer);
      writer.Fixed64(v1::FreeBuffer::kStreamFieldNumber, stream.handle());
    });
  });
}

}  // namespace holdfast
