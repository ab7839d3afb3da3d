// SPDX-License-Identifier: Apache-2.0
#include "server/services/joined_results.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/v1/commands.pb.h"

namespace holdfast {
namespace {

std::vector<grpc::Slice> SlicesOf(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.Dump(&slices).ok());
  return slices;
}

std::string BytesOf(const grpc::ByteBuffer& message) {
  std::string bytes;
  for (const grpc::Slice& slice : SlicesOf(message)) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

std::string Encoded(uint64_t sequence) {
  v1::ResultBatch batch;
  batch.add_results()->set_sequence(sequence);
  return batch.SerializeAsString();
}

TEST(JoinedResultsTest, ResultsKeepTheirOrderWhateverTheirSizes) {
  JoinedResults results;
  results.AddSmall(Encoded(1));
  results.AddLarge(grpc::Slice(Encoded(2)));
  results.AddLarge(grpc::Slice(Encoded(3)));
  results.AddSmall(Encoded(4));
  results.AddSmall(Encoded(5));
  v1::ResultBatch batch;
  ASSERT_TRUE(batch.ParseFromString(BytesOf(results.Take())));
  ASSERT_EQ(batch.results_size(), 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(batch.results(i).sequence(), static_cast<uint64_t>(i) + 1);
  }
}

TEST(JoinedResultsTest, EveryResultIsTakenOnce) {
  JoinedResults results;
  results.AddSmall("a");
  results.AddLarge(grpc::Slice("bcd"));
  results.AddSmall("e");
  EXPECT_EQ(results.bytes(), 5u);
  EXPECT_EQ(BytesOf(results.Take()), "abcde");
  EXPECT_EQ(results.bytes(), 0u);
  results.AddSmall("f");
  EXPECT_EQ(BytesOf(results.Take()), "f");
}

TEST(JoinedResultsTest, LargeResultsAreNotCopied) {
  const grpc::Slice large(std::string(JoinedResults::kLargeBytes, 'x'));
  JoinedResults results;
  results.AddLarge(large);
  const std::vector<grpc::Slice> slices = SlicesOf(results.Take());
  ASSERT_EQ(slices.size(), 1u);
  EXPECT_EQ(slices[0].begin(), large.begin());
}

}  // namespace
}  // namespace holdfast
