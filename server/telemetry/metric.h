// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_METRIC_H_
#define HOLDFAST_SERVER_TELEMETRY_METRIC_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

// A metric family with its samples at one moment. The daemon makes it anew for
// each request. Names follow Prometheus' conventions: base units, "_total" at
// the end of a counter.
struct MetricFamily {
  enum class Type { kCounter, kGauge, kHistogram };

  using Labels = std::vector<std::pair<std::string, std::string>>;

  // A bucket of a histogram, and the observations up to its bound.
  struct Bucket {
    double upper_bound = 0;
    uint64_t cumulative_count = 0;
  };

  // A value, with the labels that distinguish it within its family.
  struct Sample {
    Labels labels;
    double value = 0;  // the sum of a histogram
    uint64_t count = 0;
    std::vector<Bucket> buckets;  // without the bucket of infinity
  };

  // Adds a sample of a counter or a gauge.
  void Add(double value, Labels labels = {}) {
    samples.push_back({.labels = std::move(labels), .value = value});
  }

  std::string name;
  std::string help;
  // The type for Prometheus.
  Type type = Type::kGauge;
  std::vector<Sample> samples;
};

// Collects families in the order in which they are shown. Not thread-safe.
// REQUIRES: each name is added once.
class MetricFamilies {
 public:
  // Add an empty family. The reference is valid until the next Add... of any
  // kind.
  MetricFamily& AddCounter(std::string name, std::string help) {
    return Add(MetricFamily::Type::kCounter, std::move(name), std::move(help));
  }
  MetricFamily& AddGauge(std::string name, std::string help) {
    return Add(MetricFamily::Type::kGauge, std::move(name), std::move(help));
  }
  MetricFamily& AddHistogram(std::string name, std::string help) {
    return Add(MetricFamily::Type::kHistogram, std::move(name),
               std::move(help));
  }

  // Returns the families in the order in which they were added.
  const std::vector<MetricFamily>& list() const { return families_; }

 private:
  // The reference is valid until the next call.
  MetricFamily& Add(MetricFamily::Type type, std::string name,
                    std::string help) {
    families_.push_back({std::move(name), std::move(help), type, {}});
    return families_.back();
  }

  std::vector<MetricFamily> families_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_METRIC_H_
