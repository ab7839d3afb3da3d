// SPDX-License-Identifier: Apache-2.0
#include "core/base/sha256.h"

#include <string>

#include "gtest/gtest.h"

namespace holdfast {
namespace {

// The examples of FIPS 180-2.
TEST(Sha256Test, KnownDigests) {
  EXPECT_EQ(ToHex(Sha256("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(ToHex(Sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, PiecesHashLikeTheWhole) {
  const std::string text(100000, 'x');
  Sha256Hasher hasher;
  for (size_t i = 0; i < text.size(); i += 777) {
    hasher.Update(absl::string_view(text).substr(i, 777));
  }
  EXPECT_EQ(hasher.Finish(), Sha256(text));
  EXPECT_EQ(ToBytes(Sha256(text)).size(), 32u);
}

}  // namespace
}  // namespace holdfast
