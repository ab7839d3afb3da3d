// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TELEMETRY_METRICS_TEXT_H_
#define HOLDFAST_TESTS_SERVER_TELEMETRY_METRICS_TEXT_H_

#include <map>
#include <set>
#include <string>

namespace holdfast {

// Returns the samples of a text in Prometheus' format, by name and labels as in
// the text: "holdfast_sessions{state=\"active\"}".
std::map<std::string, double> Samples(const std::string& text);

// Returns the names of the samples, without labels. The samples of a histogram
// have the suffixes "_bucket", "_sum" and "_count".
std::set<std::string> SampleNames(const std::string& text);

// Returns the names of the families, from the lines "# TYPE".
std::set<std::string> FamilyNames(const std::string& text);

// Returns the names of the daemon's metrics in a PromQL expression.
std::set<std::string> MetricsIn(const std::string& expression);

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_TELEMETRY_METRICS_TEXT_H_
