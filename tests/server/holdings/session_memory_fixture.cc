// SPDX-License-Identifier: Apache-2.0
#include "tests/server/holdings/session_memory_fixture.h"

#include <utility>

#include "core/base/memfd.h"
#include "holdfast/internal/restart.pb.h"
#include "server/kept/descriptor_store.h"
#include "server/memory/suspended_memory.h"
#include "server/rpc/status_conversion.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

// Outlives all chunks, which may outlive their session.
DescriptorStore& KeptBy() {
  static DescriptorStore store;
  return store;
}

}  // namespace

internal::MemoryPlace Device0() {
  internal::MemoryPlace place;
  place.set_device(0);
  return place;
}

UniqueFd Memory(uint64_t size, int seals) {
  UniqueFd fd = *CreateMemfd("chunk", size);
  EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

TestSession::TestSession(MemoryLedger& ledger, ExportRegistry& exports,
                         collections::CollectionTable& collections,
                         DeviceMemory& memory, const std::string& id,
                         const std::string& tenant)
    : grants(ledger), held({exports, collections, memory, grants, KeptBy()}) {
  internal::AccountLimits limits;
  limits.set_device_bytes(64 * kMiB);
  grants.Open(limits, 1);
  payer = std::make_shared<Tenant>(Tenant::Options{.name = tenant});
  held.Open(id, payer);
}

void TestSession::Make(uint64_t chunk, UniqueFd fd, uint64_t size) {
  EXPECT_OK(grants.Reserve(Device0(), size));
  internal::ChunkCreated created;
  created.set_chunk(chunk);
  created.set_size(size);
  EXPECT_OK(held.Hold(created, std::move(fd)));
}

void TestSession::Free(uint64_t chunk) {
  held.Release(chunk);
  EXPECT_OK(grants.Release(Device0(), kSize));
}

void TestSession::End() {
  held.Close();
  grants.Close();
}

absl::StatusOr<std::string> TestSession::AskToken(
    const internal::SharingRequest& request) {
  const SessionMemory::Answer answer = held.Ask(request, -1);
  if (answer.reply.has_error()) return FromError(answer.reply.error());
  return answer.reply.token();
}

absl::StatusOr<UniqueFd> TestSession::AskFd(
    const internal::SharingRequest& request) {
  SessionMemory::Answer answer = held.Ask(request, -1);
  if (answer.reply.has_error()) return FromError(answer.reply.error());
  return std::move(answer.descriptor);
}

absl::StatusOr<std::string> TestSession::Export(uint64_t chunk, uint64_t offset,
                                                uint64_t size,
                                                v1::Rights rights) {
  internal::SharingRequest request;
  internal::ExportRequest& of = *request.mutable_export_resource();
  of.set_kind(v1::HANDLE_KIND_BUFFER);
  of.set_chunk(chunk);
  of.set_offset(offset);
  of.set_size(size);
  of.mutable_terms()->set_rights(rights);
  return AskToken(request);
}

SessionMemory::Answer TestSession::Import(const std::string& token,
                                          v1::HandleKind kind) {
  internal::SharingRequest request;
  request.mutable_import_resource()->set_token(token);
  request.mutable_import_resource()->set_kind(kind);
  return held.Ask(request, -1);
}

absl::StatusOr<std::string> TestSession::ExportImport(
    uint64_t import, uint64_t offset, uint64_t size,
    v1::ForeignHandle foreign) {
  internal::SharingRequest request;
  internal::ExportRequest& of = *request.mutable_export_resource();
  of.set_kind(v1::HANDLE_KIND_BUFFER);
  of.set_import(import);
  of.set_offset(offset);
  of.set_size(size);
  of.mutable_terms()->set_foreign(foreign);
  return AskToken(request);
}

absl::Status TestSession::Commit(uint64_t chunk, const std::string& name) {
  return Commit({chunk}, {}, name);
}

absl::Status TestSession::Commit(const std::vector<uint64_t>& chunks,
                                 const std::vector<uint64_t>& imports,
                                 const std::string& name) {
  v1::CommitCollection contents;
  contents.set_name(name);
  internal::SharingRequest request;
  for (const uint64_t chunk : chunks) {
    internal::CommittedBuffer& buffer =
        *request.mutable_commit()->add_buffers();
    buffer.set_chunk(chunk);
    buffer.set_size(kSize);
  }
  for (const uint64_t import : imports) {
    request.mutable_commit()->add_buffers()->set_import(import);
  }
  const auto description =
      CreateSealedMemfd("contents", contents.SerializeAsString());
  const SessionMemory::Answer answer = held.Ask(request, description->get());
  return answer.reply.has_error() ? FromError(answer.reply.error())
                                  : absl::OkStatus();
}

uint64_t TestSession::OpenCollection(const std::string& name, uint32_t buffer) {
  internal::SharingRequest request;
  request.mutable_open()->set_name(name);
  request.mutable_open()->set_buffer(buffer);
  return held.Ask(request, -1).reply.imported().import();
}

void TestSession::Read(uint64_t import) {
  internal::SharingRequest request;
  request.set_read(import);
  EXPECT_FALSE(held.Ask(request, -1).reply.has_error());
}

SessionMemory::Answer TestSession::Sleep(uint64_t import) {
  internal::SharingRequest request;
  request.set_sleep(import);
  return held.Ask(request, -1);
}

SessionMemory::Answer TestSession::Wake(uint64_t import,
                                        const std::string& name,
                                        uint64_t version) {
  internal::SharingRequest request;
  request.mutable_wake()->set_import(import);
  request.mutable_wake()->mutable_open()->set_name(name);
  request.mutable_wake()->mutable_open()->set_version(version);
  return held.Ask(request, -1);
}

absl::StatusOr<UniqueFd> TestSession::EventPage(uint64_t chunk) {
  internal::SharingRequest request;
  request.set_event_page(chunk);
  return AskFd(request);
}

absl::StatusOr<UniqueFd> TestSession::ImportedEventPage(uint64_t import) {
  internal::SharingRequest request;
  request.set_imported_event_page(import);
  return AskFd(request);
}

absl::StatusOr<UniqueFd> TestSession::AbandonedEvent(uint64_t import) {
  internal::SharingRequest request;
  request.set_abandoned_event(import);
  return AskFd(request);
}

absl::StatusOr<std::string> TestSession::ExportEvent(uint64_t chunk,
                                                     v1::Rights rights) {
  internal::SharingRequest request;
  internal::ExportRequest& of = *request.mutable_export_resource();
  of.set_kind(v1::HANDLE_KIND_EVENT);
  of.set_chunk(chunk);
  of.set_size(4096);
  of.mutable_terms()->set_rights(rights);
  return AskToken(request);
}

SessionMemoryTest::SessionMemoryTest() {
  internal::Ready ready;
  ready.add_devices()->set_total_memory(256 * kMiB);
  ledger_.AddDevices(ready);
}

std::unique_ptr<TestSession> SessionMemoryTest::Open(
    const std::string& id, const std::string& tenant) {
  return std::make_unique<TestSession>(ledger_, exports_, collections_, memory_,
                                       id, tenant);
}

uint64_t SessionMemoryTest::Reserved() const {
  v1::MemoryTotals totals;
  ledger_.Report(&totals);
  return totals.devices(0).reserved_bytes().used();
}

uint64_t SessionMemoryTest::Orphaned() const {
  v1::MemoryTotals totals;
  ledger_.Report(&totals);
  exports_.ReportOrphans(&totals);
  return totals.devices(0).orphaned_bytes();
}

void SessionMemoryTest::UntilUnreferenced(const std::string& name) {
  v1::ConfigureCollectionRequest request;
  request.set_name(name);
  request.set_until_unreferenced(true);
  EXPECT_OK(collections_.Configure({.client = "uid 1000"}, request));
}

std::vector<std::string> SessionMemoryTest::Readers() const {
  const v1::ListCollectionsResponse list = collections_.List({"", true});
  const auto& readers = list.collections(0).versions(0).readers();
  return {readers.begin(), readers.end()};
}

bool SessionMemoryTest::IsKeptAsleep(uint64_t import) {
  for (const KeptDescriptor& kept : KeptBy().CopyAll()) {
    if (kept.name.kind != "import") continue;
    if (kept.name.numbers != std::vector<uint64_t>{2, import}) continue;
    internal::ImportRecord record;
    EXPECT_OK(ReadRecord(kept.fd.get(), &record));
    return record.asleep();
  }
  ADD_FAILURE() << "import " << import << " is not kept";
  return false;
}

void SessionMemoryTest::SuspendAndResume(const std::string& name) {
  const collections::CollectionTable::Viewer owner = {.client = "uid 1000"};
  auto away = *collections_.BeginSuspension(owner, name, 0);
  collections::CollectionTable::Places places;
  places.push_back(away.chunks.at(0)->InFile(*SuspendedMemory::CreateInMemory(
      kSize, *ledger_.TakeHost("", nullptr, kSize))));
  ASSERT_OK(collections_.FinishSuspension(away, &places));
  EXPECT_EQ(Orphaned(), 0u);
  auto back = *collections_.BeginResumption(owner, name, 0);
  places.clear();
  places.push_back(back.chunks.at(0)->OnDevice(Memory(kSize), {}));
  collections_.FinishResumption(back, &places);
}

}  // namespace holdfast::testing
