// SPDX-License-Identifier: Apache-2.0
//
// Generated code is its owner's alone: what a hostile executor stores never
// reaches another owner's.
#include "server/supervisor/code_cache.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "core/base/memfd.h"

namespace holdfast::supervisor {
namespace {

class CodeCacheTest : public testing::Test {
 protected:
  CodeCacheTest() {
    char name[] = "/tmp/holdfast-code-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~CodeCacheTest() override { std::filesystem::remove_all(directory_); }

  std::string Load(const std::string& owner, const std::string& key) {
    const auto object = cache().Load(owner, key);
    if (object == nullptr) return "";
    const auto mapping =
        FileMapping::Map(object->memory.get(), FileMapping::Access::kReadOnly);
    return mapping.ok() ? std::string(mapping->bytes()) : "unreadable";
  }

  absl::Status Store(const std::string& owner, const std::string& key,
                     const std::string& code) {
    const auto memory = CreateSealedMemfd("code", code);
    return memory.ok() ? cache().Store(owner, key, memory->get())
                       : memory.status();
  }

  // As another daemon would open it: nothing is known from memory.
  CodeCache& cache() {
    cache_ = std::make_unique<CodeCache>(directory_ + "/code", 16 << 20);
    return *cache_;
  }

  const std::string key_ = std::string(64, 'a');
  std::string directory_;
  std::unique_ptr<CodeCache> cache_;
};

TEST_F(CodeCacheTest, AnOwnerGetsBackItsOwnCodeAndNeverAnothers) {
  ASSERT_TRUE(Store("uid 1000", key_, "hostile").ok());
  EXPECT_EQ(Load("uid 1000", key_), "hostile");
  EXPECT_EQ(Load("uid 1001", key_), "");
  ASSERT_TRUE(Store("uid 1001", key_, "honest").ok());
  EXPECT_EQ(Load("uid 1001", key_), "honest");
  EXPECT_EQ(Load("uid 1000", key_), "hostile");
}

// Owner and key stand in one string that is hashed.
TEST_F(CodeCacheTest, OwnersWhoseNamesContainKeysAreToldApart) {
  ASSERT_TRUE(Store("uid 1\n" + key_, key_, "hostile").ok());
  ASSERT_TRUE(Store(key_ + "\nuid 1", key_, "hostile").ok());
  EXPECT_EQ(Load("uid 1", key_), "");
  EXPECT_FALSE(Store("", key_ + "\nuid 1", "hostile").ok());
}

TEST_F(CodeCacheTest, ClientWithoutANameKeepsNothing) {
  ASSERT_TRUE(Store("", key_, "code").ok());
  EXPECT_EQ(Load("", key_), "");
  EXPECT_EQ(Load("uid 1000", key_), "");
}

TEST_F(CodeCacheTest, KeysAndMemoryOfHostileExecutorsAreRefused) {
  using absl::StatusCode;
  for (const std::string& key :
       {std::string(), std::string(63, 'a'), std::string(65, 'a'),
        std::string(64, '/'), "../" + std::string(61, 'a')}) {
    EXPECT_EQ(Store("uid 1", key, "code").code(), StatusCode::kInvalidArgument)
        << key;
  }
  const auto open = CreateMemfd("code", 4096);
  EXPECT_EQ(cache().Store("uid 1", key_, open->get()).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(cache().Store("uid 1", key_, -1).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Load("uid 1", key_), "");
}

}  // namespace
}  // namespace holdfast::supervisor
