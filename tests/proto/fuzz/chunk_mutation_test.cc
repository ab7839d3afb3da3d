// SPDX-License-Identifier: Apache-2.0
//
// Feeds the fuzz target with good messages, cut short and mutated: the same
// inputs in every run.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "holdfast/v1/transfers.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace holdfast {
namespace {

void Feed(const std::string& message, uint8_t how) {
  const std::string input = static_cast<char>(how) + message;
  EXPECT_EQ(LLVMFuzzerTestOneInput(
                reinterpret_cast<const uint8_t*>(input.data()), input.size()),
            0);
}

std::vector<std::string> Corpus() {
  v1::UploadRequest header, data, empty;
  header.mutable_header()->set_buffer(0x0102030405060708);
  header.mutable_header()->set_size(1 << 30);
  header.mutable_header()->set_stream(3);
  header.mutable_header()->set_after_sequence(~uint64_t{0});
  data.set_data(std::string(300, 'x'));
  empty.set_data("");
  v1::DownloadResponse response;
  response.set_data("download");
  std::vector<std::string> corpus = {
      header.SerializeAsString(), data.SerializeAsString(),
      empty.SerializeAsString(), response.SerializeAsString()};
  corpus.push_back(corpus[0] + corpus[1]);
  corpus.push_back(corpus[1] + corpus[0] + corpus[1]);
  // Unknown fields of each wire type, a group among them.
  corpus.push_back(corpus[1] + "\x18\x96\x01\x21" + "12345678" + "\x2a\x02zz" +
                   "\x33\x08\x01\x34\x3d" + "1234");
  return corpus;
}

TEST(ChunkMutationTest, TheCorpusCutShortAnywhere) {
  for (const std::string& message : Corpus()) {
    for (size_t size = 0; size <= message.size(); ++size) {
      for (const uint8_t how : {0, 1, 2, 6}) Feed(message.substr(0, size), how);
    }
  }
}

TEST(ChunkMutationTest, Mutations) {
  const std::vector<std::string> corpus = Corpus();
  std::mt19937 random(7);
  const auto below = [&](size_t limit) {
    return limit == 0 ? 0 : random() % limit;
  };
  for (int round = 0; round < 100'000; ++round) {
    std::string message = corpus[below(corpus.size())];
    for (size_t edits = 1 + below(4); edits > 0; --edits) {
      // Most of what matters stands in front.
      const size_t at = below(std::min<size_t>(message.size(), 24));
      switch (below(5)) {
        case 0:
          if (!message.empty()) message[at] = static_cast<char>(random());
          break;
        case 1:
          message.erase(at, 1 + below(3));
          break;
        case 2:
          message.insert(at, 1, static_cast<char>(below(2) ? 0x80 : 0x12));
          break;
        case 3:
          message.insert(at, corpus[below(corpus.size())]);
          break;
        default:
          message.resize(at + below(message.size() - at + 1));
      }
    }
    Feed(message, static_cast<uint8_t>(random()));
  }
}

}  // namespace
}  // namespace holdfast
