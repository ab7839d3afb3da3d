// SPDX-License-Identifier: Apache-2.0
//
// The software driver beside native C++, on the same cores in the same run. See
// README.md.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "tests/bench/software/open_cl.h"
#include "tests/bench/software/workload.h"
#include "tests/kernels/library.h"
#include "tests/kernels/machine.h"

namespace holdfast::bench {
namespace {

using Clock = std::chrono::steady_clock;

template <typename F>
double Milliseconds(F run) {
  const auto start = Clock::now();
  run();
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

// The least of `repeats` runs that follow one of the same side, so that each
// finds in the caches what it left there, and not what another side did.
double LeastMilliseconds(int repeats, const std::function<void()>& run) {
  run();
  double least = 1e30;
  for (int i = 0; i < repeats; ++i) least = std::min(least, Milliseconds(run));
  return least;
}

// The threads of an OpenCL device look for work a while after they have done
// it.
constexpr auto kOpenClRests = std::chrono::milliseconds(100);

// The sides take turns, for a machine may have slow minutes.
constexpr int kTurns = 3;

struct Line {
  std::string name;
  double bar = 0;
  double device = 0, native = 0;  // ms, the least of all runs
  double first = 0;               // ms, code generation included
  double cold = 0, cached = 0;    // ms, first launch of little work
  double open_cl = 0;             // ms; 0: not run
  bool equal = false;
};

Line Measure(const WorkloadEntry& entry, int repeats) {
  Line line{entry.name, entry.bar};
  const std::unique_ptr<Workload> workload = entry.make(false);
  line.first = Milliseconds([&] { workload->RunDevice(); });
  workload->RunNative();
  const bool open_cl = workload->RunOpenCl();
  line.device = line.native = 1e30;
  if (open_cl) line.open_cl = 1e30;
  const auto measure = [&](double* least, const std::function<void()>& run) {
    *least = std::min(*least, LeastMilliseconds(repeats, run));
  };
  for (int turn = 0; turn < kTurns; ++turn) {
    std::this_thread::sleep_for(kOpenClRests);
    measure(&line.device, [&] { workload->RunDevice(); });
    measure(&line.native, [&] { workload->RunNative(); });
    if (open_cl) measure(&line.open_cl, [&] { workload->RunOpenCl(); });
  }
  line.equal = workload->Equal() && (!open_cl || workload->OpenClEqual());
  return line;
}

// Microseconds from the launch of one block to its end: least and median.
std::pair<double, double> LaunchLatency() {
  const kernels::Library library("vector_add");
  const kernels::Array<float> data(32);
  std::vector<double> times;
  for (int i = 0; i < 2000; ++i) {
    times.push_back(1000 * Milliseconds([&] {
                      library.Launch("vector_add", {1}, {32}, 0, data, data,
                                     data, 32);
                    }));
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

// One line a workload: milliseconds of its first launches with little work.
void PrintFirstLaunches(const std::vector<WorkloadEntry>& workloads) {
  for (const WorkloadEntry& entry : workloads) {
    const std::unique_ptr<Workload> workload = entry.make(true);
    printf("%f\n", Milliseconds([&] { workload->RunDevice(); }));
  }
}

// As printed by another process of this program that runs with the given
// object cache.
std::vector<double> FirstLaunches(const std::string& cache,
                                  const std::string& filter) {
  char self[4096] = "";
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) return {};
  const std::string only = filter.empty() ? "" : " --only='" + filter + "'";
  const std::string command = "HOLDFAST_SOFTWARE_CACHE='" + cache + "' '" +
                              self + "' --first-launches" + only;
  FILE* output = popen(command.c_str(), "r");
  std::vector<double> times;
  for (double ms; output != nullptr && fscanf(output, "%lf", &ms) == 1;) {
    times.push_back(ms);
  }
  if (output != nullptr) pclose(output);
  return times;
}

void AddFirstLaunches(std::vector<Line>* lines, const std::string& filter) {
  char folder[] = "/tmp/holdfast-bench-XXXXXX";
  if (mkdtemp(folder) == nullptr) return;
  const auto cold = FirstLaunches("off", filter);
  FirstLaunches(folder, filter);
  const auto cached = FirstLaunches(folder, filter);
  for (size_t i = 0; i < lines->size(); ++i) {
    if (i < cold.size()) (*lines)[i].cold = cold[i];
    if (i < cached.size()) (*lines)[i].cached = cached[i];
  }
  if (system(("rm -rf '" + std::string(folder) + "'").c_str()) != 0) return;
}

void PrintTable(const std::vector<Line>& lines,
                std::pair<double, double> latency) {
  printf(
      "| kernel | driver ms | native ms | ratio | bar | OpenCL ms | ratio | "
      "first launch ms, cold | from cache | equal |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Line& line : lines) {
    char open_cl[64] = "- | -";
    if (line.open_cl > 0) {
      snprintf(open_cl, sizeof(open_cl), "%.2f | %.2f", line.open_cl,
               line.device / line.open_cl);
    }
    printf("| %s | %.2f | %.2f | %.2f | %.1f | %s | %.0f | %.1f | %s |\n",
           line.name.c_str(), line.device, line.native,
           line.device / line.native, line.bar, open_cl, line.cold, line.cached,
           line.equal ? "yes" : "NO");
  }
  printf(
      "\none small block, launch to end: %.1f us at best, %.1f us median; "
      "%d threads\n",
      latency.first, latency.second, Threads());
  const std::string name = OpenClName();
  printf("OpenCL: %s\n", name.empty() ? "none here" : name.c_str());
}

void PrintJson(const std::vector<Line>& lines,
               std::pair<double, double> latency) {
  printf(
      "{\"threads\": %d, \"launch_us\": {\"least\": %.2f, \"median\": "
      "%.2f}, \"kernels\": [",
      Threads(), latency.first, latency.second);
  const char* separator = "";
  for (const Line& line : lines) {
    printf(
        "%s\n  {\"name\": \"%s\", \"driver_ms\": %.3f, \"native_ms\": %.3f, "
        "\"open_cl_ms\": %.3f, \"bar\": %.2f, \"first_cold_ms\": %.1f, "
        "\"first_cached_ms\": %.1f, "
        "\"equal\": %s}",
        separator, line.name.c_str(), line.device, line.native, line.open_cl,
        line.bar, line.cold, line.cached, line.equal ? "true" : "false");
    separator = ",";
  }
  printf("\n]}\n");
}

int Main(int argc, char** argv) {
  CLI::App app("The software driver beside native C++");
  int repeats = 7;
  bool json = false, first_launches = false;
  std::string only;
  app.add_option("--repeats", repeats,
                 "timed runs of each side in a row, three times; the least "
                 "counts");
  app.add_option("--only", only, "workloads whose name contains this");
  app.add_flag("--json", json, "for programs");
  app.add_flag("--first-launches", first_launches,
               "only the times of first launches, one a line");
  CLI11_PARSE(app, argc, argv);

  std::vector<WorkloadEntry> chosen;
  for (const WorkloadEntry& entry : Workloads()) {
    if (entry.name.find(only) != std::string::npos) chosen.push_back(entry);
  }
  if (first_launches) {
    PrintFirstLaunches(chosen);
    return 0;
  }
  std::vector<Line> lines;
  for (const WorkloadEntry& entry : chosen) {
    lines.push_back(Measure(entry, repeats));
  }
  AddFirstLaunches(&lines, only);
  const auto latency = LaunchLatency();
  json ? PrintJson(lines, latency) : PrintTable(lines, latency);
  return std::all_of(lines.begin(), lines.end(),
                     [](const Line& line) { return line.equal; })
             ? 0
             : 1;
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) { return holdfast::bench::Main(argc, argv); }
