// SPDX-License-Identifier: Apache-2.0
#include "server/objects/object_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <map>
#include <memory>
#include <string>

#include "core/base/memfd.h"

namespace holdfast {
namespace {

using Origin = ObjectStore::Origin;
using Object = std::shared_ptr<const StoredObject>;

Object MakeObject(const std::string& bytes,
                  const std::map<std::string, std::string>& symbols = {}) {
  const auto writer = ObjectWriter::Create(bytes.size()).value();
  EXPECT_TRUE(writer->Append(bytes).ok());
  return writer->Finish(v1::OBJECT_FORMAT_PTX, {symbols.begin(), symbols.end()})
      .value();
}

std::string Bytes(const StoredObject& object) {
  const auto mapping =
      FileMapping::Map(object.memory.get(), FileMapping::Access::kReadOnly);
  return std::string(mapping->bytes());
}

TEST(ObjectWriterTest, HashesAndSealsWhatCameInPieces) {
  const auto writer = ObjectWriter::Create(6).value();
  ASSERT_TRUE(writer->Append("abc").ok());
  ASSERT_TRUE(writer->Append("def").ok());
  const Object object = writer->Finish(v1::OBJECT_FORMAT_CUBIN, {}).value();
  EXPECT_EQ(object->header.sha256(), ToBytes(Sha256("abcdef")));
  EXPECT_EQ(object->header.size(), 6u);
  EXPECT_EQ(object->header.format(), v1::OBJECT_FORMAT_CUBIN);
  EXPECT_TRUE(IsSealed(object->memory.get()));
  EXPECT_EQ(Bytes(*object), "abcdef");
}

TEST(ObjectWriterTest, SizeMustBeTheOneAnnounced) {
  const auto writer = ObjectWriter::Create(4).value();
  ASSERT_TRUE(writer->Append("abc").ok());
  EXPECT_EQ(writer->Append("de").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Finish(v1::OBJECT_FORMAT_PTX, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ObjectWriterTest, LimitsAreChecked) {
  EXPECT_EQ(ObjectWriter::Create(0).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(ObjectWriter::Create(ObjectWriter::kMaxObjectBytes).ok());
  EXPECT_EQ(
      ObjectWriter::Create(ObjectWriter::kMaxObjectBytes + 1).status().code(),
      absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ObjectWriter::Create(~uint64_t{0}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(ObjectStoreTest, FindsByHash) {
  ObjectStore store(1000);
  const Object object = MakeObject("code");
  EXPECT_FALSE(store.Put(object, Origin::kClient));
  EXPECT_TRUE(store.Put(object, Origin::kClient));
  EXPECT_EQ(Bytes(**store.Get(ToBytes(Sha256("code")))), "code");
  EXPECT_TRUE(store.Has(ToBytes(Sha256("code"))));
  EXPECT_EQ(store.Get(ToBytes(Sha256("other"))).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(store.Get("short").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ObjectStoreTest, LeastRecentlyUsedGoesFirstAndItsHolderKeepsIt) {
  ObjectStore store(8);
  const Object a = MakeObject("aaaa"), b = MakeObject("bbbb");
  store.Put(a, Origin::kClient);
  store.Put(b, Origin::kClient);
  ASSERT_TRUE(store.Get(a->header.sha256()).ok());
  store.Put(MakeObject("cccc"), Origin::kClient);
  EXPECT_TRUE(store.Has(a->header.sha256()));
  EXPECT_FALSE(store.Has(b->header.sha256()));
  EXPECT_EQ(Bytes(*b), "bbbb");
}

TEST(ObjectStoreTest, SymbolsCountAsMuchAsCode) {
  ObjectStore store(100);
  const Object first = MakeObject("a", {{"name", std::string(80, 'x')}});
  store.Put(first, Origin::kClient);
  store.Put(MakeObject("b", {{"name", std::string(80, 'x')}}), Origin::kClient);
  EXPECT_FALSE(store.Has(first->header.sha256()));
}

// Each takes a descriptor, however small it is.
TEST(ObjectStoreTest, TheNumberOfObjectsIsBounded) {
  ObjectStore store(1000, /*max_objects=*/2);
  const Object first = MakeObject("a");
  store.Put(first, Origin::kClient);
  store.Put(MakeObject("b"), Origin::kClient);
  EXPECT_TRUE(store.Has(first->header.sha256()));
  store.Put(MakeObject("c"), Origin::kClient);
  EXPECT_FALSE(store.Has(first->header.sha256()));
}

TEST(ObjectStoreTest, ADaemonWithFewDescriptorsStoresFewObjects) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few = {.rlim_cur = 1024, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const ObjectStore store(1000);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(store.max_objects(), 64u);
}

TEST(ObjectStoreTest, ClientCannotRenameTheKernelsOfAnObject) {
  ObjectStore store(1000);
  const Object object = MakeObject("code", {{"f<int>", "_Z1fi"}});
  store.Put(object, Origin::kCompiler);
  store.Put(MakeObject("code", {{"f<int>", "_Z4evil"}, {"g", "_Z4evil"}}),
            Origin::kClient);
  const Object stored = store.Get(object->header.sha256()).value();
  EXPECT_EQ(stored->header.symbols().at("f<int>"), "_Z1fi");
  EXPECT_EQ(stored->header.symbols().size(), 1u);
}

TEST(ObjectStoreTest, CompilerAddsNamesAndItsWordCounts) {
  ObjectStore store(1000);
  store.Put(MakeObject("code", {{"f<int>", "_Z4evil"}}), Origin::kClient);
  store.Put(MakeObject("code", {{"f<int>", "_Z1fi"}}), Origin::kCompiler);
  store.Put(MakeObject("code", {{"g", "_Z1g"}}), Origin::kCompiler);
  const Object stored = store.Get(ToBytes(Sha256("code"))).value();
  EXPECT_EQ(stored->header.symbols().at("f<int>"), "_Z1fi");
  EXPECT_EQ(stored->header.symbols().at("g"), "_Z1g");
  EXPECT_EQ(Bytes(*stored), "code");
}

}  // namespace
}  // namespace holdfast
