// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace holdfast {
namespace {

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The fields of /proc/self/stat from the third on, which is the first behind
// the program's name; proc(5) counts from 1.
class Stat {
 public:
  Stat() {
    const std::string text = ReadFile("/proc/self/stat");
    const size_t name_end = text.rfind(") ");
    if (name_end == std::string::npos) return;
    fields_ = absl::StrSplit(text.substr(name_end + 2), ' ');
  }

  double Field(size_t number) const {
    double value = 0;
    if (number - 3 >= fields_.size()) return 0;
    return absl::SimpleAtod(fields_[number - 3], &value) ? value : 0;
  }

 private:
  std::vector<std::string> fields_;
};

// Seconds since 1970 at which the machine was started.
double BootTime() {
  const std::string text = ReadFile("/proc/stat");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    double seconds = 0;
    if (absl::ConsumePrefix(&line, "btime ") &&
        absl::SimpleAtod(line, &seconds)) {
      return seconds;
    }
  }
  return 0;
}

double OpenDescriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return 0;
  // Without the one that reads the directory.
  return static_cast<double>(std::distance(begin(files), end(files))) - 1;
}

double MaxDescriptors() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

void CollectProcessMetrics(MetricFamilies* families) {
  const Stat stat;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  families
      ->AddCounter("process_cpu_seconds_total",
                   "Processor time of the supervisor, user and system.")
      .Add((stat.Field(14) + stat.Field(15)) / ticks);
  families
      ->AddGauge("process_resident_memory_bytes",
                 "Resident memory of the supervisor.")
      .Add(stat.Field(24) * page);
  families
      ->AddGauge("process_virtual_memory_bytes",
                 "Virtual memory of the supervisor.")
      .Add(stat.Field(23));
  families->AddGauge("process_open_fds", "Open descriptors of the supervisor.")
      .Add(OpenDescriptors());
  families
      ->AddGauge("process_max_fds",
                 "Descriptors that the supervisor may have open.")
      .Add(MaxDescriptors());
  families
      ->AddGauge("process_start_time_seconds",
                 "When the supervisor was started, since the Unix epoch.")
      .Add(BootTime() + stat.Field(22) / ticks);
  families->AddGauge("process_threads", "Threads of the supervisor.")
      .Add(stat.Field(20));
}

}  // namespace holdfast
