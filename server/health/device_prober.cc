// SPDX-License-Identifier: Apache-2.0
#include "server/health/device_prober.h"

#include <utility>

#include "core/base/steady_time.h"

namespace holdfast {

DeviceProber::DeviceProber(DeviceHealthTable& table, Options options)
    : table_(table), options_(std::move(options)) {
  thread_ = std::thread([this] { Run(); });
}

DeviceProber::~DeviceProber() {
  table_.Stop();
  thread_.join();
}

void DeviceProber::Run() {
  std::optional<uint32_t> count;
  while (!count.has_value() && !table_.stopped()) {
    count = options_.count_devices();
  }
  std::vector<std::thread> threads;
  for (uint32_t device = 0; device < count.value_or(0); ++device) {
    table_.Add(device);
    threads.emplace_back([this, device] { ProbeAlways(device); });
  }
  for (std::thread& thread : threads) thread.join();
}

void DeviceProber::ProbeAlways(uint32_t device) {
  while (table_.AwaitDue(device)) {
    const absl::Time began = SteadyNow();
    const ProbeOutcome outcome = options_.probe(device);
    if (table_.stopped()) return;
    table_.Record(device, outcome.status, SteadyNow() - began);
  }
}

}  // namespace holdfast
