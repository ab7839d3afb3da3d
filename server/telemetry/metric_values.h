// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_METRIC_VALUES_H_
#define HOLDFAST_SERVER_TELEMETRY_METRIC_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "server/counters/duration_histogram.h"
#include "server/telemetry/metric.h"

namespace holdfast {

// Converts values and labels to the form of metrics.

// All samples are doubles; counts up to 2^53 are exact.
inline double Number(uint64_t count) { return static_cast<double>(count); }

// Return the seconds since the Unix epoch, and the seconds of a duration.
double Seconds(const google::protobuf::Timestamp& time);
double Seconds(const google::protobuf::Duration& duration);

// Returns the label for an enumerator of protobuf: "active" for "STATE_ACTIVE"
// with the prefix "STATE_".
std::string Label(absl::string_view name, absl::string_view prefix);

// Returns the label for a v1::CopyPath.
std::string PathLabel(size_t path);

// Returns the label of a device: {device="0"}.
MetricFamily::Labels DeviceLabel(uint32_t device);

// Returns the durations as a sample of a histogram, in seconds.
MetricFamily::Sample SampleOf(const DurationHistogram& durations,
                              MetricFamily::Labels labels = {});

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_METRIC_VALUES_H_
