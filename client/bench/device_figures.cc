// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/bench/bench.h"
#include "client/bench/workload.h"
#include "client/cli/command.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/devices.pb.h"

namespace holdfast::bench {
namespace {

// `native`: the driver's own copies that these stand beside.
absl::Status AddRates(Bench& bench, const char* name, const char* native,
                      const Stream& stream, const Buffer& to,
                      const Buffer& from) {
  for (const uint64_t size : CopySizes(bench.quick())) {
    Figure figure{.group = "devices",
                  .name = absl::StrCat(name, ", ", cli::HumanBytes(size)),
                  .unit = "GB/s",
                  .better = Better::kMore,
                  .baseline = bench.NativeBaseline(
                      "devices", absl::StrCat(native, "/", size))};
    if (figure.baseline) figure.baseline->name = "cuMemcpyPeerAsync";
    const auto copy = [&]() -> absl::Status {
      HOLDFAST_RETURN_IF_ERROR(to.CopyFrom(from, 0, 0, size, stream));
      return stream.Synchronize();
    };
    HOLDFAST_ASSIGN_OR_RETURN(figure.value, CopyRate(size, copy));
    bench.Add(std::move(figure));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureDevices(Bench& bench) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto list, bench.daemon()->Devices());
  if (list.devices_size() < 2) {
    std::fprintf(stderr, "devices: not measured: there is one\n");
    return absl::OkStatus();
  }
  HOLDFAST_ASSIGN_OR_RETURN(const auto session, bench.OpenSession());
  const uint64_t largest = CopySizes(bench.quick()).back();
  const Device here = session->device(0), there = session->device(1);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, here.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer from, here.Allocate(largest));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer to, there.Allocate(largest));
  HOLDFAST_RETURN_IF_ERROR(session->Synchronize());
  HOLDFAST_RETURN_IF_ERROR(AddRates(bench, "device 0 to 1, no peer access",
                                    "staged", stream, to, from));
  HOLDFAST_ASSIGN_OR_RETURN(const bool can, here.CanAccessPeer(there));
  if (!can) return absl::OkStatus();
  HOLDFAST_RETURN_IF_ERROR(here.EnablePeerAccess(there));
  HOLDFAST_RETURN_IF_ERROR(there.EnablePeerAccess(here));
  return AddRates(bench, "device 0 to 1, peer access", "peer", stream, to,
                  from);
}

}  // namespace holdfast::bench
