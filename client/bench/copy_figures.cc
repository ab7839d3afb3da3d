// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/bench/bench.h"
#include "client/bench/workload.h"
#include "client/cli/command.h"
#include "core/base/status_macros.h"

namespace holdfast::bench {
namespace {

constexpr uint64_t kSmall = 1 << 20;
constexpr uint64_t kLarge = 64 << 20;

// One way for bytes, both directions.
struct Path {
  std::string name;
  const char* native;  // the driver's own copies that it stands beside
  // Bars from kLarge on, as multiples of the baseline; 0: none.
  double bar_in = 0;
  double bar_out = 0;
  // Bar up to kSmall: microseconds beside the baseline's time; 0: none.
  double small_more = 0;
};

using Copy = std::function<absl::Status(uint64_t size)>;

absl::Status AddRates(Bench& bench, const Path& path, const char* direction,
                      double bar, const Copy& copy) {
  for (const uint64_t size : CopySizes(bench.quick())) {
    Figure figure{
        .group = "copy",
        .name = absl::StrCat(path.name, " ", direction, ", ",
                             cli::HumanBytes(size)),
        .unit = "GB/s",
        .better = Better::kMore,
        .baseline = bench.NativeBaseline(
            "copy", absl::StrCat(path.native, "_", direction, "/", size))};
    if (figure.baseline) figure.baseline->name = path.native;
    HOLDFAST_ASSIGN_OR_RETURN(figure.value,
                              CopyRate(size, [&] { return copy(size); }));
    if (bar > 0 && size >= kLarge) {
      figure = std::move(figure).ReachingRatio(bar);
    } else if (path.small_more > 0 && size <= kSmall) {
      figure = std::move(figure).ReachingCopySum(size, path.small_more);
    }
    bench.Add(std::move(figure));
  }
  return absl::OkStatus();
}

absl::Status AddCopies(Bench& bench, const Session& session, const Path& path) {
  const uint64_t largest = CopySizes(bench.quick()).back();
  const Device device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer,
                            device.Allocate(largest, stream));
  std::vector<char> memory(largest, 1);
  // After the first large copy all sizes go the way that they keep.
  HOLDFAST_RETURN_IF_ERROR(buffer.Upload(memory.data(), largest, stream));
  HOLDFAST_RETURN_IF_ERROR(AddRates(
      bench, path, "in", path.bar_in, [&](uint64_t size) -> absl::Status {
        HOLDFAST_RETURN_IF_ERROR(buffer.Upload(memory.data(), size, stream));
        return stream.Synchronize();
      }));
  return AddRates(bench, path, "out", path.bar_out, [&](uint64_t size) {
    return buffer.Download(memory.data(), size, stream);
  });
}

absl::Status AddArenaCopies(Bench& bench, const Session& session) {
  const Path path = {"arena", "pinned", 0.97, 0.97};
  const uint64_t largest = CopySizes(bench.quick()).back();
  const Device device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer,
                            device.Allocate(largest, stream));
  HOLDFAST_ASSIGN_OR_RETURN(const auto arena, session.CreateArena(largest));
  HOLDFAST_ASSIGN_OR_RETURN(const ArenaSpan span, arena->Allocate(largest));
  std::memset(span.data(), 1, largest);
  HOLDFAST_RETURN_IF_ERROR(AddRates(
      bench, path, "in", path.bar_in, [&](uint64_t size) -> absl::Status {
        HOLDFAST_RETURN_IF_ERROR(buffer.CopyFrom(span, 0, 0, size, stream));
        return stream.Synchronize();
      }));
  return AddRates(
      bench, path, "out", path.bar_out, [&](uint64_t size) -> absl::Status {
        HOLDFAST_RETURN_IF_ERROR(buffer.CopyTo(span, 0, 0, size, stream));
        return stream.Synchronize();
      });
}

// How long it takes to have an arena, from asking to its last page.
absl::Status AddArenaCreation(Bench& bench, const Session& session) {
  const uint64_t size = bench.quick() ? 16 << 20 : 256 << 20;
  Figure figure{.group = "copy",
                .name = absl::StrCat("make an arena, ", cli::HumanBytes(size)),
                .unit = "ms",
                .baseline = bench.NativeBaseline(
                    "copy", absl::StrCat("allocate_pinned_ms/", size))};
  if (figure.baseline) figure.baseline->name = "cuMemHostAlloc";
  std::vector<double> milliseconds;
  for (int i = 0; i < 5; ++i) {
    const Stopwatch watch;
    HOLDFAST_RETURN_IF_ERROR(session.CreateArena(size).status());
    milliseconds.push_back(watch.Milliseconds());
  }
  figure.value = Summary::Of(std::move(milliseconds), Better::kLess);
  bench.Add(std::move(figure));
  return absl::OkStatus();
}

// A daemon of another machine shares no memory.
absl::Status AddArenas(Bench& bench, const Session& session) {
  const absl::Status status = session.CreateArena(4096).status();
  if (absl::IsFailedPrecondition(status)) {
    std::fprintf(stderr, "copy: arenas are not measured: %s\n",
                 std::string(status.message()).c_str());
    return absl::OkStatus();
  }
  HOLDFAST_RETURN_IF_ERROR(status);
  HOLDFAST_RETURN_IF_ERROR(AddArenaCreation(bench, session));
  return AddArenaCopies(bench, session);
}

}  // namespace

absl::Status MeasureCopies(Bench& bench) {
  HOLDFAST_ASSIGN_OR_RETURN(Session * session, bench.session());
  HOLDFAST_RETURN_IF_ERROR(AddArenas(bench, *session));
  return AddCopies(bench, *session,
                   {"ordinary memory", "pageable", 3.0, 1.5, 5});
}

}  // namespace holdfast::bench
