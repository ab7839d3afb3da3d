// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/priority_range.h"

#include <algorithm>

namespace holdfast::executor {
namespace {

constexpr int kClasses = 3;

}  // namespace

int PriorityRange::Clamp(int priority) const {
  return std::clamp(priority, greatest, least);
}

PriorityRange PartOf(const PriorityRange& device,
                     v1::StreamPriorityClass priority_class) {
  if (priority_class == v1::STREAM_PRIORITY_CLASS_UNSPECIFIED ||
      !v1::StreamPriorityClass_IsValid(priority_class)) {
    return device;
  }
  // Levels are counted from the least urgent one.
  const int levels = device.least - device.greatest + 1;
  const int third = priority_class - v1::STREAM_PRIORITY_CLASS_LOW;
  const int first = third * levels / kClasses;
  const int last = std::max(first, (third + 1) * levels / kClasses - 1);
  return {.least = device.least - first, .greatest = device.least - last};
}

int PriorityOn(const cuda::Context& context,
               v1::StreamPriorityClass priority_class, int priority) {
  const PriorityRange device = {.least = context.least_stream_priority(),
                                .greatest = context.greatest_stream_priority()};
  if (!device.Contains(priority)) return priority;
  return PartOf(device, priority_class).Clamp(priority);
}

}  // namespace holdfast::executor
