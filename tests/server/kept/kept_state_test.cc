// SPDX-License-Identifier: Apache-2.0
#include "server/kept/kept_state.h"

#include <string>
#include <utility>
#include <vector>

#include "core/base/memfd.h"
#include "gtest/gtest.h"

namespace holdfast {
namespace {

class KeptStateTest : public testing::Test {
 protected:
  void Add(const std::string& name, const std::string& bytes = "") {
    const auto parsed = KeptName::Parse(name);
    ASSERT_TRUE(parsed.has_value()) << name;
    kept_.push_back({*parsed, *CreateSealedMemfd("kept", bytes)});
  }
  KeptState Sort() { return SortKept(std::move(kept_)); }

  std::vector<KeptDescriptor> kept_;
};

TEST_F(KeptStateTest, ASessionIsWholeWithItsRecordSocketsAndJournal) {
  internal::SessionRecord record;
  record.set_name("training");
  Add("hf.session.7", record.SerializeAsString());
  Add("hf.calls.7");
  Add("hf.descriptors.7");
  EXPECT_FALSE(SortKept({}).sessions.contains(7));
  Add("hf.journal.7.3");
  Add("hf.chunk.7.1.0.7f2000000.2000000");
  Add("hf.event.7.1");
  Add("hf.arena.7.20.1000");
  Add("hf.detached.7");
  KeptState state = Sort();
  ASSERT_TRUE(state.sessions.contains(7));
  const KeptSession& session = state.sessions.at(7);
  EXPECT_TRUE(session.whole());
  EXPECT_EQ(session.record->name(), "training");
  EXPECT_EQ(session.epoch, 3u);
  EXPECT_EQ(session.chunks.at(1).address, 0x7f2000000u);
  EXPECT_EQ(session.chunks.at(1).size, 0x2000000u);
  EXPECT_TRUE(session.chunks.at(1).event_page.valid());
  EXPECT_EQ(session.arenas.at(0x20).size, 0x1000u);
  EXPECT_TRUE(session.detached);
  EXPECT_EQ(state.names.size(), 8u);
}

TEST_F(KeptStateTest, CountersGoOnUnlessTheyCannotBeRead) {
  internal::CountersRecord counters;
  counters.mutable_daemon()->set_faults(3);
  Add("hf.counters", counters.SerializeAsString());
  EXPECT_EQ(Sort().counters.daemon().faults(), 3u);
  Add("hf.counters", counters.SerializeAsString() + "\xff");
  EXPECT_EQ(Sort().counters.daemon().faults(), 0u);
}

TEST_F(KeptStateTest, ChunksOfCollectionsAreNotTheSessions) {
  Add("hf.saved.7.1.0.7f2000000.2000000");
  Add("hf.chunk.7.1.0.7f4000000.4000000");
  Add("hf.saved.7.1.0");
  Add("hf.owned.7.1.0.7f6000000.6000000");
  const KeptState state = Sort();
  const KeptSession& session = state.sessions.at(7);
  EXPECT_EQ(session.chunks.at(1).size, 0x4000000u);
  EXPECT_EQ(session.saved_chunks.at(1).address, 0x7f2000000u);
  EXPECT_EQ(session.saved_chunks.at(1).size, 0x2000000u);
  EXPECT_TRUE(session.saved_chunks.at(1).memory.valid());
  EXPECT_EQ(session.owned_chunks.at(1).address, 0x7f6000000u);
  EXPECT_EQ(session.owned_chunks.at(1).size, 0x6000000u);
  EXPECT_TRUE(session.owned_chunks.at(1).memory.valid());
}

TEST_F(KeptStateTest, TheLastJournalCounts) {
  Add("hf.journal.7.4", "four");
  Add("hf.journal.7.3", "three");
  const KeptState state = Sort();
  EXPECT_EQ(state.sessions.at(7).epoch, 4u);
  EXPECT_FALSE(state.sessions.at(7).whole());
  EXPECT_TRUE(state.sessions.at(7).objects.empty());
}

TEST_F(KeptStateTest, RecordsThatCannotBeReadAreLeftOut) {
  Add("hf.session.7", "\xff\xff");
  Add("hf.suspension.7", "\xff\xff");
  Add("hf.calls.7");
  Add("hf.code.7.1");  // without its header
  Add("hf.header.7.2", "\xff\xff");
  Add("hf.import.7.3", "\xff\xff");
  for (const char* kind : {"collection", "version", "claim", "tenant"}) {
    Add(std::string("hf.") + kind + ".4", "\xff\xff");
  }
  const KeptState state = Sort();
  const KeptSession& session = state.sessions.at(7);
  EXPECT_FALSE(session.record.has_value());
  EXPECT_FALSE(session.suspension.has_value());
  EXPECT_TRUE(session.objects.empty());
  EXPECT_TRUE(session.imports.empty());
  EXPECT_FALSE(session.whole());
  EXPECT_TRUE(state.collections.empty());
  EXPECT_TRUE(state.claims.empty());
  EXPECT_TRUE(state.tenants.empty());
}

TEST_F(KeptStateTest, NamesOfNoSenseHurtNobody) {
  for (const char* name :
       {"hf.chunk", "hf.chunk.7", "hf.chunk.7.1", "hf.chunk.7.1.2",
        "hf.arena.7.1", "hf.nonsense.7", "hf.nonsense.7.1.2.3.4",
        "hf.session.7.7.7", "hf.journal.7"}) {
    Add(name);
  }
  const KeptState state = Sort();
  EXPECT_EQ(state.names.size(), 9u);
  EXPECT_FALSE(state.sessions.at(7).whole());
  EXPECT_TRUE(state.sessions.at(7).chunks.empty());
}

}  // namespace
}  // namespace holdfast
