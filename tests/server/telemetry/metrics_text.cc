// SPDX-License-Identifier: Apache-2.0
#include "tests/server/telemetry/metrics_text.h"

#include <cstdlib>
#include <regex>
#include <sstream>

namespace holdfast {

std::map<std::string, double> Samples(const std::string& text) {
  std::map<std::string, double> samples;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.rfind(' ');
    if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
    samples[line.substr(0, space)] = std::strtod(&line[space], nullptr);
  }
  return samples;
}

std::set<std::string> SampleNames(const std::string& text) {
  std::set<std::string> names;
  for (const auto& [sample, value] : Samples(text)) {
    names.insert(sample.substr(0, sample.find('{')));
  }
  return names;
}

std::set<std::string> FamilyNames(const std::string& text) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, type, name;
    words >> hash >> type >> name;
    if (hash == "#" && type == "TYPE") names.insert(name);
  }
  return names;
}

std::set<std::string> MetricsIn(const std::string& expression) {
  static const std::regex name("\\b(holdfast|process)_[a-z0-9_]+");
  std::set<std::string> names;
  for (std::sregex_iterator it(expression.begin(), expression.end(), name), end;
       it != end; ++it) {
    names.insert(it->str());
  }
  return names;
}

}  // namespace holdfast
