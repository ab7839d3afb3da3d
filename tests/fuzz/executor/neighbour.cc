// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/executor/neighbour.h"

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/handle.h"
#include "core/base/status_macros.h"
#include "tests/fuzz/engine/fuzzer.h"
#include "tests/fuzz/executor/traces.h"

namespace holdfast::fuzz {
namespace {

constexpr uint32_t kCount = 64;
constexpr absl::Duration kPause = absl::Milliseconds(2);
constexpr absl::Duration kRoundLimit = absl::Seconds(30);

constexpr uint64_t kStream = Handle{HandleKind::kStream, 1, 0}.Pack();
constexpr uint64_t kBuffer = Handle{HandleKind::kBuffer, 1, 0}.Pack();
constexpr uint64_t kModule = Handle{HandleKind::kModule, 1, 0}.Pack();
constexpr uint64_t kKernel = Handle{HandleKind::kKernel, 1, 0}.Pack();

void AddSetUp(v1::CommandBatch* batch) {
  batch->add_commands()->mutable_create_stream()->set_stream(kStream);
  auto& buffer = *batch->add_commands()->mutable_allocate_buffer();
  buffer.set_buffer(kBuffer);
  buffer.set_size(kCount * sizeof(uint32_t));
  buffer.set_device(0);
  auto& module = *batch->add_commands()->mutable_load_module();
  module.set_module(kModule);
  module.set_object_sha256(kKernelsSha256);
  auto& kernel = *batch->add_commands()->mutable_get_kernel();
  kernel.set_kernel(kKernel);
  kernel.set_module(kModule);
  kernel.set_name("twice");
}

void AddRound(const std::vector<uint32_t>& numbers, v1::CommandBatch* batch) {
  auto& write = *batch->add_commands()->mutable_write_buffer();
  write.set_stream(kStream);
  write.set_buffer(kBuffer);
  write.set_data(numbers.data(), numbers.size() * sizeof(uint32_t));
  auto& launch = *batch->add_commands()->mutable_launch();
  launch.set_kernel(kKernel);
  launch.set_stream(kStream);
  launch.mutable_grid()->set_x(1);
  launch.mutable_grid()->set_y(1);
  launch.mutable_grid()->set_z(1);
  *launch.mutable_block() = launch.grid();
  launch.mutable_block()->set_x(kCount);
  launch.add_arguments()->mutable_buffer()->set_buffer(kBuffer);
  launch.add_arguments()->set_u32(kCount);
  auto& read = *batch->add_commands()->mutable_read_buffer();
  read.set_stream(kStream);
  read.set_buffer(kBuffer);
  read.set_size(kCount * sizeof(uint32_t));
}

}  // namespace

Neighbour::Neighbour() : thread_([this] { Work(); }) {
  while (rounds_ == 0 && Check().ok()) absl::SleepFor(kPause);
  checked_ = rounds_;
}

Neighbour::~Neighbour() {
  stop_ = true;
  thread_.join();
}

absl::Status Neighbour::Check() {
  const absl::Time deadline = absl::Now() + kRoundLimit;
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (!failure_.ok()) return failure_;
    }
    if (rounds_ != checked_) break;
    HOLDFAST_FUZZ_EXPECT(absl::Now() < deadline,
                         "the neighbour has not done a round in ",
                         absl::FormatDuration(kRoundLimit));
    absl::SleepFor(kPause);
  }
  checked_ = rounds_;
  return absl::OkStatus();
}

void Neighbour::Work() {
  while (!stop_) {
    const absl::Status status = Round();
    if (!status.ok()) {
      absl::MutexLock lock(&mutex_);
      failure_ = absl::Status(
          status.code(), absl::StrCat("the neighbour, round ", rounds_.load(),
                                      ": ", status.message()));
      return;
    }
    ++rounds_;
    absl::SleepFor(kPause);
  }
}

absl::Status Neighbour::Round() {
  std::vector<uint32_t> numbers(kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    numbers[i] = static_cast<uint32_t>(sequence_) * 2654435761u + i;
  }
  v1::CommandBatch batch;
  batch.set_first_sequence(sequence_);
  if (sequence_ == 1) AddSetUp(&batch);
  AddRound(numbers, &batch);
  sequence_ += static_cast<uint64_t>(batch.commands_size());
  HOLDFAST_ASSIGN_OR_RETURN(const v1::ResultBatch results, session_.Run(batch));
  HOLDFAST_FUZZ_EXPECT(results.results_size() == 1, results.DebugString());
  const std::string& data = results.results(0).data();
  HOLDFAST_FUZZ_EXPECT(data.size() == kCount * sizeof(uint32_t),
                       results.ShortDebugString());
  std::vector<uint32_t> back(kCount);
  std::memcpy(back.data(), data.data(), data.size());
  for (uint32_t i = 0; i < kCount; ++i) {
    HOLDFAST_FUZZ_EXPECT(back[i] == 2 * numbers[i] + 1, "element ", i, " is ",
                         back[i], ", of ", numbers[i]);
  }
  return absl::OkStatus();
}

}  // namespace holdfast::fuzz
