// SPDX-License-Identifier: Apache-2.0
//
// A kernel faults in a session that holds so many bytes: how long until a
// kernel works again. Without recovery a program would open another session and
// copy its bytes in again, which is measured beside it.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/bench/bench.h"
#include "client/bench/kernels.h"
#include "client/bench/workload.h"
#include "client/cli/command.h"
#include "client/cpp/fault.h"
#include "client/cpp/launch.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/devices.pb.h"
#include "holdfast/v1/faults.pb.h"
#include "holdfast/v1/objects.pb.h"

namespace holdfast::bench {
namespace {

// The daemon replaces a warm executor within this time.
constexpr absl::Duration kPause = absl::Seconds(1);

// Buffers that share chunks with others.
constexpr uint64_t kBufferBytes = uint64_t{8} << 20;

// A session with `bytes` bytes in buffers that were copied in, and kernels.
class Holder {
 public:
  static absl::StatusOr<Holder> Create(const Bench& bench, uint64_t bytes,
                                       const std::vector<char>& contents) {
    HOLDFAST_ASSIGN_OR_RETURN(auto session, bench.OpenSession());
    HOLDFAST_ASSIGN_OR_RETURN(const ObjectCode object,
                              ObjectCode::Put(session->daemon(), kFaultKernels,
                                              v1::OBJECT_FORMAT_PTX));
    HOLDFAST_ASSIGN_OR_RETURN(const Module module, session->Load(object));
    HOLDFAST_ASSIGN_OR_RETURN(Kernel work, module.GetKernel("work"));
    HOLDFAST_ASSIGN_OR_RETURN(Kernel fault, module.GetKernel("fault"));
    HOLDFAST_ASSIGN_OR_RETURN(Stream stream, session->device(0).CreateStream());
    Holder holder(std::move(session), std::move(stream), std::move(work),
                  std::move(fault));
    for (uint64_t at = 0; at < bytes; at += contents.size()) {
      HOLDFAST_RETURN_IF_ERROR(holder.CopyIn(contents));
    }
    HOLDFAST_RETURN_IF_ERROR(holder.Work());
    return holder;
  }

  // A launch that ends well.
  absl::Status Work() const {
    HOLDFAST_RETURN_IF_ERROR(Launch(stream_, {.grid = 1, .block = 1}, work_));
    return stream_.Synchronize();
  }

  // Returns when the fault was told, and recovered from.
  absl::Status Fault() const {
    HOLDFAST_RETURN_IF_ERROR(Launch(stream_, {.grid = 1, .block = 1}, fault_));
    const absl::Status status = stream_.Synchronize();
    if (FaultOf(status).has_value()) return absl::OkStatus();
    if (!status.ok()) return status;
    return absl::InternalError("the kernel that was to fault has not");
  }

 private:
  Holder(std::unique_ptr<Session> session, Stream stream, Kernel work,
         Kernel fault)
      : session_(std::move(session)),
        stream_(std::move(stream)),
        work_(std::move(work)),
        fault_(std::move(fault)) {}

  absl::Status CopyIn(const std::vector<char>& contents) {
    HOLDFAST_ASSIGN_OR_RETURN(
        Buffer buffer, session_->device(0).Allocate(contents.size(), stream_));
    buffers_.push_back(std::move(buffer));
    return buffers_.back().Upload(contents.data(), contents.size(), stream_);
  }

  std::unique_ptr<Session> session_;
  Stream stream_;
  Kernel work_;
  Kernel fault_;
  std::vector<Buffer> buffers_;
};

int Samples(const Bench& bench) { return bench.quick() ? 2 : 7; }

absl::StatusOr<Summary> TimeRecovery(const Bench& bench, const Holder& holder) {
  std::vector<double> samples;
  for (int i = 0; i < Samples(bench); ++i) {
    absl::SleepFor(kPause);
    const Stopwatch watch;
    HOLDFAST_RETURN_IF_ERROR(holder.Fault());
    HOLDFAST_RETURN_IF_ERROR(holder.Work());
    samples.push_back(watch.Milliseconds());
  }
  return Summary::Of(std::move(samples), Better::kLess);
}

absl::StatusOr<Summary> TimeOpeningAnew(const Bench& bench, uint64_t bytes,
                                        const std::vector<char>& contents) {
  std::vector<double> samples;
  for (int i = 0; i < Samples(bench); ++i) {
    absl::SleepFor(kPause);
    const Stopwatch watch;
    HOLDFAST_RETURN_IF_ERROR(Holder::Create(bench, bytes, contents).status());
    samples.push_back(watch.Milliseconds());
  }
  return Summary::Of(std::move(samples), Better::kLess);
}

absl::Status AddSize(Bench& bench, uint64_t bytes) {
  const std::vector<char> contents(kBufferBytes, 1);
  Figure figure{.group = "recovery",
                .name = absl::StrCat("fault to the next launch, ",
                                     cli::HumanBytes(bytes), " held"),
                .unit = "ms"};
  {
    HOLDFAST_ASSIGN_OR_RETURN(const Holder holder,
                              Holder::Create(bench, bytes, contents));
    HOLDFAST_ASSIGN_OR_RETURN(figure.value, TimeRecovery(bench, holder));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const Summary anew,
                            TimeOpeningAnew(bench, bytes, contents));
  figure.baseline = Baseline{"open anew, copy in", anew};
  bench.Add(std::move(figure));
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureRecovery(Bench& bench) {
  std::vector<uint64_t> sizes = {uint64_t{64} << 20};
  if (!bench.quick()) {
    sizes.push_back(uint64_t{1} << 30);
    sizes.push_back(uint64_t{8} << 30);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const auto device,
                            bench.daemon()->DescribeDevice(0));
  const v1::Device& described = device.device();
  const uint64_t free = described.has_free_memory() ? described.free_memory()
                                                    : described.total_memory();
  for (const uint64_t bytes : sizes) {
    // The comparison copies the bytes once more: both must fit in free memory.
    if (bytes > free / 2) {
      std::fprintf(stderr, "recovery: %s are not measured, %s are free\n",
                   cli::HumanBytes(bytes).c_str(),
                   cli::HumanBytes(free).c_str());
      continue;
    }
    HOLDFAST_RETURN_IF_ERROR(AddSize(bench, bytes));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::bench
