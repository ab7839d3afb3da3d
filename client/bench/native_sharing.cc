// SPDX-License-Identifier: Apache-2.0
#include "client/bench/native_sharing.h"

#include <cstdint>
#include <memory>

#include "client/bench/native_driver.h"
#include "client/bench/sharing_workload.h"
#include "core/base/status_macros.h"
#include "core/cuda/event.h"
#include "core/cuda/stream.h"

namespace holdfast::bench {

absl::StatusOr<NativeFigures> MeasureNativeSharing(
    bool quick, const cuda::DriverOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto driver, NativeDriver::Open(options));
  HOLDFAST_ASSIGN_OR_RETURN(const auto first,
                            cuda::Stream::Create(driver->context(), {}));
  HOLDFAST_ASSIGN_OR_RETURN(const auto second,
                            cuda::Stream::Create(driver->context(), {}));
  HOLDFAST_ASSIGN_OR_RETURN(const auto ping,
                            cuda::Event::Create(driver->context(), {}));
  HOLDFAST_ASSIGN_OR_RETURN(const auto pong,
                            cuda::Event::Create(driver->context(), {}));
  const auto play = [&](uint64_t) -> absl::Status {
    HOLDFAST_RETURN_IF_ERROR(ping->Record(*first));
    HOLDFAST_RETURN_IF_ERROR(second->Wait(*ping));
    HOLDFAST_RETURN_IF_ERROR(pong->Record(*second));
    return first->Wait(*pong);
  };
  NativeFigures figures;
  HOLDFAST_ASSIGN_OR_RETURN(figures["turn_us"], TurnTime(quick, play, [&] {
                              return first->Synchronize();
                            }));
  return figures;
}

}  // namespace holdfast::bench
