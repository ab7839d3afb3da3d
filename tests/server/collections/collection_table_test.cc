// SPDX-License-Identifier: Apache-2.0
//
// Whose collections a client sees, and descriptions that lie. Their memory
// is tested by tests/conformance/service/collection_test.cc.
#include "server/collections/collection_table.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/kept/descriptor_store.h"

namespace holdfast::collections {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
const char kAnna[] = "uid 1";
const char kBen[] = "uid 2";

v1::ArrayDescription Array(const std::string& name, uint64_t offset,
                           uint64_t count) {
  v1::ArrayDescription array;
  array.set_name(name);
  array.set_dtype("F32");
  array.add_shape(count);
  array.set_offset(offset);
  array.set_size(4 * count);
  return array;
}

v1::CommitCollection Contents(const std::string& name) {
  v1::CommitCollection contents;
  contents.set_name(name);
  *contents.add_arrays() = Array("a", 0, 4);
  return contents;
}

// Outlives all chunks.
DeviceMemory device_memory;

std::vector<SharedResource> OneBuffer() {
  SharedResource buffer;
  buffer.size = 1024;
  buffer.chunk = std::make_shared<SharedChunk>(SharedChunk::Options{
      .descriptor = UniqueFd(),
      .kept = {},
      .size = 1024,
      .charge = {},
      .owner_ended = std::make_shared<std::atomic<bool>>(false),
      .memory = &device_memory});
  return {buffer};
}

std::shared_ptr<const Charge> Charged(const std::shared_ptr<Quota>& quota) {
  return std::make_shared<const Charge>(*quota->Take(1024));
}

class CollectionTableTest : public ::testing::Test {
 protected:
  absl::StatusOr<v1::CollectionVersion> Commit(const std::string& client,
                                               const std::string& name) {
    return table_.Commit(client, "s-1", Contents(name), OneBuffer(), {});
  }
  absl::Status Open(const std::string& client, const std::string& name) {
    return table_.Open(client, "s-2", name, 0).status();
  }
  // The versions that there are, retired ones too.
  std::vector<uint64_t> Versions(const std::string& client) {
    std::vector<uint64_t> versions;
    const v1::ListCollectionsResponse list = table_.List({client});
    for (const v1::CollectionInfo& collection : list.collections()) {
      for (const v1::VersionInfo& version : collection.versions()) {
        versions.push_back(version.version());
      }
    }
    return versions;
  }
  absl::Status Configure(
      const std::function<void(v1::ConfigureCollectionRequest&)>& set) {
    v1::ConfigureCollectionRequest request;
    request.set_name("weights");
    set(request);
    return table_.Configure({kAnna}, request);
  }
  // Watches as a client, who is told in words.
  void Watch(const std::string& client, const std::string& name = "") {
    const auto tell = [this](const CollectionTable::Changes& changes) {
      ++tellings_;
      for (const v1::CollectionChange& change : *changes) {
        told_.push_back(absl::StrCat(
            v1::CollectionChange::Kind_Name(change.kind()), " ", change.owner(),
            ":", change.name(), " ", change.version()));
      }
    };
    table_.Watch({client}, name, tell);
  }
  int64_t Claim(const std::string& session) {
    return *table_.Claim(
        kAnna, session, "weights",
        [this,
         session](const absl::StatusOr<std::optional<v1::CollectionVersion>>&
                      answer) {
          told_.push_back(absl::StrCat(session, !answer.ok() ? " is refused"
                                                : answer->has_value()
                                                    ? " opens"
                                                    : " writes"));
        });
  }
  absl::Status CommitBy(const std::string& session) {
    return table_.Commit(kAnna, session, Contents("weights"), OneBuffer(), {})
        .status();
  }
  using Told = std::vector<std::string>;
  Told TakeTold() { return std::exchange(told_, {}); }
  void ShareWithAll(const std::string& client, const std::string& name) {
    v1::ConfigureCollectionRequest request;
    request.set_name(name);
    request.mutable_visibility()->set_everybody(true);
    EXPECT_TRUE(table_.Configure({client}, request).ok());
  }

  Told told_;
  int tellings_ = 0;  // to watchers
  CollectionTable table_;
};

// The records that a store has of versions, by name: a record that is written
// anew is another file.
std::map<std::string, ino_t> Records(const DescriptorStore& store) {
  std::map<std::string, ino_t> records;
  for (const KeptDescriptor& kept : store.CopyAll()) {
    struct stat info = {};
    EXPECT_EQ(fstat(kept.fd.get(), &info), 0);
    if (kept.name.kind == "version") {
      records[kept.name.ToString()] = info.st_ino;
    }
  }
  return records;
}

TEST_F(CollectionTableTest, ANameOfAnotherClientIsUnknownAndFree) {
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  EXPECT_TRUE(absl::IsNotFound(Open(kBen, "weights")));
  EXPECT_EQ(table_.List({kBen}).collections_size(), 0);
  v1::DeleteCollectionRequest request;
  request.set_name("weights");
  EXPECT_TRUE(absl::IsNotFound(table_.Delete({kBen}, request).status()));
  EXPECT_EQ(Commit(kBen, "weights")->version(), 1u);
  EXPECT_EQ(table_.List({kAnna, true}).collections_size(), 2);
}

TEST_F(CollectionTableTest, WhatIsSharedIsOpenedAndNotChangedByOthers) {
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  ShareWithAll(kAnna, "weights");
  EXPECT_TRUE(Open(kBen, "weights").ok());
  v1::DeleteCollectionRequest request;
  request.set_name("weights");
  EXPECT_TRUE(
      absl::IsPermissionDenied(table_.Delete({kBen}, request).status()));
}

TEST_F(CollectionTableTest, ANameThatSeveralShareIsAmbiguousWithoutItsOwner) {
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  ASSERT_TRUE(Commit(kBen, "weights").ok());
  ShareWithAll(kAnna, "weights");
  ShareWithAll(kBen, "weights");
  const absl::Status status = Open("uid 3", "weights");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "uid 1:weights"));
  EXPECT_TRUE(Open("uid 3", "uid 2:weights").ok());
  EXPECT_TRUE(Open(kAnna, "weights").ok());
}

TEST_F(CollectionTableTest, VersionsBeyondKeepGoAndNumbersDoNotComeBack) {
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(Commit(kAnna, "weights")->version(), i);
  }
  EXPECT_EQ(table_.List({kAnna}).collections(0).versions_size(), 1);
  v1::ConfigureCollectionRequest request;
  request.set_name("weights");
  request.set_keep(2);
  ASSERT_TRUE(table_.Configure({kAnna}, request).ok());
  EXPECT_EQ(Commit(kAnna, "weights")->version(), 4u);
  EXPECT_EQ(table_.List({kAnna}).collections(0).versions_size(), 2);
}

TEST_F(CollectionTableTest, OneClientCannotFillTheTable) {
  for (size_t i = 0; i < CollectionTable::kMaxOfClient; ++i) {
    ASSERT_TRUE(Commit(kAnna, absl::StrCat("c", i)).ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(Commit(kAnna, "more").status()));
  EXPECT_TRUE(Commit(kAnna, "c0").ok());
  EXPECT_TRUE(Commit(kBen, "more").ok());
}

TEST_F(CollectionTableTest, AClientThatHasEndedLeavesNothingToOpenOrToCount) {
  const auto quota = Quota::Create({.name = "x", .unit = "bytes"});
  for (const char* const name : {"a", "b"}) {
    ASSERT_TRUE(table_
                    .Commit(kAnna, "s-1", Contents(name), OneBuffer(),
                            {.charges = {Charged(quota)}, .visibility = {}})
                    .ok());
  }
  ASSERT_TRUE(Commit(kBen, "a").ok());
  EXPECT_EQ(table_.BytesByClient()[kAnna], 2048u);
  EXPECT_EQ(quota->used(), 2048u);
  {
    const auto reader = table_.Open(kAnna, "s-2", "b", 0);
    table_.DeleteAllOf(kAnna);
    EXPECT_TRUE(absl::IsNotFound(Open(kAnna, "a")));
    EXPECT_TRUE(absl::IsNotFound(Open(kAnna, "b")));
    EXPECT_EQ(quota->used(), 1024u);
  }
  EXPECT_EQ(quota->used(), 0u);
  EXPECT_TRUE(Open(kBen, "a").ok());
}

TEST_F(CollectionTableTest, WhatWasDeletedWhileOpenIsForgottenInTheEnd) {
  v1::DeleteCollectionRequest request;
  for (size_t i = 0; i < CollectionTable::kMaxOfClient; ++i) {
    const std::string name = absl::StrCat("c", i);
    ASSERT_TRUE(Commit(kAnna, name).ok());
    const auto open = table_.Open(kAnna, "s-2", name, 0);
    ASSERT_TRUE(open.ok());
    request.set_name(name);
    ASSERT_TRUE(table_.Delete({kAnna}, request).ok());
    EXPECT_TRUE(absl::IsNotFound(Open(kAnna, name)));
  }
  EXPECT_TRUE(Commit(kAnna, "more").ok());
}

TEST_F(CollectionTableTest, DescriptionsThatLieAreRefusedByName) {
  struct Lie {
    v1::ArrayDescription array;
    const char* says;
  };
  std::vector<Lie> lies = {
      {Array("a", 0, 2), "stands there twice"},
      {Array("", 0, 2), "a name of 0 bytes"},
      {Array(std::string(1025, 'x'), 0, 2), "a name of 1025 bytes"},
      {Array("beyond", 1020, 2), "which has 1024"},
      {Array("far", kMost - 3, 1), "which has 1024"},
      {Array("odd", 2, 1), "no multiple of 4"},
      {Array("huge", 0, kMost / 2), "64 bits"},
  };
  lies.push_back({Array("size", 0, 4), "its size is 8"});
  lies.back().array.set_size(8);
  lies.push_back({Array("buffer", 0, 4), "buffer 1 of 1"});
  lies.back().array.set_buffer(1);
  lies.push_back({Array("dtype", 0, 4), "unknown dtype"});
  lies.back().array.set_dtype("F33");
  lies.push_back({Array("stride", 0, 4), "below 0"});
  lies.back().array.add_strides(-1);
  for (const Lie& lie : lies) {
    v1::CommitCollection contents = Contents("weights");
    *contents.add_arrays() = lie.array;
    const auto status =
        table_.Commit(kAnna, "s-1", contents, OneBuffer(), {}).status();
    EXPECT_TRUE(absl::StrContains(status.message(), lie.says)) << status;
  }
  EXPECT_TRUE(absl::IsNotFound(Open(kAnna, "weights")));
}

TEST_F(CollectionTableTest, NamesAreShortAndPlain) {
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a\n"),
        std::string("uid 1:a"), std::string(201, 'a')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Commit(kAnna, name).status())) << name;
  }
  EXPECT_TRUE(Commit(kAnna, "models/Qwen-2.5_7B").ok());
}

TEST_F(CollectionTableTest, AClaimEndsWithTheCommitOrPassesOn) {
  const int64_t first = Claim("s-1");
  Claim("s-2");
  Claim("s-3");
  EXPECT_EQ(TakeTold(), Told{"s-1 writes"});
  table_.Unclaim(first);
  EXPECT_TRUE(absl::IsFailedPrecondition(CommitBy("s-1")));
  ASSERT_TRUE(CommitBy("s-2").ok());
  EXPECT_EQ(Claim("s-4"), 0);
  EXPECT_EQ(TakeTold(),
            (Told{"s-2 writes", "s-2 opens", "s-3 opens", "s-4 opens"}));
}

TEST_F(CollectionTableTest, AClaimEndsWithItsSession) {
  Claim("s-1");
  Claim("s-2");
  Claim("s-1");
  Claim("s-3");
  table_.EndSession("s-1");
  EXPECT_EQ(TakeTold(), (Told{"s-1 writes", "s-1 is refused", "s-1 is refused",
                              "s-2 writes"}));
  // One that only waits: nobody else is told anything.
  table_.EndSession("s-3");
  EXPECT_EQ(TakeTold(), Told{"s-3 is refused"});
  table_.EndSession("s-2");
  EXPECT_EQ(TakeTold(), Told{"s-2 is refused"});
  EXPECT_TRUE(CommitBy("s-4").ok());
}

TEST_F(CollectionTableTest, TheNextDaemonKnowsWhoIsToWrite) {
  internal::ClaimRecord record;
  record.set_owner(kAnna);
  record.set_name("weights");
  record.set_session("s-1");
  table_.Adopt(record);
  // It has not called yet, and nobody goes before it.
  Claim("s-2");
  EXPECT_EQ(TakeTold(), Told{});
  EXPECT_TRUE(absl::IsFailedPrecondition(CommitBy("s-2")));
  Claim("s-1");
  EXPECT_EQ(TakeTold(), Told{"s-1 writes"});
  ASSERT_TRUE(CommitBy("s-1").ok());
  EXPECT_EQ(TakeTold(), (Told{"s-1 opens", "s-2 opens"}));
}

TEST_F(CollectionTableTest, AWriterThatDoesNotComeBackEndsWithItsSession) {
  internal::ClaimRecord record;
  record.set_owner(kAnna);
  record.set_name("weights");
  record.set_session("s-1");
  table_.Adopt(record);
  Claim("s-2");
  table_.EndSession("s-1");
  EXPECT_EQ(TakeTold(), Told{"s-2 writes"});
}

TEST_F(CollectionTableTest, WatchersAreToldOfEverythingThatTheySee) {
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  Watch(kAnna);
  EXPECT_EQ(TakeTold(), Told{"KIND_PRESENT uid 1:weights 1"});
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  EXPECT_EQ(TakeTold(), (Told{"KIND_COMMITTED uid 1:weights 2",
                              "KIND_RETIRED uid 1:weights 1"}));
  ASSERT_TRUE(Configure([](auto& request) { request.set_keep(0); }).ok());
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  TakeTold();
  ASSERT_TRUE(Configure([](auto& request) { request.set_keep(2); }).ok());
  EXPECT_EQ(TakeTold(), Told{"KIND_RETIRED uid 1:weights 2"});
  v1::DeleteCollectionRequest request;
  request.set_name("weights");
  EXPECT_EQ(*table_.Delete({kAnna}, request), 2u);
  EXPECT_EQ(TakeTold(), (Told{"KIND_DELETED uid 1:weights 3",
                              "KIND_DELETED uid 1:weights 4"}));
  // Those of others that are shared.
  ASSERT_TRUE(Commit(kBen, "weights").ok());
  EXPECT_EQ(TakeTold(), Told{});
  ShareWithAll(kBen, "weights");
  ASSERT_TRUE(Commit(kBen, "weights").ok());
  EXPECT_EQ(TakeTold(), (Told{"KIND_COMMITTED uid 2:weights 2",
                              "KIND_RETIRED uid 2:weights 1"}));
}

// No watcher can read while one call changes many versions.
TEST_F(CollectionTableTest, WatchersAreToldAtOnceOfAllThatOneCallChanges) {
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  ASSERT_TRUE(Commit(kAnna, "other").ok());
  ASSERT_TRUE(Configure([](auto& request) { request.set_keep(0); }).ok());
  Watch(kAnna);
  EXPECT_EQ(tellings_, 1);
  EXPECT_EQ(TakeTold().size(), 2u);
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(Commit(kAnna, "weights").ok());
  EXPECT_EQ(TakeTold().size(), 9u);
  tellings_ = 0;
  ASSERT_TRUE(Configure([](auto& request) { request.set_keep(6); }).ok());
  EXPECT_EQ(tellings_, 1);
  EXPECT_EQ(TakeTold().size(), 4u);
  v1::DeleteCollectionRequest request;
  request.set_name("weights");
  ASSERT_TRUE(table_.Delete({kAnna}, request).ok());
  EXPECT_EQ(tellings_, 2);
  EXPECT_EQ(TakeTold().size(), 6u);
}

TEST_F(CollectionTableTest, AWatcherMayNameTheOwner) {
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  ASSERT_TRUE(Commit(kBen, "weights").ok());
  ShareWithAll(kBen, "weights");
  Watch(kAnna, "uid 2:weights");
  EXPECT_EQ(TakeTold(), Told{"KIND_PRESENT uid 2:weights 1"});
}

TEST_F(CollectionTableTest, APinnedVersionStays) {
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  ASSERT_TRUE(Configure([](auto& request) { request.add_pin(0); }).ok());
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  EXPECT_EQ(Versions(kAnna), (std::vector<uint64_t>{1, 3}));
  EXPECT_TRUE(table_.List({kAnna}).collections(0).versions(0).pinned());
  v1::DeleteCollectionRequest request;
  request.set_name("weights");
  EXPECT_TRUE(
      absl::IsFailedPrecondition(table_.Delete({kAnna}, request).status()));
  EXPECT_EQ(Versions(kAnna), (std::vector<uint64_t>{1, 3}));
  EXPECT_TRUE(absl::IsNotFound(Configure([](auto& request) {
    request.set_keep(7);
    request.add_unpin(2);
  })));
  EXPECT_EQ(table_.List({kAnna}).collections(0).keep(), 1u);
  ASSERT_TRUE(Configure([](auto& request) { request.add_unpin(1); }).ok());
  EXPECT_EQ(Versions(kAnna), std::vector<uint64_t>{3});
}

TEST_F(CollectionTableTest, AVersionMayGoWithItsLastReader) {
  Watch(kAnna);
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  ASSERT_TRUE(Configure([](auto& request) {
                request.set_until_unreferenced(true);
              }).ok());
  EXPECT_EQ(Versions(kAnna), std::vector<uint64_t>{1});
  auto first = table_.Open(kAnna, "s-1", "weights", 0);
  // A process that has mapped it counts as much as a session.
  auto process = (*first)->OpenFor("pid 4711");
  EXPECT_EQ(table_.List({kAnna}).collections(0).versions(0).readers(0),
            "pid 4711");
  first = absl::NotFoundError("");
  EXPECT_EQ(Versions(kAnna), std::vector<uint64_t>{1});
  TakeTold();
  process = nullptr;
  EXPECT_EQ(Versions(kAnna), std::vector<uint64_t>{});
  EXPECT_EQ(TakeTold(), Told{"KIND_RETIRED uid 1:weights 1"});
  // Unless it is pinned.
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  ASSERT_TRUE(Configure([](auto& request) {
                request.set_until_unreferenced(true);
                request.add_pin(0);
              }).ok());
  EXPECT_TRUE(Open(kAnna, "weights").ok());
  EXPECT_TRUE(Open(kAnna, "weights").ok());
}

TEST_F(CollectionTableTest, AVersionThatNobodyCouldReadYetStays) {
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  ASSERT_TRUE(Configure([](auto& request) {
                request.set_until_unreferenced(true);
              }).ok());
  // It opens, and lets go before it has the memory.
  ASSERT_TRUE(Open(kAnna, "weights").ok());
  EXPECT_EQ(Versions(kAnna), std::vector<uint64_t>{1});
  {
    const auto reader = table_.Open(kAnna, "s-2", "weights", 0);
    (*reader)->NoteRead();
    ASSERT_TRUE(Open(kAnna, "weights").ok());
    EXPECT_EQ(Versions(kAnna), std::vector<uint64_t>{1});
  }
  EXPECT_EQ(Versions(kAnna), std::vector<uint64_t>{});
}

TEST_F(CollectionTableTest, AVersionThatIsReadNoMoreGoesWhenItIsUnpinned) {
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  ASSERT_TRUE(Configure([](auto& request) {
                request.set_keep(0);
                request.set_until_unreferenced(true);
                request.add_pin(0);
              }).ok());
  (*table_.Open(kAnna, "s-2", "weights", 1))->NoteRead();
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  ASSERT_TRUE(Configure([](auto& request) { request.add_pin(2); }).ok());
  EXPECT_EQ(Versions(kAnna), (std::vector<uint64_t>{1, 2}));
  Watch(kAnna);
  TakeTold();
  // Nobody has read the second one.
  ASSERT_TRUE(Configure([](auto& request) {
                request.add_unpin(1);
                request.add_unpin(2);
              }).ok());
  EXPECT_EQ(TakeTold(), Told{"KIND_RETIRED uid 1:weights 1"});
  EXPECT_EQ(Versions(kAnna), std::vector<uint64_t>{2});
}

// It does not push out an older one that is to stay.
TEST_F(CollectionTableTest, AVersionThatGoesUnreadIsNotOneOfThoseThatAreKept) {
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  ASSERT_TRUE(Configure([](auto& request) { request.set_keep(2); }).ok());
  ASSERT_TRUE(Commit(kAnna, "weights").ok());
  (*table_.Open(kAnna, "s-2", "weights", 2))->NoteRead();
  ASSERT_TRUE(Configure([](auto& request) {
                request.set_keep(1);
                request.set_until_unreferenced(true);
              }).ok());
  EXPECT_EQ(Versions(kAnna), std::vector<uint64_t>{1});
}

TEST_F(CollectionTableTest, APinWritesTheRecordsThatItChangesAlone) {
  DescriptorStore store;
  CollectionTable table;
  table.KeepIn(&store);
  v1::ConfigureCollectionRequest request;
  request.set_name("weights");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(
        table.Commit(kAnna, "s-1", Contents("weights"), OneBuffer(), {}).ok());
    request.set_keep(0);
    ASSERT_TRUE(table.Configure({kAnna}, request).ok());
  }
  const auto before = Records(store);
  ASSERT_EQ(before.size(), 3u);
  request.clear_keep();
  request.add_pin(2);
  ASSERT_TRUE(table.Configure({kAnna}, request).ok());
  const auto pinned = Records(store);
  EXPECT_EQ(pinned.size(), 3u);
  int written = 0;
  for (const auto& [name, file] : before) {
    ASSERT_TRUE(pinned.contains(name)) << name;
    written += pinned.at(name) == file ? 0 : 1;
  }
  EXPECT_EQ(written, 1);
  // It is pinned already.
  ASSERT_TRUE(table.Configure({kAnna}, request).ok());
  EXPECT_EQ(Records(store), pinned);
  request.clear_pin();
  request.add_unpin(2);
  ASSERT_TRUE(table.Configure({kAnna}, request).ok());
  EXPECT_NE(Records(store), pinned);
}

TEST_F(CollectionTableTest, AChunkOfSeveralVersionsCountsOnce) {
  ASSERT_TRUE(Configure([](auto&) {}).code() == absl::StatusCode::kNotFound);
  const std::vector<SharedResource> buffers = OneBuffer();
  for (const char* const name : {"a", "b"}) {
    ASSERT_TRUE(table_.Commit(kAnna, "s-1", Contents(name), buffers, {}).ok());
  }
  EXPECT_EQ(table_.BytesByClient()[kAnna], 1024u);
}

// The end of a version's memory may take seconds. Its charge calls the table
// here, which hangs if the table's lock is held.
TEST_F(CollectionTableTest, MemoryOfVersionsEndsWithoutTheLock) {
  uint64_t ended = 0;
  const auto quota =
      Quota::Create({.name = "memory",
                     .unit = "bytes",
                     .reserve = [](uint64_t) { return absl::OkStatus(); },
                     .release =
                         [&](uint64_t) {
                           table_.List({kAnna});
                           ++ended;
                         }});
  const auto commit = [&](const std::string& name) {
    ASSERT_TRUE(table_
                    .Commit(kAnna, "s-1", Contents(name), OneBuffer(),
                            {.charges = {Charged(quota)}, .visibility = {}})
                    .ok());
  };
  commit("weights");
  commit("weights");  // keeps the latest alone
  EXPECT_EQ(ended, 1u);
  v1::DeleteCollectionRequest request;
  request.set_name("weights");
  EXPECT_EQ(*table_.Delete({kAnna}, request), 1u);
  EXPECT_EQ(ended, 2u);
  commit("weights");
  table_.DeleteAllOf(kAnna);
  EXPECT_EQ(ended, 3u);
  ASSERT_TRUE(Configure([](auto& r) { r.set_keep(2); }).code() ==
              absl::StatusCode::kNotFound);
  commit("weights");
  ASSERT_TRUE(Configure([](auto& r) { r.set_keep(2); }).ok());
  commit("weights");
  ASSERT_TRUE(Configure([](auto& r) { r.set_keep(1); }).ok());
  EXPECT_EQ(ended, 4u);
  table_.DeleteAllOf(kAnna);
  EXPECT_EQ(ended, 5u);
}

}  // namespace
}  // namespace holdfast::collections
