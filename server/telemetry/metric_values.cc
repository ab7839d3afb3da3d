// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/metric_values.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "holdfast/v1/buffer_commands.pb.h"

namespace holdfast {

double Seconds(const google::protobuf::Timestamp& time) {
  return Number(static_cast<uint64_t>(time.seconds())) + time.nanos() * 1e-9;
}

double Seconds(const google::protobuf::Duration& duration) {
  return Number(static_cast<uint64_t>(duration.seconds())) +
         duration.nanos() * 1e-9;
}

std::string Label(absl::string_view name, absl::string_view prefix) {
  absl::ConsumePrefix(&name, prefix);
  return absl::AsciiStrToLower(name);
}

std::string PathLabel(size_t path) {
  return Label(v1::CopyPath_Name(static_cast<v1::CopyPath>(path)),
               "COPY_PATH_");
}

MetricFamily::Labels DeviceLabel(uint32_t device) {
  return {{"device", absl::StrCat(device)}};
}

MetricFamily::Sample SampleOf(const DurationHistogram& durations,
                              MetricFamily::Labels labels) {
  const DurationHistogram::Counts counts = durations.Read();
  MetricFamily::Sample sample{.labels = std::move(labels),
                              .value = absl::ToDoubleSeconds(counts.sum),
                              .count = counts.all};
  for (size_t i = 0; i < counts.up_to_bound.size(); ++i)
    sample.buckets.push_back(
        {DurationHistogram::kBounds[i], counts.up_to_bound[i]});
  return sample;
}

}  // namespace holdfast
