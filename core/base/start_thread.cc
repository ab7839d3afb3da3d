// SPDX-License-Identifier: Apache-2.0
#include "core/base/start_thread.h"

#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace holdfast {

absl::StatusOr<std::thread> StartThread(absl::string_view purpose,
                                        std::function<void()> run) {
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no thread for ", purpose, ": ", error.code().message(),
        "; the number of threads is limited by ulimit -u, by TasksMax= of a "
        "systemd unit, and by pids.max of a control group"));
  }
}

void RunSideBySide(std::vector<std::function<void()>> jobs) {
  if (jobs.empty()) return;
  std::vector<std::thread> threads;
  // The jobs that the calling thread runs.
  std::vector<std::function<void()>> own;
  own.push_back(std::move(jobs.front()));
  for (size_t i = 1; i < jobs.size(); ++i) {
    auto thread = StartThread("one of several jobs", jobs[i]);
    if (thread.ok()) {
      threads.push_back(*std::move(thread));
    } else {
      own.push_back(std::move(jobs[i]));
    }
  }
  for (const std::function<void()>& job : own) job();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace holdfast
