// SPDX-License-Identifier: Apache-2.0
#include "server/relay/relayed_message.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace holdfast {
namespace {

using Slices = std::vector<grpc::Slice>;

// The first byte of each.
constexpr uint8_t kWhole = 1;
constexpr uint8_t kBlock = 2;

// Both ends are of one machine and one program.
constexpr size_t kBlockMessageBytes = 1 + sizeof(SharedBlocks::Block);

struct Hold {
  std::shared_ptr<SharedBlocks> blocks;
  SharedBlocks::Block block;
};

grpc::Slice SliceOf(const std::shared_ptr<SharedBlocks>& blocks,
                    const SharedBlocks::Block& block) {
  return grpc::Slice(
      blocks->data(block), block.size,
      [](void* owner) {
        const std::unique_ptr<Hold> hold(static_cast<Hold*>(owner));
        hold->blocks->GiveBack(hold->block);
      },
      new Hold{blocks, block});
}

absl::StatusOr<Relayed> ReadBlock(const std::shared_ptr<SharedBlocks>& blocks,
                                  const grpc::ByteBuffer& message) {
  grpc::Slice bytes;
  if (!message.DumpToSingleSlice(&bytes).ok() ||
      bytes.size() != kBlockMessageBytes) {
    return absl::InvalidArgumentError("no block is named");
  }
  SharedBlocks::Block block;
  std::memcpy(&block, bytes.begin() + 1, sizeof(block));
  if (!blocks->IsTheirs(block)) {
    return absl::InvalidArgumentError("a block that is not taken is named");
  }
  return Relayed(SliceOf(blocks, block));
}

grpc::ByteBuffer WithoutFirstByte(Slices slices) {
  for (grpc::Slice& slice : slices) {
    if (slice.size() == 0) continue;
    slice = slice.sub(1, slice.size());
    break;
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

uint8_t FirstByte(const Slices& slices) {
  for (const grpc::Slice& slice : slices) {
    if (slice.size() > 0) return *slice.begin();
  }
  return 0;
}

}  // namespace

grpc::ByteBuffer RelayWhole(const grpc::ByteBuffer& message) {
  Slices slices;
  if (message.Valid()) (void)message.Dump(&slices);
  slices.insert(slices.begin(), grpc::Slice(&kWhole, sizeof(kWhole)));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::ByteBuffer RelayBlock(const SharedBlocks::Block& block) {
  char bytes[kBlockMessageBytes] = {kBlock};
  std::memcpy(bytes + 1, &block, sizeof(block));
  const grpc::Slice slice(bytes, sizeof(bytes));
  return grpc::ByteBuffer(&slice, 1);
}

absl::StatusOr<Relayed> ReadRelayed(const std::shared_ptr<SharedBlocks>& blocks,
                                    const grpc::ByteBuffer& message) {
  Slices slices;
  if (message.Valid() && !message.Dump(&slices).ok()) {
    return absl::InvalidArgumentError("a message that cannot be decompressed");
  }
  switch (FirstByte(slices)) {
    case kWhole:
      return Relayed(WithoutFirstByte(std::move(slices)));
    case kBlock:
      return ReadBlock(blocks, message);
    default:
      return absl::InvalidArgumentError("neither a message nor a block");
  }
}

}  // namespace holdfast
