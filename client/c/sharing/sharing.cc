// SPDX-License-Identifier: Apache-2.0
//
// Buffers of other sessions, and buffers in this process.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/c/sharing/token.h"
#include "client/cpp/device.h"
#include "client/cpp/local/local_mapping.h"
#include "client/cpp/local/local_memory.h"
#include "client/cpp/local/paired_stream.h"
#include "core/base/status_macros.h"

using holdfast::c::Complete;
using holdfast::c::Give;
using holdfast::c::Guard;

struct hf_mapping {
  std::unique_ptr<holdfast::LocalMapping> mapping;
};

namespace holdfast::c {
namespace {

LocalExport ToLocalExport(const hf_local_export& memory) {
  return {.token = std::string(ToToken(memory.token)),
          .address = std::string(
              memory.address, strnlen(memory.address, sizeof memory.address)),
          .offset = memory.offset,
          .size = memory.size,
          .mapped_size = memory.mapped_size,
          .read_only = memory.read_only};
}

LocalMappingOptions ToMappingOptions(const hf_mapping_options& all) {
  return {.driver = Text(all.driver), .device = all.device};
}

absl::Status GiveLocalExport(const LocalExport& made, hf_local_export* memory) {
  hf_local_export given = {};
  if (made.address.size() >= sizeof given.address) {
    return absl::InternalError(
        absl::StrCat("the address ", made.address, " is too long"));
  }
  HOLDFAST_RETURN_IF_ERROR(GiveToken(made.token, given.token));
  made.address.copy(given.address, sizeof given.address);
  given.offset = made.offset;
  given.size = made.size;
  given.mapped_size = made.mapped_size;
  given.read_only = made.read_only;
  *memory = given;
  return absl::OkStatus();
}

absl::Status GiveMapping(const LocalExport& memory,
                         const hf_mapping_options& all, hf_mapping** out) {
  HOLDFAST_ASSIGN_OR_RETURN(auto mapped,
                            LocalMapping::Map(memory, ToMappingOptions(all)));
  return Give(std::move(mapped), out);
}

}  // namespace
}  // namespace holdfast::c

extern "C" {

hf_error* hf_buffer_allocate_shared(hf_session* session, uint32_t device,
                                    uint64_t size, hf_buffer** buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, buffer);
    return Give(session->session->device(device).AllocateShared(size), buffer);
  });
}

hf_error* hf_buffer_export(const hf_buffer* buffer,
                           const hf_export_options* options, uint8_t* token) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(buffer, token);
    HOLDFAST_ASSIGN_OR_RETURN(const auto wanted,
                              holdfast::c::ToOptions(options));
    HOLDFAST_ASSIGN_OR_RETURN(const auto made, buffer->buffer.Export(wanted));
    return holdfast::c::GiveToken(made, token);
  });
}

hf_error* hf_buffer_import(hf_session* session, uint32_t device,
                           const uint8_t* token, hf_buffer** buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, token, buffer);
    return Give(
        session->session->device(device).Import(holdfast::c::ToToken(token)),
        buffer);
  });
}

hf_error* hf_session_revoke_export(hf_session* session, const uint8_t* token) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, token);
    return session->session->RevokeExport(holdfast::c::ToToken(token));
  });
}

hf_error* hf_mapping_create(const hf_buffer* buffer,
                            const hf_mapping_options* options,
                            hf_mapping** mapping) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(buffer, mapping);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto all,
        Complete<hf_mapping_options>(options, HF_MAPPING_OPTIONS_INIT));
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto exported,
        buffer->buffer.ExportLocal({.rights = all.writable
                                                  ? holdfast::Rights::kReadWrite
                                                  : holdfast::Rights::kRead}));
    return holdfast::c::GiveMapping(exported, all, mapping);
  });
}

hf_error* hf_buffer_import_local(hf_session* session, uint32_t device,
                                 uint64_t pointer, uint64_t size,
                                 const hf_mapping_options* options,
                                 hf_buffer** buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, buffer);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto all,
        Complete<hf_mapping_options>(options, HF_MAPPING_OPTIONS_INIT));
    return Give(holdfast::ImportLocal(session->session->device(device), pointer,
                                      size, holdfast::c::ToMappingOptions(all)),
                buffer);
  });
}

hf_error* hf_stream_pair(const hf_stream* stream, const uint64_t* handle,
                         const hf_mapping_options* options, uint64_t* paired) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream, paired);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto all,
        Complete<hf_mapping_options>(options, HF_MAPPING_OPTIONS_INIT));
    const auto of_this_process =
        handle == nullptr ? std::nullopt : std::make_optional(*handle);
    return Give(holdfast::PairStream(stream->stream, of_this_process,
                                     holdfast::c::ToMappingOptions(all)),
                paired);
  });
}

hf_error* hf_buffer_export_local(const hf_buffer* buffer,
                                 const hf_export_options* options,
                                 hf_local_export* memory) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(buffer, memory);
    HOLDFAST_ASSIGN_OR_RETURN(const auto wanted,
                              holdfast::c::ToOptions(options));
    HOLDFAST_ASSIGN_OR_RETURN(const auto made,
                              buffer->buffer.ExportLocal(wanted));
    return holdfast::c::GiveLocalExport(made, memory);
  });
}

hf_error* hf_semaphore_export_local(const hf_semaphore* semaphore,
                                    const hf_export_options* options,
                                    hf_local_export* memory) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(semaphore, memory);
    HOLDFAST_ASSIGN_OR_RETURN(const auto wanted,
                              holdfast::c::ToOptions(options));
    HOLDFAST_ASSIGN_OR_RETURN(const auto made,
                              semaphore->semaphore.ExportLocally(wanted));
    return holdfast::c::GiveLocalExport(made, memory);
  });
}

hf_error* hf_mapping_open(const hf_local_export* memory,
                          const hf_mapping_options* options,
                          hf_mapping** mapping) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(memory, mapping);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto all,
        Complete<hf_mapping_options>(options, HF_MAPPING_OPTIONS_INIT));
    return holdfast::c::GiveMapping(holdfast::c::ToLocalExport(*memory), all,
                                    mapping);
  });
}

hf_error* hf_mapping_sleep(hf_mapping* mapping) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(mapping);
    return mapping->mapping->Sleep();
  });
}

hf_error* hf_mapping_wake(hf_mapping* mapping, const hf_local_export* memory) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(mapping, memory);
    return mapping->mapping->Wake(holdfast::c::ToLocalExport(*memory));
  });
}

void hf_mapping_free(hf_mapping* mapping) { delete mapping; }

uint64_t hf_mapping_pointer(const hf_mapping* mapping) {
  return mapping->mapping->pointer();
}

uint64_t hf_mapping_size(const hf_mapping* mapping) {
  return mapping->mapping->size();
}

}  // extern "C"
