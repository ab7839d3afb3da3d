// SPDX-License-Identifier: Apache-2.0
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

constexpr uint64_t kLarge = 64 << 20;

// One way for bytes, both directions.
struct Path {
  std::string name;
  const char* native;  // the driver's own copies that it stands beside
  // Bars from kLarge on, as multiples of the baseline; 0: none.
  double bar_in = 0;
  double bar_out = 0;
};

absl::Status AddCopies(Bench& bench, const Session& session, const Path& path) {
  const std::vector<uint64_t> sizes = CopySizes(bench.quick());
  const Device device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer,
                            device.Allocate(sizes.back(), stream));
  std::vector<char> memory(sizes.back(), 1);
  for (const uint64_t size : sizes) {
    const auto add = [&](const char* direction, double bar,
                         auto copy) -> absl::Status {
      Figure figure{
          .group = "copy",
          .name = absl::StrCat(path.name, " ", direction, ", ",
                               cli::HumanBytes(size)),
          .unit = "GB/s",
          .better = Better::kMore,
          .baseline = bench.NativeBaseline(
              "copy", absl::StrCat(path.native, "_", direction, "/", size))};
      if (figure.baseline) figure.baseline->name = path.native;
      HOLDFAST_ASSIGN_OR_RETURN(figure.value, CopyRate(size, copy));
      if (bar > 0 && size >= kLarge) {
        figure = std::move(figure).ReachingRatio(bar);
      }
      bench.Add(std::move(figure));
      return absl::OkStatus();
    };
    HOLDFAST_RETURN_IF_ERROR(add("in", path.bar_in, [&]() -> absl::Status {
      HOLDFAST_RETURN_IF_ERROR(buffer.Upload(memory.data(), size, stream));
      return stream.Synchronize();
    }));
    HOLDFAST_RETURN_IF_ERROR(add("out", path.bar_out, [&] {
      return buffer.Download(memory.data(), size, stream);
    }));
  }
  return absl::OkStatus();
}

absl::Status AddCopiesOver(Bench& bench, const std::string& address,
                           const Path& path) {
  if (address.empty()) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session, Session::Open({.address = address, .name = "bench"}));
  return AddCopies(bench, *session, path);
}

}  // namespace

absl::Status MeasureCopies(Bench& bench) {
  HOLDFAST_ASSIGN_OR_RETURN(Session * session, bench.session());
  HOLDFAST_RETURN_IF_ERROR(
      AddCopies(bench, *session, {"ordinary memory", "pageable", 3.0, 1.5}));
  HOLDFAST_RETURN_IF_ERROR(
      AddCopiesOver(bench, bench.options().tcp_address, {"TCP", "pageable"}));
  return AddCopiesOver(bench, bench.options().tls_address, {"TLS", "pageable"});
}

}  // namespace holdfast::bench
