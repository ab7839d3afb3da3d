// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/buffer.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/cpp/box_copy.h"
#include "core/base/status_macros.h"

using holdfast::c::Give;
using holdfast::c::Guard;

namespace holdfast::c {
namespace {

// Handles of one session name something else in another.
absl::Status CheckSessions(const hf_buffer* buffer, const hf_stream* stream) {
  if (buffer->buffer.session() == stream->stream.session()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "the buffer and the stream belong to different sessions");
}

// Calls `fill` with the pattern as a number of its size.
template <typename Fill>
absl::Status WithPattern(const void* pattern, size_t size, Fill fill) {
  const auto typed = [&]<typename T>(T value) {
    std::memcpy(&value, pattern, sizeof value);
    return fill(value);
  };
  switch (size) {
    case 1:
      return typed(uint8_t{});
    case 2:
      return typed(uint16_t{});
    case 4:
      return typed(uint32_t{});
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "a pattern of ", size, " bytes: 1, 2 or 4 are possible"));
  }
}

BoxRange ToRange(const hf_box_range& range) {
  return {range.buffer->buffer, range.offset, range.row_pitch,
          range.slice_pitch};
}

}  // namespace
}  // namespace holdfast::c

extern "C" {

hf_error* hf_buffer_allocate(hf_session* session, uint32_t device,
                             uint64_t size, const hf_stream* stream,
                             hf_buffer** buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, buffer);
    const holdfast::Device on = session->session->device(device);
    return Give(stream == nullptr ? on.Allocate(size)
                                  : on.Allocate(size, stream->stream),
                buffer);
  });
}

hf_error* hf_buffer_allocate_named(hf_session* session, const char* name,
                                   uint32_t device, uint64_t size,
                                   const hf_stream* stream,
                                   hf_buffer** buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, name, stream, buffer);
    return Give(session->session->device(device).AllocateNamed(name, size,
                                                               stream->stream),
                buffer);
  });
}

hf_error* hf_buffer_take(hf_session* session, const char* name,
                         hf_buffer** buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, name, buffer);
    HOLDFAST_ASSIGN_OR_RETURN(const auto buffers, session->session->Buffers());
    for (const holdfast::BufferInfo& info : buffers) {
      if (info.name != name) continue;
      auto taken = session->session->Adopt(info);
      // This client has it already; there may be another of this name.
      if (absl::IsFailedPrecondition(taken.status())) continue;
      HOLDFAST_RETURN_IF_ERROR(taken.status());
      return Give(*std::move(taken), buffer);
    }
    return absl::NotFoundError(
        absl::StrCat("session ", session->session->id(),
                     " has no buffer to take that is named '", name, "'"));
  });
}

hf_error* hf_buffer_allocate_host(hf_session* session, uint64_t size,
                                  hf_buffer** buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, buffer);
    return Give(session->session->AllocateHost(size), buffer);
  });
}

hf_error* hf_buffer_sub(const hf_buffer* buffer, uint64_t offset, uint64_t size,
                        hf_buffer** part) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(buffer, part);
    return Give(buffer->buffer.Sub(offset, size), part);
  });
}

void hf_buffer_free(hf_buffer* buffer) { delete buffer; }

void hf_buffer_free_on(hf_buffer* buffer, const hf_stream* stream) {
  if (buffer != nullptr && stream != nullptr) {
    buffer->buffer.Free(stream->stream);
  }
  delete buffer;
}

uint64_t hf_buffer_size(const hf_buffer* buffer) {
  return buffer->buffer.size();
}

uint64_t hf_buffer_handle(const hf_buffer* buffer) {
  return buffer->buffer.handle();
}

hf_error* hf_buffer_address(const hf_buffer* buffer, uint64_t* address) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(buffer, address);
    return Give(buffer->buffer.address(), address);
  });
}

hf_error* hf_buffer_status(const hf_buffer* buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(buffer);
    return buffer->buffer.status();
  });
}

hf_error* hf_buffer_upload(const hf_buffer* buffer, uint64_t offset,
                           const void* data, uint64_t size,
                           const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(buffer, stream);
    if (size > 0) HF_REQUIRE(data);
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::CheckSessions(buffer, stream));
    return buffer->buffer.Upload(data, size, stream->stream, offset);
  });
}

hf_error* hf_buffer_download(const hf_buffer* buffer, uint64_t offset,
                             void* data, uint64_t size,
                             const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(buffer, stream);
    if (size > 0) HF_REQUIRE(data);
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::CheckSessions(buffer, stream));
    return buffer->buffer.Download(data, size, stream->stream, offset);
  });
}

hf_error* hf_buffer_copy(const hf_buffer* destination,
                         uint64_t destination_offset, const hf_buffer* source,
                         uint64_t source_offset, uint64_t size,
                         const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(destination, source, stream);
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::CheckSessions(destination, stream));
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::CheckSessions(source, stream));
    return destination->buffer.CopyFrom(source->buffer, source_offset,
                                        destination_offset, size,
                                        stream->stream);
  });
}

hf_error* hf_buffer_fill(const hf_buffer* buffer, uint64_t offset,
                         uint64_t size, const void* pattern,
                         size_t pattern_size, const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(buffer, pattern, stream);
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::CheckSessions(buffer, stream));
    return holdfast::c::WithPattern(
        pattern, pattern_size, [&](auto value) -> absl::Status {
          return buffer->buffer.Fill(value, offset, size, stream->stream);
        });
  });
}

hf_error* hf_buffer_copy_box(const hf_box_range* destination,
                             const hf_box_range* source, uint64_t width,
                             uint64_t height, uint64_t depth,
                             const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(destination, source, stream);
    HF_REQUIRE(destination->buffer, source->buffer);
    return holdfast::CopyBox({width, height, depth},
                             holdfast::c::ToRange(*destination),
                             holdfast::c::ToRange(*source), stream->stream);
  });
}

hf_error* hf_buffer_fill_rows(const hf_box_range* range, uint64_t width,
                              uint64_t height, const void* pattern,
                              size_t pattern_size, const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(range, pattern, stream);
    HF_REQUIRE(range->buffer);
    return holdfast::c::WithPattern(
        pattern, pattern_size, [&](auto value) -> absl::Status {
          return holdfast::FillRows(value, holdfast::c::ToRange(*range), width,
                                    height, stream->stream);
        });
  });
}

hf_error* hf_buffer_copy_all(const hf_range_copy* copies, size_t count,
                             const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream);
    if (count > 0) HF_REQUIRE(copies);
    std::vector<holdfast::RangeCopy> all;
    all.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      HF_REQUIRE(copies[i].destination, copies[i].source);
      all.push_back({copies[i].destination->buffer,
                     copies[i].destination_offset, copies[i].source->buffer,
                     copies[i].source_offset, copies[i].size});
    }
    return holdfast::CopyAll(all, stream->stream);
  });
}

}  // extern "C"
