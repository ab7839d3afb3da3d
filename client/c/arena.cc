// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/arena.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "core/base/status_macros.h"

using holdfast::c::Give;
using holdfast::c::Guard;

extern "C" {

hf_error* hf_arena_create(hf_session* session, uint64_t size,
                          hf_arena** arena) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, arena);
    return Give(session->session->CreateArena(size), arena);
  });
}

hf_error* hf_arena_create_of(hf_session* session, int memory,
                             hf_arena** arena) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, arena);
    struct stat info = {};
    if (fstat(memory, &info) != 0) {
      return absl::ErrnoToStatus(errno,
                                 absl::StrCat("look at descriptor ", memory));
    }
    return Give(session->session->CreateArena(
                    static_cast<uint64_t>(info.st_size), {.memory = memory}),
                arena);
  });
}

void hf_arena_free(hf_arena* arena) { delete arena; }

uint64_t hf_arena_size(const hf_arena* arena) { return arena->arena->size(); }

hf_error* hf_arena_allocate(hf_arena* arena, uint64_t size, hf_span** span) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(arena, span);
    HOLDFAST_ASSIGN_OR_RETURN(auto taken, arena->arena->Allocate(size));
    return Give(std::move(taken), span);
  });
}

hf_error* hf_arena_span_at(hf_arena* arena, uint64_t offset, uint64_t size,
                           hf_span** span) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(arena, span);
    HOLDFAST_ASSIGN_OR_RETURN(auto found, arena->arena->SpanAt(offset, size));
    return Give(std::move(found), span);
  });
}

void hf_span_free(hf_span* span) { delete span; }

void* hf_span_data(const hf_span* span) { return span->span.data(); }

hf_error* hf_span_address(const hf_span* span, uint64_t* address) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(span, address);
    return Give(span->span.address(), address);
  });
}

uint64_t hf_span_size(const hf_span* span) { return span->span.size(); }

uint64_t hf_span_offset(const hf_span* span) { return span->span.offset(); }

hf_error* hf_span_to_buffer(const hf_span* span, uint64_t span_offset,
                            const hf_buffer* buffer, uint64_t offset,
                            uint64_t size, const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(span, buffer, stream);
    return buffer->buffer.CopyFrom(span->span, span_offset, offset, size,
                                   stream->stream);
  });
}

hf_error* hf_span_from_buffer(const hf_span* span, uint64_t span_offset,
                              const hf_buffer* buffer, uint64_t offset,
                              uint64_t size, const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(span, buffer, stream);
    return buffer->buffer.CopyTo(span->span, span_offset, offset, size,
                                 stream->stream);
  });
}

hf_error* hf_place_copy(const hf_place* destination, const hf_place* source,
                        uint64_t size, const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream);
    HOLDFAST_ASSIGN_OR_RETURN(const auto to, holdfast::c::ToPlace(destination));
    HOLDFAST_ASSIGN_OR_RETURN(const auto from, holdfast::c::ToPlace(source));
    return holdfast::Copy(to, from, size, stream->stream);
  });
}

hf_error* hf_place_fill(const hf_place* destination, uint64_t width,
                        uint64_t height, uint64_t pitch, const void* pattern,
                        size_t pattern_size, const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(pattern, stream);
    HOLDFAST_ASSIGN_OR_RETURN(const auto to, holdfast::c::ToPlace(destination));
    return holdfast::Fill(to, {width, height, pitch},
                          {static_cast<const char*>(pattern), pattern_size},
                          stream->stream);
  });
}

}  // extern "C"
