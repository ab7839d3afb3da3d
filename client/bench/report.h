// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_REPORT_H_
#define HOLDFAST_CLIENT_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "client/bench/figure.h"

namespace holdfast::bench {

// The figures of one run, and where it was.
struct Report {
  std::string date;
  std::string host;    // name and number of cores
  std::string device;  // name and driver
  std::string address;
  std::vector<Figure> figures;

  // A table for people, of Markdown's form.
  std::string ToTable() const;
  // One value; times, rates and sizes in the units that it names.
  std::string ToJson() const;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_REPORT_H_
