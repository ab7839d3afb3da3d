// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/exporter/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <utility>
#include <vector>

namespace holdfast::exporter {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

ClientMetric::Histogram ToHistogram(const HoldfastSample& sample) {
  ClientMetric::Histogram histogram;
  histogram.sample_count = sample.count;
  histogram.sample_sum = sample.value;
  for (size_t i = 0; i < sample.bucket_count; ++i) {
    ClientMetric::Bucket bucket;
    bucket.upper_bound = sample.buckets[i].upper_bound;
    bucket.cumulative_count = sample.buckets[i].cumulative_count;
    histogram.bucket.push_back(bucket);
  }
  ClientMetric::Bucket last;
  last.upper_bound = std::numeric_limits<double>::infinity();
  last.cumulative_count = sample.count;
  histogram.bucket.push_back(last);
  return histogram;
}

ClientMetric ToMetric(const HoldfastSample& sample, MetricType type) {
  ClientMetric metric;
  for (size_t i = 0; i < sample.label_count; ++i) {
    metric.label.push_back({sample.labels[i].name, sample.labels[i].value});
  }
  switch (type) {
    case MetricType::Counter:
      metric.counter.value = sample.value;
      break;
    case MetricType::Histogram:
      metric.histogram = ToHistogram(sample);
      break;
    default:
      metric.gauge.value = sample.value;
  }
  return metric;
}

MetricType ToType(int type) {
  switch (type) {
    case HOLDFAST_COUNTER:
      return MetricType::Counter;
    case HOLDFAST_HISTOGRAM:
      return MetricType::Histogram;
    default:
      return MetricType::Gauge;
  }
}

}  // namespace

std::string MetricsText(const HoldfastFamily* families, size_t count) {
  std::vector<MetricFamily> all;
  for (size_t i = 0; i < count; ++i) {
    MetricFamily family;
    family.name = families[i].name;
    family.help = families[i].help;
    family.type = ToType(families[i].type);
    for (size_t j = 0; j < families[i].sample_count; ++j) {
      family.metric.push_back(ToMetric(families[i].samples[j], family.type));
    }
    all.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace holdfast::exporter
