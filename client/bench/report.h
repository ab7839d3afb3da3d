// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_REPORT_H_
#define HOLDFAST_CLIENT_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "client/bench/figure.h"

namespace holdfast::bench {

// The figures of one run, and the machine that it ran on.
struct Report {
  std::string date;
  std::string host;    // name and number of cores
  std::string device;  // name and driver
  std::string address;
  std::vector<Figure> figures;

  // Returns a table in Markdown.
  std::string ToTable() const;
  // Returns one JSON value, which names the units of its figures.
  std::string ToJson() const;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_REPORT_H_
