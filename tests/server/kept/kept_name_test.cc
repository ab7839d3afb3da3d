// SPDX-License-Identifier: Apache-2.0
#include "server/kept/kept_name.h"

#include <limits>

#include "gtest/gtest.h"

namespace holdfast {
namespace {

TEST(KeptNameTest, ReadsWhatItHasWritten) {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  const KeptName name{"chunk", {7, 1, 0, 0x7f2000000, most}};
  EXPECT_EQ(name.ToString(), "hf.chunk.7.1.0.7f2000000.ffffffffffffffff");
  const auto parsed = KeptName::Parse(name.ToString());
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->kind, name.kind);
  EXPECT_EQ(parsed->numbers, name.numbers);
  EXPECT_EQ(KeptName::Parse("hf.directory")->numbers.size(), 0u);
  EXPECT_EQ((KeptName{"session", {7}, 26}).ToString(), "hf.session.7~1a");
  EXPECT_EQ(KeptName::Parse("hf.session.7~1a")->version, 26u);
  EXPECT_EQ(KeptName::Parse("hf.session.7~1a")->numbers.size(), 1u);
}

TEST(KeptNameTest, TakesNoOtherNames) {
  for (const char* text :
       {"", "hf", "hf.", "hf..1", "stored", "unknown", "connection", "xhf.a",
        "hf.chunk.", "hf.chunk.g", "hf.chunk.1.", "hf.chunk.10000000000000000",
        "hf.chunk.1~", "hf.chunk.1~0", "hf.chunk.1~x", "hf.chunk~1.1",
        "hf.chunk.1.2.3.4.5.6.7.8.9"}) {
    EXPECT_FALSE(KeptName::Parse(text).has_value()) << text;
  }
}

TEST(KeptNameTest, SessionsAreNumbered) {
  EXPECT_EQ(SessionNumber("s-18"), 18u);
  for (const char* id : {"", "s-", "s-x", "18", "s-99999999999999999999999"}) {
    EXPECT_EQ(SessionNumber(id), 0u) << id;
  }
}

}  // namespace
}  // namespace holdfast
