// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/transfer_memory.h"

#include <utility>

#include "core/base/status_macros.h"

namespace holdfast::executor {
namespace {

constexpr size_t kBlockBytes = SharedBlocks::kBlockBytes;

}  // namespace

TransferMemory::TransferMemory(std::shared_ptr<const cuda::Context> context,
                               std::shared_ptr<Quota> quota,
                               std::shared_ptr<SharedBlocks> blocks)
    : context_(std::move(context)),
      quota_(std::move(quota)),
      blocks_(std::move(blocks)),
      staging_(Staging::Create(
          context_, quota_, kBlockBytes, SharedBlocks::kExecutorBlocks,
          kMaxPlaces, std::shared_ptr<char>(blocks_, blocks_->own_data()))),
      theirs_(SharedBlocks::kDaemonBlocks) {}

absl::StatusOr<CUdeviceptr> TransferMemory::AddressOf(const char* data) {
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<PinnedMemory>& pinned =
      theirs_[static_cast<size_t>(data - blocks_->their_data()) / kBlockBytes];
  if (pinned == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(
        pinned, PinnedMemory::Register(context_, const_cast<char*>(data),
                                       kBlockBytes, *quota_));
  }
  return pinned->device_address();
}

SharedBlocks::Block TransferMemory::Lend(const Staging::Block& block,
                                         size_t size) {
  const auto offset = static_cast<size_t>(block.data() - blocks_->own_data());
  return blocks_->TakeOwn(static_cast<uint32_t>(offset / kBlockBytes), size);
}

void TransferMemory::Close() {
  staging_->Close();
  absl::MutexLock lock(&mutex_);
  theirs_.clear();
}

}  // namespace holdfast::executor
