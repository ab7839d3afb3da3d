// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/executor/hosted_session.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "core/cuda/scoped_context.h"
#include "tests/fuzz/engine/fuzzer.h"
#include "tests/fuzz/engine/open_descriptors.h"
#include "tests/fuzz/executor/traces.h"
#include "tests/testing/software_driver.h"

namespace holdfast::fuzz {
namespace {

absl::StatusOr<executor::FetchedObject> Fetch(absl::string_view sha256) {
  if (sha256 != kKernelsSha256) return absl::NotFoundError("no such object");
  executor::FetchedObject object;
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd memory,
                            CreateSealedMemfd("kernels", kKernels));
  HOLDFAST_ASSIGN_OR_RETURN(
      object.image,
      FileMapping::Map(memory.get(), FileMapping::Access::kReadOnly));
  return object;
}

constexpr absl::Duration kCloseLimit = absl::Seconds(10);

uint64_t FreeBytes() {
  // The context stays: it would be made anew for each question.
  static const auto& context =
      *new std::shared_ptr<const cuda::Context>(testing::SoftwareContext());
  size_t free = 0, total = 0;
  const cuda::ScopedContext current(*context);
  testing::SoftwareDriver().api.cuMemGetInfo(&free, &total);
  return free;
}

}  // namespace

const std::string& HostedSession::token() {
  static const std::string& token = *new std::string("0123456789abcdef");
  return token;
}

HostedSession::HostedSession() {
  SetLogLevel(LogLevel::kError);  // Refusals would fill the log.
  executor::Session::Options options;
  options.token = token();
  options.fetch_object = Fetch;
  options.resources.api = &testing::SoftwareDriver().api;
  internal::AccountLimits limits;
  limits.set_arena_bytes(kArenaBytes);
  account_ = std::make_shared<Account>(Account::Options{.limits = limits});
  options.resources.account = account_;
  options.resources.chunk_created =
      [held = held_](uint32_t, const memory::Chunk&) { ++held->chunks; };
  options.resources.chunk_released =
      [held = held_](uint32_t, const memory::Chunk&) { --held->chunks; };
  session_ = std::make_unique<executor::Session>(std::move(options));
}

absl::StatusOr<v1::ResultBatch> HostedSession::Run(
    const v1::CommandBatch& batch) {
  const std::string bytes = batch.SerializeAsString();
  auto parsed = std::make_shared<v1::CommandBatch>();
  if (!parsed->ParseFromString(bytes)) {
    return absl::InvalidArgumentError("not a batch");
  }
  const auto queue = std::make_shared<executor::ResultQueue>();
  HOLDFAST_RETURN_IF_ERROR(
      session_->Submit(std::move(parsed), bytes.size(), queue));
  queue->Finish();
  v1::ResultBatch results, some;
  while (queue->Take(&some)) {
    results.mutable_results()->MergeFrom(some.results());
    some.Clear();
  }
  return results;
}

absl::Status HostedSession::AddArena(uint64_t handle, uint64_t size) {
  UniqueFd memfd(memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (ftruncate(memfd.get(), static_cast<off_t>(size)) != 0 ||
      fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return absl::ErrnoToStatus(errno, "make a memfd");
  }
  absl::Status status;
  session_->Run([&](executor::Resources& resources) {
    auto device = resources.devices.OpenFirst();
    status = device.status();
    if (!status.ok()) return;
    auto charge = resources.arenas.Reserve();
    auto arena = executor::Arena::Create((*device)->context, std::move(memfd),
                                         size, *account_->arena_memory(),
                                         /*places=*/nullptr, /*wish=*/0);
    status = charge.ok() ? arena.status() : charge.status();
    if (!status.ok()) return;
    resources.arenas.Put(handle, {*std::move(arena)}, *std::move(charge));
  });
  return status;
}

absl::Status HostedSession::End() {
  session_.reset();
  HOLDFAST_FUZZ_EXPECT(held_->chunks == 0, held_->chunks.load(),
                       " chunks were not released");
  // Blocks that gRPC still holds are left to the process's end.
  v1::SessionUsage usage;
  account_->Report(&usage);
  usage.clear_staging_bytes();
  const uint64_t left =
      usage.device_bytes().used() + usage.reserved_bytes().used() +
      usage.pinned_bytes().used() + usage.arena_bytes().used() +
      usage.outstanding_commands().used() +
      static_cast<uint64_t>(usage.handles_size());
  HOLDFAST_FUZZ_EXPECT(left == 0, "still charged: ", usage.ShortDebugString());
  return absl::OkStatus();
}

absl::Status CheckError(int code, const std::string& text) {
  HOLDFAST_FUZZ_EXPECT(code > 0 && code <= 16, "code ", code, ": ", text);
  HOLDFAST_FUZZ_EXPECT(code != static_cast<int>(absl::StatusCode::kInternal),
                       text);
  HOLDFAST_FUZZ_EXPECT(code != static_cast<int>(absl::StatusCode::kUnknown),
                       text);
  HOLDFAST_FUZZ_EXPECT(!text.empty(), "code ", code);
  return absl::OkStatus();
}

Holdings::Holdings()
    : descriptors_(OpenDescriptors()), free_bytes_(FreeBytes()) {}

absl::Status Holdings::CheckNothingMore() const {
  // Threads of gRPC close what they had when the one that they served is gone.
  const absl::Time deadline = absl::Now() + kCloseLimit;
  std::string more;
  do {
    more = NewDescriptors(descriptors_, OpenDescriptors());
    if (more.empty()) break;
    absl::SleepFor(absl::Milliseconds(1));
  } while (absl::Now() < deadline);
  HOLDFAST_FUZZ_EXPECT(more.empty(), more);
  const uint64_t free_bytes = FreeBytes();
  HOLDFAST_FUZZ_EXPECT(free_bytes >= free_bytes_, free_bytes_ - free_bytes,
                       " bytes of device memory more are held");
  return absl::OkStatus();
}

}  // namespace holdfast::fuzz
