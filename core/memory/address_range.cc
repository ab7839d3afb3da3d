// SPDX-License-Identifier: Apache-2.0
#include "core/memory/address_range.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::memory {

absl::StatusOr<std::unique_ptr<AddressRange>> AddressRange::Reserve(
    std::shared_ptr<const cuda::Context> context, uint64_t size,
    CUdeviceptr hint) {
  cuda::ScopedContext current(*context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  CUdeviceptr base = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(context->api(),
                                cuMemAddressReserve(&base, size, 0, hint, 0));
  return std::unique_ptr<AddressRange>(
      new AddressRange(std::move(context), /*whole=*/nullptr, base, size));
}

absl::StatusOr<std::unique_ptr<AddressRange>> AddressRange::In(
    std::shared_ptr<AddressRange> whole, uint64_t size, CUdeviceptr address) {
  if (address == 0) {
    HOLDFAST_ASSIGN_OR_RETURN(address, whole->Take(size));
  } else {
    HOLDFAST_RETURN_IF_ERROR(whole->TakeAt(address, size));
  }
  auto context = whole->context_;
  return std::unique_ptr<AddressRange>(
      new AddressRange(std::move(context), std::move(whole), address, size));
}

AddressRange::AddressRange(std::shared_ptr<const cuda::Context> context,
                           std::shared_ptr<AddressRange> whole,
                           CUdeviceptr base, uint64_t size)
    : context_(std::move(context)),
      whole_(std::move(whole)),
      base_(base),
      size_(size) {
  absl::MutexLock lock(&mutex_);
  free_.AddSpan(0, size);
}

AddressRange::~AddressRange() {
  if (whole_ != nullptr) {
    whole_->GiveBack(base_, size_);
    return;
  }
  cuda::ScopedContext current(*context_);
  cuda::LogIfFailed(context_->api().cuMemAddressFree(base_, size_),
                    "cuMemAddressFree");
}

absl::StatusOr<CUdeviceptr> AddressRange::Take(uint64_t size) {
  absl::MutexLock lock(&mutex_);
  const std::optional<Block> block = free_.Allocate(size);
  if (block.has_value()) return base_ + block->offset;
  return absl::ResourceExhaustedError(absl::StrCat(
      "no room for ", size, " bytes in a range of ", size_,
      " device addresses; the largest gap has ", free_.largest_free()));
}

absl::Status AddressRange::TakeAt(CUdeviceptr address, uint64_t size) {
  absl::MutexLock lock(&mutex_);
  if (address >= base_ && free_.AllocateAt({0, address - base_, size})) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      absl::StrCat(size, " bytes at device address 0x", absl::Hex(address),
                   " are in use or out of range"));
}

void AddressRange::GiveBack(CUdeviceptr address, uint64_t size) {
  absl::MutexLock lock(&mutex_);
  free_.Free({0, address - base_, size});
}

}  // namespace holdfast::memory
