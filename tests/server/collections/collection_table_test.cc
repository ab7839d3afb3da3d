// SPDX-License-Identifier: Apache-2.0
//
// Whose collections a client sees, and descriptions that lie. Their memory
// is tested by tests/conformance/service/collection_test.cc.
#include "server/collections/collection_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace holdfast {
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

std::vector<SharedResource> OneBuffer() {
  SharedResource buffer;
  buffer.size = 1024;
  return {buffer};
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
  void ShareWithAll(const std::string& client, const std::string& name) {
    v1::ConfigureCollectionRequest request;
    request.set_name(name);
    request.mutable_visibility()->set_everybody(true);
    EXPECT_TRUE(table_.Configure({client}, request).ok());
  }

  CollectionTable table_;
};

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
    Charge charge = *quota->Take(1024);
    ASSERT_TRUE(table_
                    .Commit(kAnna, "s-1", Contents(name), OneBuffer(),
                            {.charge = std::move(charge)})
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
  std::vector<std::string> told;
  const auto claim = [&](const std::string& session) {
    return *table_.Claim(
        kAnna, session, "weights",
        [&told, session](const std::optional<v1::CollectionVersion>& version) {
          told.push_back(absl::StrCat(
              session, version.has_value() ? " opens" : " writes"));
        });
  };
  const int64_t first = claim("s-1");
  claim("s-2");
  claim("s-3");
  EXPECT_EQ(told, std::vector<std::string>{"s-1 writes"});
  table_.Unclaim(first);
  EXPECT_TRUE(absl::IsFailedPrecondition(Commit(kAnna, "weights").status()));
  ASSERT_TRUE(
      table_.Commit(kAnna, "s-2", Contents("weights"), OneBuffer(), {}).ok());
  EXPECT_EQ(claim("s-4"), 0);
  EXPECT_EQ(told,
            (std::vector<std::string>{"s-1 writes", "s-2 writes", "s-2 opens",
                                      "s-3 opens", "s-4 opens"}));
}

}  // namespace
}  // namespace holdfast
