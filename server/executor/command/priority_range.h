// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_PRIORITY_RANGE_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_PRIORITY_RANGE_H_

#include "core/cuda/context.h"
#include "holdfast/v1/admin.pb.h"

namespace holdfast::executor {

// A range of stream priorities, in which lower numbers are more urgent.
struct PriorityRange {
  int least = 0;
  int greatest = 0;  // <= least

  bool Contains(int priority) const {
    return priority >= greatest && priority <= least;
  }
  // Returns the priority of the range that is nearest to `priority`.
  int Clamp(int priority) const;

  friend bool operator==(const PriorityRange&, const PriorityRange&) = default;
};

// Returns the part of the range of `device` that streams of this class have: a
// third of the range, as nearly as its priorities can be divided. In a range
// with fewer than three priorities, several classes have the same part. The
// class UNSPECIFIED, or an unknown class, has the whole range.
PriorityRange PartOf(const PriorityRange& device,
                     v1::StreamPriorityClass priority_class);

// Returns the priority that a stream or launch of this class gets on the
// context's device if its message has `priority`: the nearest priority of the
// class's part. A priority outside the device's range is returned unchanged, so
// that the driver refuses it.
int PriorityOn(const cuda::Context& context,
               v1::StreamPriorityClass priority_class, int priority);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_PRIORITY_RANGE_H_
