// SPDX-License-Identifier: Apache-2.0
#include "server/holdings/session_memory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/holdings/collection_commit.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {
namespace {

internal::MemoryPlace PlaceOf(uint32_t device) {
  internal::MemoryPlace place;
  place.set_device(device);
  return place;
}

absl::StatusOr<v1::Rights> RightsOf(const internal::ExportRequest& request) {
  switch (request.terms().rights()) {
    case v1::RIGHTS_UNSPECIFIED:
    case v1::RIGHTS_READ:
      return v1::RIGHTS_READ;
    case v1::RIGHTS_READ_WRITE:
      return v1::RIGHTS_READ_WRITE;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("rights ", request.terms().rights(), " do not exist"));
  }
}

}  // namespace

absl::Status SessionMemory::Hold(const internal::ChunkCreated& created,
                                 UniqueFd fd) {
  const auto old = chunks_.find(created.chunk());
  // A suspended chunk that is made anew takes its own place.
  if (old == chunks_.end() && chunks_.size() >= kMaxChunks) {
    return absl::ResourceExhaustedError(
        absl::StrCat("it made more than ", kMaxChunks, " chunks of memory"));
  }
  std::optional<uint64_t> saved_offset;
  std::shared_ptr<EventPage> event;
  if (old != chunks_.end()) {
    saved_offset = old->second.saved_offset;
    event = std::move(old->second.event);
  }
  Release(created.chunk());
  const KeptName name = ChunkName(created.chunk(), created.device(),
                                  created.address(), created.size());
  DescriptorStore::Kept kept = services_.kept.Keep(name, fd.get());
  chunks_[created.chunk()] = {.fd = std::move(fd),
                              .kept = std::move(kept),
                              .device = created.device(),
                              .address = created.address(),
                              .size = created.size(),
                              .shared = nullptr,
                              .event = std::move(event),
                              .saved_offset = saved_offset};
  services_.memory.NoteTaken(created.device(), created.size());
  return absl::OkStatus();
}

KeptName SessionMemory::Name(const char* kind, uint64_t number) const {
  return {kind, {SessionNumber(session_), number}};
}

KeptName SessionMemory::ChunkName(uint64_t chunk, uint32_t device,
                                  uint64_t address, uint64_t size) const {
  KeptName name = Name("chunk", chunk);
  name.numbers.insert(name.numbers.end(), {uint64_t{device}, address, size});
  return name;
}

void SessionMemory::Release(uint64_t chunk) {
  const auto it = chunks_.find(chunk);
  if (it == chunks_.end()) return;
  if (it->second.shared == nullptr) {
    NoteReturned(it->second);
  } else {
    services_.grants.Forgive(PlaceOf(it->second.device), it->second.size);
    LeaveToOthers(it->second);
  }
  if (it->second.event != nullptr) it->second.event->Abandon();
  chunks_.erase(it);
}

absl::Status SessionMemory::Adopt(std::map<uint64_t, KeptChunk>& chunks) {
  // Pages of events that are gone.
  std::erase_if(chunks,
                [](const auto& entry) { return !entry.second.memory.valid(); });
  if (chunks.size() > kMaxChunks) {
    return absl::ResourceExhaustedError(
        absl::StrCat(chunks.size(), " chunks of memory; limit: ", kMaxChunks));
  }
  for (const auto& [number, chunk] : chunks) {
    HOLDFAST_RETURN_IF_ERROR(
        services_.grants.Reserve(PlaceOf(chunk.device), chunk.size));
  }
  for (auto& [number, chunk] : chunks) {
    internal::ChunkCreated created;
    created.set_chunk(number);
    created.set_device(chunk.device);
    created.set_address(chunk.address);
    created.set_size(chunk.size);
    HOLDFAST_RETURN_IF_ERROR(Hold(created, std::move(chunk.memory)));
    if (!chunk.event_page.valid()) continue;
    auto page = EventPage::Adopt(std::move(chunk.event_page));
    if (!page.ok()) continue;
    (*page)->Keep(services_.kept, Name("event", number));
    chunks_[number].event = *std::move(page);
  }
  return absl::OkStatus();
}

void SessionMemory::AdoptSaved(const internal::ChunkCreated& chunk) {
  chunks_[chunk.chunk()] = {.device = chunk.device(),
                            .address = chunk.address(),
                            .size = chunk.size(),
                            .saved_offset = chunk.saved_offset()};
}

absl::StatusOr<SharedResource> SessionMemory::AdoptShared(
    const internal::SharedRange& range) {
  HOLDFAST_ASSIGN_OR_RETURN(SharedResource resource,
                            Range(range.chunk(), range.offset(), range.size()));
  resource.kind = static_cast<v1::HandleKind>(range.kind());
  resource.rights = range.rights();
  if (range.event()) resource.event = chunks_.at(range.chunk()).event;
  return resource;
}

// If there is neither a token nor an import of it, the charge ends with the
// chunk, at once.
void SessionMemory::LeaveToOthers(const Chunk& chunk) const {
  if (tenant_ != nullptr) chunk.shared->ChargeMaker(*tenant_->device_bytes());
}

void SessionMemory::NoteReturned(const Chunk& chunk) {
  if (!chunk.on_device()) return;
  services_.memory.NoteReturned(chunk.device, chunk.size);
}

absl::Status SessionMemory::CheckAlone() const {
  const size_t exports = services_.exports.CountOf(session_);
  if (exports > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("other sessions may import what this one exports (",
                     exports, " tokens): RevokeExport takes them back"));
  }
  if (imports_.count() > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "it uses ", imports_.count(),
        " buffers, semaphores or events of other sessions or collections"));
  }
  for (const auto& [name, chunk] : chunks_) {
    if (chunk.shared == nullptr) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        chunk.size, " bytes of its memory on device ", chunk.device,
        " were shared with other sessions or belong to a collection"));
  }
  return absl::OkStatus();
}

internal::SaveMemory SessionMemory::PlanSave(uint64_t* bytes) const {
  internal::SaveMemory plan;
  *bytes = 0;
  for (const auto& [name, chunk] : chunks_) {
    internal::SavedChunk& saved = *plan.add_chunks();
    saved.set_chunk(name);
    saved.set_offset(*bytes);
    *bytes += chunk.size;
  }
  return plan;
}

void SessionMemory::Suspend(const internal::SaveMemory& saved) {
  std::map<uint64_t, uint64_t> offsets;
  for (const internal::SavedChunk& chunk : saved.chunks()) {
    offsets[chunk.chunk()] = chunk.offset();
  }
  for (auto& [name, chunk] : chunks_) {
    DropMemory(&chunk);
    const auto found = offsets.find(name);
    if (found != offsets.end()) chunk.saved_offset = found->second;
  }
  // Chunks that came after the plan: only an executor that lies makes any.
  std::erase_if(chunks_, [](const auto& entry) {
    return !entry.second.saved_offset.has_value();
  });
}

void SessionMemory::DropMemory(Chunk* chunk) {
  NoteReturned(*chunk);
  chunk->kept = DescriptorStore::Kept();
  chunk->fd.Reset();
}

void SessionMemory::MoveSaved(uint32_t device) {
  for (auto& [name, chunk] : chunks_) {
    if (!chunk.saved_offset.has_value()) continue;
    DropMemory(&chunk);
    chunk.device = device;
  }
}

absl::Status SessionMemory::ForEachChunk(
    const std::function<absl::Status(const internal::ChunkCreated&, int)>&
        visit) const {
  for (const auto& [name, chunk] : chunks_) {
    internal::ChunkCreated place;
    place.set_chunk(name);
    place.set_device(chunk.device);
    place.set_address(chunk.address);
    place.set_size(chunk.size);
    place.set_read_only(chunk.shared != nullptr && chunk.shared->sealed());
    place.set_saved(chunk.saved_offset.has_value());
    place.set_saved_offset(chunk.saved_offset.value_or(0));
    const int descriptor =
        chunk.shared == nullptr ? chunk.fd.get() : chunk.shared->descriptor();
    HOLDFAST_RETURN_IF_ERROR(visit(place, descriptor));
  }
  return absl::OkStatus();
}

void SessionMemory::EndRestore() {
  imports_.EndRestore();
  // Saved chunks that nothing came back to are gone.
  std::erase_if(chunks_,
                [](const auto& entry) { return !entry.second.on_device(); });
  for (auto& [name, chunk] : chunks_) chunk.saved_offset.reset();
}

void SessionMemory::BeginRestore() {
  imports_.BeginRestore();
  for (auto& [name, chunk] : chunks_) {
    // A successor that failed may have filled it in part.
    if (chunk.saved_offset.has_value()) DropMemory(&chunk);
    if (chunk.shared == nullptr) continue;
    services_.grants.Credit(PlaceOf(chunk.device), chunk.size);
  }
}

SessionMemory::Answer SessionMemory::Ask(
    const internal::SharingRequest& request, int descriptor) {
  Answer answer;
  const absl::Status status =
      session_.empty()
          ? absl::FailedPreconditionError("no session to share for")
          : Carry(request, descriptor, &answer);
  if (!status.ok()) *answer.reply.mutable_error() = ToError(status);
  return answer;
}

absl::Status SessionMemory::Carry(const internal::SharingRequest& request,
                                  int descriptor, Answer* answer) {
  switch (request.request_case()) {
    case internal::SharingRequest::kExportResource: {
      HOLDFAST_ASSIGN_OR_RETURN(std::string token,
                                Export(request.export_resource()));
      answer->reply.set_token(std::move(token));
      answer->reply.set_descriptor_address(
          services_.exports.descriptor_address());
      return absl::OkStatus();
    }
    case internal::SharingRequest::kImportResource:
      return Import(request.import_resource(), answer);
    case internal::SharingRequest::kRevoke:
      return services_.exports.Revoke(request.revoke(), session_);
    case internal::SharingRequest::kCommit:
      return Commit(request.commit(), descriptor, answer);
    case internal::SharingRequest::kOpen:
      return imports_.AddBuffer(request.open(), answer);
    case internal::SharingRequest::kReopen:
      return imports_.Reopen(request.reopen(), answer);
    case internal::SharingRequest::kSleep:
      return imports_.Sleep(request.sleep());
    case internal::SharingRequest::kWake:
      return imports_.Wake(request.wake(), answer);
    case internal::SharingRequest::kRead:
      return imports_.NoteRead(request.read());
    case internal::SharingRequest::kEventPage: {
      HOLDFAST_ASSIGN_OR_RETURN(answer->descriptor,
                                OpenEventPage(request.event_page()));
      return absl::OkStatus();
    }
    case internal::SharingRequest::kImportedEventPage: {
      HOLDFAST_ASSIGN_OR_RETURN(
          answer->descriptor,
          imports_.OpenEventPage(request.imported_event_page()));
      return absl::OkStatus();
    }
    case internal::SharingRequest::kAbandonedEvent: {
      HOLDFAST_ASSIGN_OR_RETURN(
          answer->descriptor,
          imports_.OpenAbandonedEvent(request.abandoned_event()));
      return absl::OkStatus();
    }
    case internal::SharingRequest::REQUEST_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("nothing asked for");
}

absl::StatusOr<std::string> SessionMemory::Export(
    const internal::ExportRequest& request) {
  if (request.terms().foreign() != v1::FOREIGN_HANDLE_UNSPECIFIED &&
      !tenant_->foreign_exports()) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the policy does not let processes outside Holdfast map memory of ",
        tenant_->name(), ": foreign-exports = false"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(SharedResource resource, Describe(request));
  return services_.exports.Export(session_, std::move(resource),
                                  request.terms());
}

absl::StatusOr<SharedResource> SessionMemory::Describe(
    const internal::ExportRequest& request) {
  if (request.import() != 0) return imports_.PartOf(request);
  if (request.kind() == v1::HANDLE_KIND_EVENT) return DescribeEvent(request);
  HOLDFAST_ASSIGN_OR_RETURN(const v1::Rights rights, RightsOf(request));
  HOLDFAST_ASSIGN_OR_RETURN(
      SharedResource resource,
      Range(request.chunk(), request.offset(), request.size()));
  resource.kind = request.kind();
  resource.rights = rights;
  return resource;
}

// Importers only wait for an event: values of its words rise because one
// session writes them.
absl::StatusOr<SharedResource> SessionMemory::DescribeEvent(
    const internal::ExportRequest& request) {
  HOLDFAST_ASSIGN_OR_RETURN(const v1::Rights rights, RightsOf(request));
  if (rights != v1::RIGHTS_READ) {
    return absl::InvalidArgumentError(
        "an event is exported with RIGHTS_READ: only the session that made it "
        "records it");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      SharedResource resource,
      Range(request.chunk(), request.offset(), request.size()));
  resource.kind = v1::HANDLE_KIND_EVENT;
  resource.event = chunks_.at(request.chunk()).event;
  if (resource.event == nullptr) {
    return absl::FailedPreconditionError("the chunk is for no event");
  }
  return resource;
}

absl::StatusOr<UniqueFd> SessionMemory::OpenEventPage(uint64_t chunk) {
  const auto found = chunks_.find(chunk);
  if (found == chunks_.end()) {
    return absl::NotFoundError("no such chunk in this session");
  }
  std::shared_ptr<EventPage>& event = found->second.event;
  if (event == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(event, EventPage::Create());
    event->Keep(services_.kept, Name("event", chunk));
  }
  return event->OpenForMaker();
}

absl::StatusOr<SharedResource> SessionMemory::Range(uint64_t chunk,
                                                    uint64_t offset,
                                                    uint64_t size) {
  const auto found = chunks_.find(chunk);
  if (found == chunks_.end()) {
    return absl::NotFoundError("no such chunk in this session");
  }
  const uint64_t limit = found->second.size;
  if (offset > limit || size > limit - offset) {
    return absl::OutOfRangeError(
        absl::StrCat(size, " bytes at ", offset, " of a chunk of ", limit));
  }
  SharedResource resource;
  resource.kind = v1::HANDLE_KIND_BUFFER;
  resource.maker = SessionNumber(session_);
  resource.chunk_number = chunk;
  resource.device = found->second.device;
  resource.offset = offset;
  resource.size = size;
  resource.rights = v1::RIGHTS_READ;
  HOLDFAST_ASSIGN_OR_RETURN(resource.chunk, Share(chunk, found->second));
  return resource;
}

// From now on the chunk may outlive its session, and so does its charge.
absl::StatusOr<std::shared_ptr<SharedChunk>> SessionMemory::Share(
    uint64_t number, Chunk& chunk) {
  if (chunk.shared != nullptr) return chunk.shared;
  HOLDFAST_RETURN_IF_ERROR(CheckChunkDescriptor(chunk.fd.get(), chunk.size));
  HOLDFAST_ASSIGN_OR_RETURN(
      MemoryGrants::Detached charge,
      services_.grants.Detach(PlaceOf(chunk.device), chunk.size));
  chunk.shared = std::make_shared<SharedChunk>(SharedChunk::Options{
      .descriptor = std::move(chunk.fd),
      .kept = std::move(chunk.kept),
      .store = &services_.kept,
      .name = ChunkName(number, chunk.device, chunk.address, chunk.size),
      .device = chunk.device,
      .size = chunk.size,
      .charge = std::move(charge),
      .saved = nullptr,
      .owner_ended = ended_,
      .memory = &services_.memory});
  services_.exports.Track(chunk.shared);
  return chunk.shared;
}

absl::Status SessionMemory::Import(const internal::ImportRequest& request,
                                   Answer* answer) {
  HOLDFAST_RETURN_IF_ERROR(imports_.CheckRoom());
  HOLDFAST_ASSIGN_OR_RETURN(
      SharedResource resource,
      services_.exports.Redeem(
          request.token(),
          {session_, tenant_ == nullptr ? "" : tenant_->name()},
          request.kind()));
  // The version's reader is the exporter; from now on this session is one, too.
  const auto exported = std::exchange(resource.version, nullptr);
  auto version = exported == nullptr ? nullptr : exported->OpenFor(session_);
  return imports_.Add(std::move(resource), std::move(version), answer);
}

absl::Status SessionMemory::Commit(const internal::CommitRequest& request,
                                   int descriptor, Answer* answer) {
  const auto find = [this](const internal::CommittedBuffer& buffer) {
    return buffer.has_import()
               ? imports_.Adoptable(buffer.import())
               : Range(buffer.chunk(), buffer.offset(), buffer.size());
  };
  HOLDFAST_ASSIGN_OR_RETURN(
      *answer->reply.mutable_collection(),
      CommitCollection(services_.collections, session_, *tenant_, request,
                       descriptor, find));
  return absl::OkStatus();
}

void SessionMemory::Close() {
  if (!session_.empty()) {
    services_.exports.EndSession(session_);
    services_.collections.EndSession(session_);
  }
  session_.clear();
  *ended_ = true;
  for (const auto& [id, chunk] : chunks_) {
    if (chunk.shared == nullptr) {
      NoteReturned(chunk);
    } else {
      LeaveToOthers(chunk);
    }
    if (chunk.event != nullptr) chunk.event->Abandon();
  }
  chunks_.clear();
  imports_.Close();
}

void SessionMemory::Report(v1::SessionUsage* usage) const {
  usage->mutable_exports()->set_used(services_.exports.CountOf(session_));
  usage->mutable_exports()->set_limit(ExportRegistry::kMaxOfSession);
  imports_.Report(usage);
}

}  // namespace holdfast
