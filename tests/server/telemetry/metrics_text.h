// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TELEMETRY_METRICS_TEXT_H_
#define HOLDFAST_TESTS_SERVER_TELEMETRY_METRICS_TEXT_H_

#include <map>
#include <set>
#include <string>

namespace holdfast {

// Samples of Prometheus' text format by what stands before the value:
// "holdfast_sessions{state=\"active\"}".
std::map<std::string, double> Samples(const std::string& text);

// Names that the text has samples of, without labels; those of histograms with
// "_bucket", "_sum" and "_count".
std::set<std::string> SampleNames(const std::string& text);

// Names of families, from the lines "# TYPE".
std::set<std::string> FamilyNames(const std::string& text);

// Names of the daemon's metrics that an expression of PromQL has.
std::set<std::string> MetricsIn(const std::string& expression);

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_TELEMETRY_METRICS_TEXT_H_
