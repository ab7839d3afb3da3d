// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/buffer.h"

#include <cstring>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/connection/request_text.h"
#include "client/cpp/state/session_state.h"
#include "client/cpp/transfer/arena.h"
#include "client/cpp/transfer/transfer.h"
#include "core/base/descriptor_socket.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "core/base/utf8.h"
#include "proto/protocol_limits.h"

namespace holdfast {
namespace {

// AllocateBuffer is written without a message: see CheckRequestText.
absl::Status CheckName(absl::string_view name) {
  if (!IsValidUtf8(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the name of a buffer, '", ToPrintable(name), "', is not UTF-8"));
  }
  if (name.size() > kMaxBufferNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name of a buffer has ", name.size(),
                     " bytes, the limit is ", kMaxBufferNameBytes));
  }
  return absl::OkStatus();
}

void WriteFree(uint64_t handle, WireWriter& writer) {
  writer.Message(v1::fields::Command::kFreeBuffer, [&] {
    writer.Write(v1::fields::FreeBuffer::kBuffer, handle);
  });
}

absl::Status RangeStatus(uint64_t offset, uint64_t size, const char* what,
                         uint64_t limit) {
  if (offset <= limit && size <= limit - offset) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(size, " bytes at offset ", offset,
                                            " of ", what, " of ", limit,
                                            " bytes"));
}

// One CopyIn or CopyOut; they have the same fields.
template <typename Fields>
absl::Status CopySpan(const Buffer& buffer, uint64_t offset,
                      const ArenaSpan& span, uint64_t span_offset,
                      uint64_t size, const Stream& stream,
                      wire::MessageField command) {
  HOLDFAST_RETURN_IF_ERROR(
      RangeStatus(span_offset, size, "a span", span.size()));
  HOLDFAST_RETURN_IF_ERROR(buffer.CheckRange(offset, size));
  if (size == 0) return absl::OkStatus();
  if (span.arena().session() != buffer.session()) {
    return absl::InvalidArgumentError(
        "the arena and the buffer belong to different sessions");
  }
  HOLDFAST_RETURN_IF_ERROR(span.arena().Ready());
  return stream.Submit([&](WireWriter& writer) {
    writer.Message(command, [&] {
      writer.Write(Fields::kStream, stream.handle());
      writer.Write(Fields::kBuffer, buffer.handle());
      writer.Write(Fields::kOffset, offset);
      writer.Write(Fields::kArena, span.arena().handle());
      writer.Write(Fields::kArenaOffset, span.offset() + span_offset);
      writer.Write(Fields::kSize, size);
    });
  });
}

// cudaMallocAsync on a capturing stream: a node that allocates.
absl::StatusOr<Buffer> CaptureAllocation(const Stream& stream, uint64_t size) {
  HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer,
                            Buffer::OfGraph(stream.session(), size));
  v1::GraphNode node;
  v1::GraphAllocation& allocation = *node.mutable_allocation();
  allocation.set_buffer(buffer.handle());
  allocation.set_size(size);
  allocation.set_device(stream.device());
  HOLDFAST_RETURN_IF_ERROR(stream.session()
                               ->captures
                               .AddNode(stream.handle(), stream.device(),
                                        NodeParams(std::move(node)))
                               .status());
  return buffer;
}

void CaptureFree(const Buffer& buffer, const Stream& stream) {
  v1::GraphNode node;
  node.mutable_free()->set_buffer(buffer.handle());
  // Fails only if the capture is broken already; its end tells.
  stream.session()
      ->captures
      .AddNode(stream.handle(), stream.device(), NodeParams(std::move(node)))
      .status()
      .IgnoreError();
}

}  // namespace

absl::StatusOr<Buffer> Buffer::OfGraph(std::shared_ptr<SessionState> session,
                                       uint64_t size) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Reserve(std::move(session), HandleKind::kBuffer, WriteFree));
  return Buffer(std::move(resource), size);
}

absl::StatusOr<Buffer> Buffer::ReserveAddresses(
    std::shared_ptr<SessionState> session, uint32_t device, uint64_t size,
    uint64_t address) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Make(
          std::move(session), HandleKind::kBuffer,
          [&](uint64_t handle, WireWriter& writer) {
            writer.Message(v1::fields::Command::kReserveAddresses, [&] {
              using Fields = v1::fields::ReserveAddresses;
              writer.Write(Fields::kBuffer, handle);
              writer.Write(Fields::kDevice, device);
              writer.Write(Fields::kSize, size);
              writer.Write(Fields::kAddress, address);
            });
          },
          WriteFree));
  return Buffer(std::move(resource), size);
}

absl::StatusOr<Buffer> Buffer::MapAt(uint64_t offset, const Buffer& memory,
                                     uint64_t size, bool read_only) const {
  HOLDFAST_RETURN_IF_ERROR(CheckRange(offset, size));
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Make(
          session(), HandleKind::kBuffer,
          [&](uint64_t mapping, WireWriter& writer) {
            writer.Message(v1::fields::Command::kMapBuffer, [&] {
              using Fields = v1::fields::MapBuffer;
              writer.Write(Fields::kMapping, mapping);
              writer.Write(Fields::kBuffer, handle());
              writer.Write(Fields::kOffset, offset);
              writer.Write(Fields::kSource, memory.handle());
              writer.Write(Fields::kSize, size);
              writer.Write(Fields::kReadOnly, read_only);
            });
          },
          WriteFree));
  return Buffer(std::move(resource), size);
}

absl::StatusOr<Buffer> Buffer::Allocate(std::shared_ptr<SessionState> session,
                                        int device, uint64_t size,
                                        const Stream* stream, Sharing sharing,
                                        absl::string_view name) {
  HOLDFAST_RETURN_IF_ERROR(CheckName(name));
  if (stream != nullptr && stream->IsCapturing()) {
    return CaptureAllocation(*stream, size);
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Make(
          std::move(session), HandleKind::kBuffer,
          [&](uint64_t handle, WireWriter& writer) {
            writer.Message(v1::fields::Command::kAllocateBuffer, [&] {
              using Fields = v1::fields::AllocateBuffer;
              writer.Write(Fields::kBuffer, handle);
              writer.Write(Fields::kSize, size);
              if (device < 0) {
                writer.Message(Fields::kHost, [] {});
              } else {
                writer.Write(Fields::kDevice, static_cast<uint32_t>(device));
              }
              if (stream != nullptr) {
                writer.Write(Fields::kStream, stream->handle());
              }
              if (sharing == Sharing::kExport) {
                writer.Write(Fields::kSharing, v1::SHARING_EXPORT);
              } else if (sharing == Sharing::kIpc) {
                writer.Write(Fields::kSharing, v1::SHARING_IPC);
              }
              if (!name.empty()) {
                writer.Write(Fields::kName, name.data(), name.size());
              }
            });
          },
          WriteFree));
  return Buffer(std::move(resource), size);
}

absl::StatusOr<Buffer> Buffer::Adopt(std::shared_ptr<SessionState> session,
                                     uint64_t handle, uint64_t size) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Resource::Adopt(std::move(session), handle, WriteFree));
  return Buffer(std::move(resource), size);
}

absl::StatusOr<Buffer> Buffer::ImportFrom(std::shared_ptr<SessionState> session,
                                          v1::ImportResource source) {
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource,
      Reserve(std::move(session), HandleKind::kBuffer, WriteFree));
  source.set_resource(resource.handle());
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result,
      resource.session()->queue.Call([&](v1::Command& command) {
        command.mutable_import_resource()->Swap(&source);
      }));
  return Buffer(std::move(resource), result.imported().size());
}

absl::StatusOr<Buffer> Buffer::Import(std::shared_ptr<SessionState> session,
                                      uint32_t device,
                                      absl::string_view token) {
  v1::ImportResource source;
  source.set_device(device);
  source.set_token(std::string(token));
  return ImportFrom(std::move(session), std::move(source));
}

absl::StatusOr<Buffer> Buffer::ImportDescriptor(
    std::shared_ptr<SessionState> session, uint32_t device, int fd,
    uint64_t offset, uint64_t size) {
  if (session->descriptor_path.empty()) {
    return absl::FailedPreconditionError(
        "descriptors can only be handed to a daemon on the same machine, over "
        "its Unix socket");
  }
  v1::ImportResource source;
  source.set_device(device);
  v1::ForeignMemory& memory = *source.mutable_memory();
  memory.set_offset(offset);
  memory.set_size(size);
  HOLDFAST_ASSIGN_OR_RETURN(*memory.mutable_descriptor_token(),
                            SendFd(session->descriptor_path,
                                   absl::HexStringToBytes(session->token), fd));
  return ImportFrom(std::move(session), std::move(source));
}

absl::StatusOr<Buffer> Buffer::ImportPool(std::shared_ptr<SessionState> session,
                                          uint32_t device, int fd,
                                          absl::string_view data,
                                          uint64_t size) {
  if (session->descriptor_path.empty()) {
    return absl::FailedPreconditionError(
        "descriptors can only be handed to a daemon on the same machine, over "
        "its Unix socket");
  }
  v1::ImportResource source;
  source.set_device(device);
  v1::ForeignMemory& memory = *source.mutable_memory();
  memory.set_size(size);
  memory.mutable_pool()->set_pointer_data(std::string(data));
  HOLDFAST_ASSIGN_OR_RETURN(*memory.mutable_pool()->mutable_descriptor_token(),
                            SendFd(session->descriptor_path,
                                   absl::HexStringToBytes(session->token), fd));
  return ImportFrom(std::move(session), std::move(source));
}

absl::StatusOr<IpcExport> Buffer::IpcHandle() const {
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result, session()->queue.Call([&](v1::Command& command) {
        v1::ExportResource& message = *command.mutable_export_resource();
        message.set_resource(handle());
        message.set_foreign(v1::FOREIGN_HANDLE_IPC);
      }));
  const v1::Export& exported = result.exported();
  return IpcExport{.handle = exported.ipc_handle(),
                   .offset = exported.offset(),
                   .size = exported.size(),
                   .mapped_size = exported.mapped_size()};
}

absl::StatusOr<std::vector<Buffer>> Buffer::OpenCollection(
    const std::shared_ptr<SessionState>& session, uint32_t device,
    const std::string& name, uint64_t version,
    absl::Span<const uint64_t> sizes) {
  v1::OpenCollection open;
  open.set_name(name);
  open.set_version(version);
  open.set_device(device);
  HOLDFAST_RETURN_IF_ERROR(CheckRequestText(open));
  std::vector<Buffer> buffers;
  for (const uint64_t size : sizes) {
    HOLDFAST_ASSIGN_OR_RETURN(Resource resource,
                              Reserve(session, HandleKind::kBuffer, WriteFree));
    open.add_buffers(resource.handle());
    buffers.push_back(Buffer(std::move(resource), size));
  }
  HOLDFAST_RETURN_IF_ERROR(session->queue
                               .Call([&](v1::Command& command) {
                                 *command.mutable_open_collection() = open;
                               })
                               .status());
  return buffers;
}

absl::StatusOr<Buffer> Buffer::OfGlobal(const Resource& module,
                                        std::shared_ptr<const void> owner,
                                        const std::string& name,
                                        uint32_t device) {
  v1::Command command;
  v1::GetGlobal& get = *command.mutable_get_global();
  get.set_module(module.handle());
  get.set_device(device);
  get.set_name(name);
  HOLDFAST_RETURN_IF_ERROR(CheckRequestText(command));
  HOLDFAST_ASSIGN_OR_RETURN(Resource resource,
                            Make(
                                module.session(), HandleKind::kBuffer,
                                [&](uint64_t handle, WireWriter& writer) {
                                  get.set_buffer(handle);
                                  writer.Fields(command);
                                },
                                WriteFree));
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result,
      module.session()->queue.Call([&](v1::Command& command) {
        command.mutable_describe_buffer()->set_buffer(resource.handle());
      }));
  Buffer variable(std::move(resource), result.buffer().size(),
                  std::move(owner));
  variable.is_variable_ = true;
  return variable;
}

absl::StatusOr<uint64_t> Buffer::address() const {
  const uint64_t known = address_.value.load(std::memory_order_relaxed);
  if (known != 0) return known;
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result, session()->queue.Call([&](v1::Command& command) {
        command.mutable_describe_buffer()->set_buffer(handle());
      }));
  const uint64_t address = result.buffer().address();
  if (!is_variable_) {
    address_.value.store(address, std::memory_order_relaxed);
  }
  return address;
}

absl::Status Buffer::CheckRange(uint64_t offset, uint64_t size) const {
  return RangeStatus(offset, size, "a buffer", size_);
}

absl::StatusOr<Buffer> Buffer::Sub(uint64_t offset, uint64_t size) const {
  HOLDFAST_RETURN_IF_ERROR(CheckRange(offset, size));
  HOLDFAST_ASSIGN_OR_RETURN(
      Resource resource, Make(
                             session(), HandleKind::kBuffer,
                             [&](uint64_t part, WireWriter& writer) {
                               writer.Message(
                                   v1::fields::Command::kCreateSubBuffer, [&] {
                                     using Fields = v1::fields::CreateSubBuffer;
                                     writer.Write(Fields::kBuffer, part);
                                     writer.Write(Fields::kParent, handle());
                                     writer.Write(Fields::kOffset, offset);
                                     writer.Write(Fields::kSize, size);
                                   });
                             },
                             WriteFree));
  Buffer part(std::move(resource), size);
  part.is_variable_ = is_variable_;
  return part;
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
  HOLDFAST_RETURN_IF_ERROR(CheckRange(offset, size));
  HOLDFAST_RETURN_IF_ERROR(source.CheckRange(source_offset, size));
  return stream.Submit([&](WireWriter& writer) {
    writer.Message(v1::fields::Command::kCopyBuffer, [&] {
      using Fields = v1::fields::CopyBuffer;
      writer.Write(Fields::kStream, stream.handle());
      writer.Write(Fields::kDestination, handle());
      writer.Write(Fields::kDestinationOffset, offset);
      writer.Write(Fields::kSource, source.handle());
      writer.Write(Fields::kSourceOffset, source_offset);
      writer.Write(Fields::kSize, size);
    });
  });
}

absl::Status Buffer::CopyFrom(const ArenaSpan& source, const Stream& stream,
                              uint64_t offset) const {
  return CopyFrom(source, 0, offset, source.size(), stream);
}

absl::Status Buffer::CopyFrom(const ArenaSpan& source, uint64_t source_offset,
                              uint64_t offset, uint64_t size,
                              const Stream& stream) const {
  return CopySpan<v1::fields::CopyIn>(*this, offset, source, source_offset,
                                      size, stream,
                                      v1::fields::Command::kCopyIn);
}

absl::Status Buffer::CopyTo(const ArenaSpan& target, const Stream& stream,
                            uint64_t offset) const {
  return CopyTo(target, 0, offset, target.size(), stream);
}

absl::Status Buffer::CopyTo(const ArenaSpan& target, uint64_t target_offset,
                            uint64_t offset, uint64_t size,
                            const Stream& stream) const {
  return CopySpan<v1::fields::CopyOut>(*this, offset, target, target_offset,
                                       size, stream,
                                       v1::fields::Command::kCopyOut);
}

absl::Status Buffer::FillBytes(const void* pattern, size_t pattern_size,
                               uint64_t offset, uint64_t size,
                               const Stream& stream) const {
  HOLDFAST_RETURN_IF_ERROR(CheckRange(offset, size));
  uint32_t value = 0;
  std::memcpy(&value, pattern, pattern_size);
  return stream.Submit([&](WireWriter& writer) {
    writer.Message(v1::fields::Command::kFillBuffer, [&] {
      using Fields = v1::fields::FillBuffer;
      writer.Write(Fields::kStream, stream.handle());
      writer.Write(Fields::kBuffer, handle());
      writer.Write(Fields::kOffset, offset);
      writer.Write(Fields::kSize, size);
      if (pattern_size == 1) {
        writer.Write(Fields::kByte, value);
      } else if (pattern_size == 2) {
        writer.Write(Fields::kHalfWord, value);
      } else {
        writer.Write(Fields::kWord, value);
      }
    });
  });
}

absl::Status Buffer::Upload(const void* data, uint64_t size,
                            const Stream& stream, uint64_t offset) const {
  HOLDFAST_RETURN_IF_ERROR(CheckRange(offset, size));
  HOLDFAST_RETURN_IF_ERROR(stream.RefuseIfCapturing(
      "uploading ordinary memory (copy from an arena instead; in Python, from "
      "an array of holdfast.empty_pinned)"));
  HOLDFAST_RETURN_IF_ERROR(stream.Enter());
  return stream.Leave(UploadBytes(
      *session(), {handle(), offset, size, stream.handle(), size_}, data));
}

absl::Status Buffer::Download(void* data, uint64_t size, const Stream& stream,
                              uint64_t offset) const {
  HOLDFAST_RETURN_IF_ERROR(CheckRange(offset, size));
  HOLDFAST_RETURN_IF_ERROR(stream.RefuseIfCapturing(
      "downloading to ordinary memory (copy to an arena instead; in Python, to "
      "an array of holdfast.empty_pinned)"));
  HOLDFAST_RETURN_IF_ERROR(stream.Enter());
  return DownloadBytes(*session(),
                       {handle(), offset, size, stream.handle(), size_}, data);
}

void Buffer::Free(const Stream& stream) {
  if (stream.IsCapturing()) return CaptureFree(*this, stream);
  // A failure is told by the stream's next command.
  stream.Enter().IgnoreError();
  const uint64_t buffer = handle();
  DestroyWith([&](WireWriter& writer) {
    writer.Message(v1::fields::Command::kFreeBuffer, [&] {
      writer.Write(v1::fields::FreeBuffer::kBuffer, buffer);
      writer.Write(v1::fields::FreeBuffer::kStream, stream.handle());
    });
  });
}

}  // namespace holdfast
