// SPDX-License-Identifier: Apache-2.0
//
// Collections: what a reader gets, that nobody changes it, and what outlives
// what.
#include "client/cpp/collection/collection.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/cpp/collection/collections.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/launch.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/collections.pb.h"
#include "tests/conformance/service/service.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::conformance {
namespace {

using absl::StatusCode;
using ::holdfast::testing::StatusIs;

constexpr uint64_t kCount = 1000;

class CollectionTest : public ServiceTest {
 protected:
  // Each test has a name of its own.
  void SetUp() override {
    name_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void TearDown() override {
    (void)collections_.Delete(name_);
    EXPECT_TRUE(Eventually([] { return OrphanedBytes() == 0; }));
  }

  static std::vector<uint32_t> Numbers(uint32_t first) {
    std::vector<uint32_t> numbers(kCount);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
  }

  // A version of arrays "a" and "b".
  absl::StatusOr<uint64_t> Write(const Side& side, uint32_t first) const {
    HOLDFAST_ASSIGN_OR_RETURN(
        CollectionWriter writer,
        CollectionWriter::Create(
            *side.session, {{"a", "U32", {kCount}}, {"b", "U32", {2, 500}}}));
    for (uint32_t i = 0; i < 2; ++i) {
      HOLDFAST_ASSIGN_OR_RETURN(const Buffer array, writer.Array(i));
      HOLDFAST_RETURN_IF_ERROR(array.Upload(Numbers(first + i), side.stream));
    }
    return writer.Commit(name_, {{"first", absl::StrCat(first)}});
  }

  static absl::StatusOr<std::vector<uint32_t>> Read(
      const Collection& collection, const std::string& array,
      const Stream& stream) {
    HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer, collection.Array(array));
    std::vector<uint32_t> values(buffer.size() / sizeof(uint32_t));
    HOLDFAST_RETURN_IF_ERROR(buffer.Download(values, stream));
    return values;
  }

  // The address of an array, as kernels of the session see it.
  static absl::StatusOr<uint64_t> AddressOf(const Collection& collection,
                                            const std::string& array,
                                            const Side& side) {
    HOLDFAST_ASSIGN_OR_RETURN(
        const Compilation compiled,
        Program("extern \"C\" __global__ void where(unsigned long long* out, "
                "const unsigned* x) { *out = (unsigned long long)x; }")
            .Compile(daemon()));
    HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                              side.session->Load(compiled.object));
    HOLDFAST_ASSIGN_OR_RETURN(const Kernel where, module.GetKernel("where"));
    HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer, collection.Array(array));
    HOLDFAST_ASSIGN_OR_RETURN(
        const Buffer out,
        side.session->device(0).Allocate(sizeof(uint64_t), side.stream));
    HOLDFAST_RETURN_IF_ERROR(
        Launch(side.stream, {.grid = 1, .block = 1}, where, out, buffer));
    uint64_t address = 0;
    HOLDFAST_RETURN_IF_ERROR(
        out.Download(&address, sizeof address, side.stream));
    return address;
  }
  int ReaderCount() {
    const auto list = collections_.List();
    if (!list.ok() || list->collections().empty()) return -1;
    return list->collections(0).versions(0).readers_size();
  }

  std::string name_;
  Collections collections_{session().shared_daemon()};
};

TEST_F(CollectionTest, OutlivesItsWriterAndItsReaders) {
  {
    ASSERT_OK_AND_ASSIGN(const Side writer, Open());
    ASSERT_OK(Write(writer, 7));
    ASSERT_OK(writer.session->Close());
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const Side reader, Open());
    ASSERT_OK_AND_ASSIGN(const Collection read,
                         Collection::Open(*reader.session, name_));
    EXPECT_EQ(read.version(), 1u);
    EXPECT_EQ(read.metadata().at("first"), "7");
    EXPECT_EQ(read.arrays().at("b").shape.size(), 2u);
    EXPECT_EQ(*Read(read, "a", reader.stream), Numbers(7));
    EXPECT_EQ(*Read(read, "b", reader.stream), Numbers(8));
  }
}

TEST_F(CollectionTest, OutlivesAnExecutorThatIsKilled) {
  ASSERT_OK_AND_ASSIGN(const Side writer, Open());
  ASSERT_OK(Write(writer, 1));
  ASSERT_NO_FATAL_FAILURE(KillExecutor(*writer.session));
  EXPECT_TRUE(Eventually([&] { return !writer.stream.Synchronize().ok(); }));
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(const Collection read,
                       Collection::Open(*reader.session, name_));
  EXPECT_EQ(*Read(read, "a", reader.stream), Numbers(1));
}

TEST_F(CollectionTest, NobodyCanWriteAfterTheCommit) {
  ASSERT_OK_AND_ASSIGN(const Side writer, Open());
  ASSERT_OK_AND_ASSIGN(
      CollectionWriter collection,
      CollectionWriter::Create(*writer.session, {{"a", "U32", {kCount}}}));
  ASSERT_OK_AND_ASSIGN(const Buffer array, collection.Array(0));
  ASSERT_OK(array.Fill(uint32_t{5}, writer.stream));
  ASSERT_OK(collection.Commit(name_));

  ASSERT_OK(array.Fill(uint32_t{6}, writer.stream));
  EXPECT_THAT(writer.stream.Synchronize(),
              StatusIs(StatusCode::kPermissionDenied, "collection"));
  ASSERT_OK_AND_ASSIGN(
      const Compilation compiled,
      Program("extern \"C\" __global__ void store(unsigned* x) { *x = 9; }")
          .Compile(daemon()));
  ASSERT_OK_AND_ASSIGN(const Module module,
                       writer.session->Load(compiled.object));
  ASSERT_OK_AND_ASSIGN(const Kernel store, module.GetKernel("store"));
  ASSERT_OK(Launch(writer.stream, {.grid = 1, .block = 1}, store, array));
  EXPECT_FALSE(writer.stream.Synchronize().ok());

  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(const Collection read,
                       Collection::Open(*reader.session, name_));
  EXPECT_EQ(*Read(read, "a", reader.stream), std::vector<uint32_t>(kCount, 5));
  ASSERT_OK_AND_ASSIGN(const Buffer opened, read.Array("a"));
  ASSERT_OK(opened.Fill(uint32_t{6}, reader.stream));
  EXPECT_THAT(reader.stream.Synchronize(),
              StatusIs(StatusCode::kPermissionDenied, ""));
}

TEST_F(CollectionTest, ReadersOfAnOldVersionAreNotDisturbed) {
  ASSERT_OK_AND_ASSIGN(const Side writer, Open());
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK(Write(writer, 1));
  {
    ASSERT_OK_AND_ASSIGN(const Collection old,
                         Collection::Open(*reader.session, name_));
    ASSERT_OK_AND_ASSIGN(const uint64_t second, Write(writer, 100));
    EXPECT_EQ(second, 2u);
    ASSERT_OK_AND_ASSIGN(const auto list, collections_.List());
    ASSERT_EQ(list.collections(0).versions_size(), 2);
    EXPECT_TRUE(list.collections(0).versions(0).retired());
    EXPECT_EQ(list.collections(0).versions(0).readers(0), reader.session->id());
    ASSERT_OK_AND_ASSIGN(const Collection latest,
                         Collection::Open(*reader.session, name_));
    EXPECT_EQ(latest.version(), 2u);
    EXPECT_EQ(*Read(latest, "a", reader.stream), Numbers(100));
    EXPECT_EQ(*Read(old, "a", reader.stream), Numbers(1));
    EXPECT_THAT(Collection::Open(*reader.session, name_, 1).status(),
                StatusIs(StatusCode::kNotFound, "no version 1"));
  }
  ASSERT_OK(reader.session->Synchronize());
  EXPECT_TRUE(Eventually([&] {
    const auto list = collections_.List();
    return list.ok() && list->collections(0).versions_size() == 1;
  }));
}

TEST_F(CollectionTest, ANewVersionAdoptsArraysWithoutACopy) {
  ASSERT_OK_AND_ASSIGN(const Side writer, Open());
  ASSERT_OK(Write(writer, 1));
  {
    ASSERT_OK_AND_ASSIGN(const Collection old,
                         Collection::Open(*writer.session, name_));
    ASSERT_OK_AND_ASSIGN(
        CollectionWriter next,
        CollectionWriter::Create(*writer.session, {{"a", "U32", {kCount}}}));
    ASSERT_OK_AND_ASSIGN(const Buffer array, next.Array(0));
    ASSERT_OK(array.Upload(Numbers(50), writer.stream));
    ASSERT_OK(next.Adopt(old, "b"));
    ASSERT_OK_AND_ASSIGN(const uint64_t second, next.Commit(name_));
    EXPECT_EQ(second, 2u);
  }
  ASSERT_OK(writer.session->Close());
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(const Collection read,
                       Collection::Open(*reader.session, name_));
  EXPECT_EQ(read.buffers().size(), 2u);
  EXPECT_EQ(*Read(read, "a", reader.stream), Numbers(50));
  EXPECT_EQ(*Read(read, "b", reader.stream), Numbers(2));
}

TEST_F(CollectionTest, ACommitThatIsRefusedChangesNothing) {
  ASSERT_OK_AND_ASSIGN(const Side writer, Open());
  ASSERT_OK_AND_ASSIGN(
      CollectionWriter collection,
      CollectionWriter::Create(*writer.session, {{"a", "U32", {kCount}}}));
  EXPECT_THAT(
      collection.Commit("no name").status(),
      StatusIs(StatusCode::kInvalidArgument, "no name of a collection"));
  ASSERT_OK_AND_ASSIGN(const Buffer array, collection.Array(0));
  ASSERT_OK(array.Fill(uint32_t{3}, writer.stream));
  ASSERT_OK(writer.stream.Synchronize());
  EXPECT_THAT(collections_.Describe(name_).status(),
              StatusIs(StatusCode::kNotFound, "no collection"));
}

TEST_F(CollectionTest, WhatAnotherSessionMayWriteToIsNotCommitted) {
  ASSERT_OK_AND_ASSIGN(const Side writer, Open());
  ASSERT_OK_AND_ASSIGN(const Side other, Open());
  ASSERT_OK_AND_ASSIGN(
      CollectionWriter collection,
      CollectionWriter::Create(*writer.session, {{"a", "U32", {kCount}}}));
  ASSERT_OK_AND_ASSIGN(
      const std::string token,
      collection.memory().Export({.rights = Rights::kReadWrite}));
  ASSERT_OK_AND_ASSIGN(const Buffer written,
                       other.session->device(0).Import(token));
  EXPECT_THAT(collection.Commit(name_).status(),
              StatusIs(StatusCode::kFailedPrecondition, "may write"));
}

TEST_F(CollectionTest, OfManyThatClaimItOneWritesAndTheOthersWait) {
  constexpr int kEngines = 4;
  std::atomic<int> written = 0;
  std::vector<std::thread> engines;
  for (int i = 0; i < kEngines; ++i) {
    engines.emplace_back([&] {
      ASSERT_OK_AND_ASSIGN(const Side engine, Open());
      ASSERT_OK_AND_ASSIGN(const auto claim,
                           WriteClaim::Wait(*engine.session, name_));
      if (claim->writes()) {
        ++written;
        ASSERT_OK(Write(engine, 11));
      }
      ASSERT_OK_AND_ASSIGN(const Collection read,
                           Collection::Open(*engine.session, name_));
      EXPECT_EQ(*Read(read, "a", engine.stream), Numbers(11));
    });
  }
  for (std::thread& engine : engines) engine.join();
  EXPECT_EQ(written, 1);
}

TEST_F(CollectionTest, AClaimThatIsDroppedGoesToTheNext) {
  ASSERT_OK_AND_ASSIGN(const Side first, Open());
  ASSERT_OK_AND_ASSIGN(const Side second, Open());
  ASSERT_OK_AND_ASSIGN(auto claim, WriteClaim::Wait(*first.session, name_));
  ASSERT_TRUE(claim->writes());
  EXPECT_THAT(Write(second, 1).status(),
              StatusIs(StatusCode::kFailedPrecondition, first.session->id()));
  std::thread waiting([&] {
    ASSERT_OK_AND_ASSIGN(const auto next,
                         WriteClaim::Wait(*second.session, name_));
    EXPECT_TRUE(next->writes());
    EXPECT_OK(Write(second, 1));
  });
  claim.reset();
  waiting.join();
}

TEST_F(CollectionTest, AReaderSleepsAndWakesAtItsAddresses) {
  ASSERT_OK_AND_ASSIGN(const Side writer, Open());
  ASSERT_OK(Write(writer, 7));
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(Collection weights,
                       Collection::Open(*reader.session, name_));
  ASSERT_OK_AND_ASSIGN(const Buffer array, weights.Array("b"));
  ASSERT_OK_AND_ASSIGN(const uint64_t address, AddressOf(weights, "b", reader));
  EXPECT_EQ(ReaderCount(), 1);
  EXPECT_THAT(weights.Wake().status(),
              StatusIs(StatusCode::kFailedPrecondition, "awake"));

  ASSERT_OK(weights.Sleep());
  ASSERT_OK(weights.Sleep());
  EXPECT_EQ(ReaderCount(), 0);
  std::vector<uint32_t> values(kCount);
  EXPECT_THAT(array.Download(values, reader.stream),
              StatusIs(StatusCode::kFailedPrecondition, "sleeps"));
  // Memory that comes in between does not take the addresses.
  ASSERT_OK_AND_ASSIGN(const Buffer other,
                       reader.session->device(0).AllocateShared(1));

  ASSERT_OK_AND_ASSIGN(const auto moved, weights.Wake());
  EXPECT_TRUE(moved.empty());
  EXPECT_EQ(ReaderCount(), 1);
  ASSERT_OK(array.Download(values, reader.stream));
  EXPECT_EQ(values, Numbers(8));
  ASSERT_OK_AND_ASSIGN(const uint64_t again, AddressOf(weights, "b", reader));
  EXPECT_EQ(again, address);
}

TEST_F(CollectionTest, ASleeperWakesWithTheNextVersionOrIsToldWhatMoved) {
  ASSERT_OK_AND_ASSIGN(const Side writer, Open());
  ASSERT_OK(Write(writer, 1));
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(Collection weights,
                       Collection::Open(*reader.session, name_));
  ASSERT_OK_AND_ASSIGN(const uint64_t address, AddressOf(weights, "a", reader));
  ASSERT_OK(weights.Sleep());
  ASSERT_OK(Write(writer, 100));
  // Nobody keeps the version that it had.
  EXPECT_THAT(weights.Wake().status(),
              StatusIs(StatusCode::kNotFound, "no version 1"));
  EXPECT_TRUE(weights.asleep());
  ASSERT_OK_AND_ASSIGN(auto moved, weights.Wake(0));
  EXPECT_TRUE(moved.empty());
  EXPECT_EQ(weights.version(), 2u);
  EXPECT_EQ(*Read(weights, "b", reader.stream), Numbers(101));
  EXPECT_EQ(*AddressOf(weights, "a", reader), address);

  // The same memory, and "b" lies elsewhere in it, of another shape.
  ASSERT_OK(weights.Sleep());
  ASSERT_OK_AND_ASSIGN(
      CollectionWriter next,
      CollectionWriter::Create(
          *writer.session,
          {{"a", "U32", {kCount}}, {"c", "U32", {8}}, {"b", "U32", {4}}}));
  ASSERT_OK_AND_ASSIGN(const Buffer array, next.Array(2));
  ASSERT_OK(array.Fill(uint32_t{9}, writer.stream));
  ASSERT_OK(next.Commit(name_));
  ASSERT_OK_AND_ASSIGN(moved, weights.Wake(0));
  EXPECT_EQ(moved, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(*Read(weights, "b", reader.stream), std::vector<uint32_t>(4, 9));
}

TEST_F(CollectionTest, ASleeperDoesNotWakeWithAnotherCollectionsVersion) {
  ASSERT_OK_AND_ASSIGN(const Side writer, Open());
  ASSERT_OK_AND_ASSIGN(const Side other, Open());
  ASSERT_OK(Write(writer, 1));
  ASSERT_OK_AND_ASSIGN(Collection weights,
                       Collection::Open(*writer.session, name_));
  ASSERT_OK(weights.Sleep());
  ASSERT_OK(collections_.Delete(name_));
  ASSERT_OK_AND_ASSIGN(const uint64_t version, Write(other, 2));
  EXPECT_EQ(version, 1u);
  EXPECT_THAT(weights.Wake().status(),
              StatusIs(StatusCode::kNotFound, "made anew"));
  EXPECT_OK(weights.Wake(0));
  EXPECT_EQ(*Read(weights, "a", writer.stream), Numbers(2));
}

TEST_F(CollectionTest, ASleeperSurvivesItsExecutor) {
  ASSERT_OK_AND_ASSIGN(const Side writer, Open());
  ASSERT_OK(Write(writer, 1));
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  ASSERT_OK_AND_ASSIGN(Collection weights,
                       Collection::Open(*reader.session, name_));
  ASSERT_OK_AND_ASSIGN(const Buffer array, weights.Array("a"));
  ASSERT_OK(weights.Sleep());
  ASSERT_NO_FATAL_FAILURE(KillExecutor(*reader.session));
  EXPECT_TRUE(Eventually([&] { return !reader.stream.Synchronize().ok(); }));
  std::vector<uint32_t> values(kCount);
  EXPECT_THAT(array.Download(values, reader.stream),
              StatusIs(StatusCode::kFailedPrecondition, "sleeps"));
  ASSERT_OK_AND_ASSIGN(const auto moved, weights.Wake());
  EXPECT_TRUE(moved.empty());
  ASSERT_OK(array.Download(values, reader.stream));
  EXPECT_EQ(values, Numbers(1));
}

TEST_F(CollectionTest, ImportedMemoryIsNotCommitted) {
  ASSERT_OK_AND_ASSIGN(const Side owner, Open());
  ASSERT_OK_AND_ASSIGN(const Side other, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer memory,
                       owner.session->device(0).AllocateShared(kCount));
  for (const Rights rights : {Rights::kRead, Rights::kReadWrite}) {
    ASSERT_OK_AND_ASSIGN(const std::string token,
                         memory.Export({.rights = rights}));
    ASSERT_OK_AND_ASSIGN(const Buffer imported,
                         other.session->device(0).Import(token));
    const auto result =
        imported.session()->queue.Call([&](v1::Command& command) {
          command.mutable_commit_collection()->set_name(name_);
          command.mutable_commit_collection()->add_buffers(imported.handle());
        });
    EXPECT_THAT(result.status(),
                StatusIs(StatusCode::kFailedPrecondition, "imported"));
  }
  // Its executor has not ended of it.
  EXPECT_OK(other.stream.Synchronize());
  ASSERT_OK_AND_ASSIGN(const std::vector<v1::SessionInfo> sessions,
                       daemon().Sessions());
  for (const v1::SessionInfo& session : sessions) {
    if (session.session_id() == other.session->id()) {
      EXPECT_EQ(session.epoch(), 1u);
    }
  }
}

TEST_F(CollectionTest, TooLongDescriptionsAreRefusedBeforeArraysAreFilled) {
  ASSERT_OK_AND_ASSIGN(const Side writer, Open());
  EXPECT_THAT(CollectionWriter::Create(*writer.session,
                                       {{std::string(1025, 'x'), "U32", {1}}})
                  .status(),
              StatusIs(StatusCode::kInvalidArgument, "1025 bytes; 1 to 1024"));
  std::vector<ArraySpec> many;
  for (int i = 0; i < 5000; ++i) {
    many.push_back({absl::StrCat(std::string(1000, 'x'), i), "U32", {1}});
  }
  EXPECT_THAT(CollectionWriter::Create(*writer.session, many).status(),
              StatusIs(StatusCode::kInvalidArgument, "limit: "));
  ASSERT_OK_AND_ASSIGN(
      const CollectionWriter good,
      CollectionWriter::Create(*writer.session, {{"a", "U32", {1}}}));
  EXPECT_OK(good.CheckCommit(name_));
  EXPECT_THAT(good.CheckCommit("no name"),
              StatusIs(StatusCode::kInvalidArgument, "no name"));
  EXPECT_THAT(good.CheckCommit(name_, {{"long", std::string(2 << 20, 'x')}}),
              StatusIs(StatusCode::kInvalidArgument, "limit: 1048576"));
}

TEST_F(CollectionTest, WatchersAreToldOfVersionsInOrder) {
  ASSERT_OK_AND_ASSIGN(const Side writer, Open());
  ASSERT_OK(Write(writer, 1));
  std::vector<std::string> told;
  std::thread watcher([&] {
    EXPECT_OK(collections_.Watch(name_, [&](const v1::CollectionChange& c) {
      told.push_back(absl::StrCat(c.kind(), ":", c.version()));
      if (told.size() == 1) {
        EXPECT_OK(Write(writer, 2));
      } else if (told.size() == 3) {
        EXPECT_OK(collections_.Delete(name_));
      }
      return told.size() < 4;
    }));
  });
  watcher.join();
  // Version 1 is retired by version 2.
  EXPECT_EQ(told, (std::vector<std::string>{"1:1", "2:2", "4:1", "3:2"}));
}

}  // namespace
}  // namespace holdfast::conformance
