// SPDX-License-Identifier: Apache-2.0
//
// Streams that write values to memory and wait for values: their order, waits
// that nobody ends, and memory that they may not use.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "client/cpp/graph/definition/graph_definition.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/graph/node_params.h"
#include "client/cpp/value_batch.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/conformance/service/service.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::conformance {
namespace {

using absl::StatusCode;
using ::holdfast::testing::StatusIs;
using enum ValueKind;

class ValueTest : public ServiceTest {
 protected:
  struct Side {
    std::unique_ptr<Session> session;
    Stream stream;
    Stream other;
    Buffer values;
    Device device() const { return session->device(0); }
  };
  // The values are 0.
  static absl::StatusOr<Side> Open() {
    HOLDFAST_ASSIGN_OR_RETURN(auto session, OpenSession());
    HOLDFAST_ASSIGN_OR_RETURN(Stream stream, session->device(0).CreateStream());
    HOLDFAST_ASSIGN_OR_RETURN(Stream other, session->device(0).CreateStream());
    HOLDFAST_ASSIGN_OR_RETURN(Buffer values, session->device(0).Allocate(64));
    HOLDFAST_RETURN_IF_ERROR(values.Fill(uint32_t{0}, stream));
    HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
    return Side{std::move(session), std::move(stream), std::move(other),
                std::move(values)};
  }
  static absl::Status Do(const ValueOperation& operation,
                         const Stream& stream) {
    return BatchValues({&operation, 1}, stream);
  }
  static absl::StatusOr<std::vector<uint32_t>> Read(const Side& side) {
    std::vector<uint32_t> words(16);
    HOLDFAST_RETURN_IF_ERROR(side.values.Download(words, side.other));
    return words;
  }
  static v1::SessionUsage Usage(const Session& session) {
    const auto sessions = daemon().Sessions();
    EXPECT_OK(sessions);
    for (const v1::SessionInfo& info : *sessions) {
      if (info.session_id() == session.id()) return info.usage();
    }
    return {};
  }
};

TEST_F(ValueTest, AStreamWaitsUntilAnotherHasWritten) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  ASSERT_OK(Do({.kind = kWaitAtLeast, .place = side.values, .value = 3},
               side.stream));
  ASSERT_OK(side.values.Fill(uint32_t{77}, 32, 4, side.stream));
  ASSERT_OK(Do({.place = side.values, .value = 2}, side.other));
  ASSERT_OK(side.other.Synchronize());
  EXPECT_FALSE(*side.stream.IsDone());
  ASSERT_OK(Do({.place = side.values, .value = 3}, side.other));
  ASSERT_OK(side.stream.Synchronize());
  ASSERT_OK_AND_ASSIGN(const std::vector<uint32_t> words, Read(side));
  EXPECT_EQ(words[8], 77u);
}

TEST_F(ValueTest, ABatchIsInOrderAndHasEveryComparison) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  const uint64_t wide = uint64_t{1} << 40;
  const ValueOperation operations[] = {
      {.place = {side.values, 8}, .value = wide, .wide = true},
      {.kind = kWaitEqual,
       .place = {side.values, 8},
       .value = wide,
       .wide = true},
      {.kind = kWaitAnd,
       .place = {side.values, 8},
       .value = wide | 5,
       .wide = true},
      {.kind = kWaitAtLeast,
       .place = {side.values, 8},
       .value = wide - 1,
       .wide = true},
      {.place = side.values, .value = 0xfffffffe},
      // The difference counts: -2 is below 1.
      {.kind = kWaitAtLeast, .place = side.values, .value = 0xfffffff0},
      {.place = {side.values, 4}, .value = 9},
  };
  ASSERT_OK(BatchValues(operations, side.stream));
  ASSERT_OK(side.stream.Synchronize());
  ASSERT_OK_AND_ASSIGN(const std::vector<uint32_t> words, Read(side));
  EXPECT_EQ(words[0], 0xfffffffeu);
  EXPECT_EQ(words[1], 9u);
  EXPECT_EQ(words[2], 0u);
  EXPECT_EQ(words[3], 1u << 8);
}

TEST_F(ValueTest, AWaitThatNobodyEndsIsNamedAndEndsWithItsSession) {
  ASSERT_OK_AND_ASSIGN(const Side stuck, Open());
  ASSERT_OK(Do({.kind = kWaitEqual, .place = {stuck.values, 4}, .value = 9},
               stuck.stream));
  ASSERT_OK(Read(stuck).status());  // the wait has been given by now
  const v1::SessionUsage usage = Usage(*stuck.session);
  ASSERT_EQ(usage.waits_size(), 1);
  EXPECT_EQ(usage.waits(0).semaphore(), stuck.values.handle());
  EXPECT_EQ(usage.waits(0).stream(), stuck.stream.handle());
  EXPECT_EQ(usage.waits(0).value(), 9u);
  EXPECT_OK(stuck.session->Close());
}

TEST_F(ValueTest, AStreamThatWaitsHoldsNothingElseUp) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  ASSERT_OK(
      Do({.kind = kWaitEqual, .place = side.values, .value = 1}, side.stream));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(Buffer large,
                         side.device().Allocate(16 << 20, side.other));
    ASSERT_OK(large.Fill(uint32_t{5}, side.other));
    std::vector<uint32_t> word(1);
    ASSERT_OK(large.Download(word, side.other));
    EXPECT_EQ(word[0], 5u);
    large.Free(side.other);
    ASSERT_OK(side.other.Synchronize());
  }
  EXPECT_FALSE(*side.stream.IsDone());
  ASSERT_OK(Do({.place = side.values, .value = 1}, side.other));
  EXPECT_OK(side.stream.Synchronize());
}

TEST_F(ValueTest, MemoryThatWasFreedStaysForTheWait) {
  ASSERT_OK_AND_ASSIGN(Side side, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer part, side.values.Sub(0, 32));
  ASSERT_OK_AND_ASSIGN(const uint64_t address, part.address());
  EXPECT_NE(address, 0u);
  {
    ASSERT_OK_AND_ASSIGN(const Buffer freed, side.device().Allocate(64));
    ASSERT_OK(freed.Fill(uint32_t{0}, side.stream));
    ASSERT_OK(Do({.kind = kWaitEqual, .place = side.values, .value = 1},
                 side.stream));
    ASSERT_OK(Do({.place = freed, .value = 1}, side.stream));
  }
  ASSERT_OK(Do({.place = side.values, .value = 1}, side.other));
  EXPECT_OK(side.stream.Synchronize());
}

TEST_F(ValueTest, WhatIsNotTheirsIsRefused) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side reader, Open());
  EXPECT_THAT(Do({.place = {maker.values, 2}}, maker.stream),
              StatusIs(StatusCode::kInvalidArgument, "multiple"));
  EXPECT_THAT(Do({.place = {maker.values, 60}, .wide = true}, maker.stream),
              StatusIs(StatusCode::kOutOfRange, ""));
  EXPECT_THAT(Do({.place = maker.values}, reader.stream),
              StatusIs(StatusCode::kInvalidArgument, "different sessions"));
  ASSERT_OK_AND_ASSIGN(const Buffer shared, maker.device().AllocateShared(64));
  ASSERT_OK(shared.Fill(uint32_t{0}, maker.stream));
  ASSERT_OK(maker.stream.Synchronize());
  ASSERT_OK_AND_ASSIGN(const std::string token, shared.Export());
  ASSERT_OK_AND_ASSIGN(const Buffer seen, reader.device().Import(token));
  ASSERT_OK(Do({.place = seen, .value = 1}, reader.stream));
  EXPECT_THAT(reader.stream.Synchronize(),
              StatusIs(StatusCode::kPermissionDenied, "RIGHTS_READ"));
  ASSERT_OK(Do({.kind = kWaitEqual, .place = seen, .value = 4}, reader.stream));
  ASSERT_OK(Do({.place = shared, .value = 4}, maker.stream));
  EXPECT_OK(reader.stream.Synchronize());
  std::vector<ValueOperation> many(257, {.place = maker.values});
  ASSERT_OK(BatchValues(many, maker.stream));
  EXPECT_THAT(maker.stream.Synchronize(),
              StatusIs(StatusCode::kInvalidArgument, "256"));
}

TEST_F(ValueTest, AGraphWritesAndWaitsAtEachLaunch) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  GraphDefinition definition;
  const ValueOperation wait = {
      .kind = kWaitEqual, .place = side.values, .value = 1};
  const ValueOperation write = {.place = side.values, .value = 0};
  ASSERT_OK_AND_ASSIGN(const GraphNode waited,
                       definition.Add(ValuesNode({&wait, 1})));
  ASSERT_OK(definition.Add(ValuesNode({&write, 1}), {waited}).status());
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       Graph::Create(*side.session, definition));
  ASSERT_OK_AND_ASSIGN(const GraphExec exec, graph.Instantiate());
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(exec.Launch(side.stream));
    EXPECT_FALSE(*side.stream.IsDone());
    EXPECT_EQ(Usage(*side.session).waits_size(), 1);
    ASSERT_OK(Do({.place = side.values, .value = 1}, side.other));
    ASSERT_OK(side.stream.Synchronize());
    ASSERT_OK_AND_ASSIGN(const std::vector<uint32_t> words, Read(side));
    EXPECT_EQ(words[0], 0u);
  }
}

}  // namespace
}  // namespace holdfast::conformance
