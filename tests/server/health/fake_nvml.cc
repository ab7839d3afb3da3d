// SPDX-License-Identifier: Apache-2.0
//
// A fake NVML for tests, built as libnvidia-ml.so.1: one device with made-up
// figures, which has just had an Xid error. Stands in where there is no GPU,
// and tells nothing of how the real library behaves.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "core/nvml/nvml_abi.h"

namespace {

using holdfast::nvml::Device;
using holdfast::nvml::EventData;
using holdfast::nvml::EventSet;
using holdfast::nvml::Memory;
using holdfast::nvml::ProcessInfo;
using holdfast::nvml::Return;
using holdfast::nvml::Utilization;

constexpr Return kNotSupported = 3;

int device;  // Its address is the handle.
Device Handle() { return reinterpret_cast<Device>(&device); }

bool xid_reported = false;

}  // namespace

extern "C" {

Return nvmlInit_v2() {
  std::fprintf(stderr, "fake NVML of the tests\n");
  return 0;
}

const char* nvmlErrorString(Return) { return "fake error"; }

Return nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return 0;
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned, Device* handle) {
  *handle = Handle();
  return 0;
}

// The software device's, as the test has found it.
Return nvmlDeviceGetUUID(Device, char* text, unsigned size) {
  const char* const uuid = std::getenv("HOLDFAST_SOFTWARE_FAKE_NVML_UUID");
  std::snprintf(
      text, size, "%s",
      uuid == nullptr ? "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f" : uuid);
  return 0;
}

Return nvmlDeviceGetMemoryInfo(Device, Memory* memory) {
  *memory = {.total = 1000, .free = 600, .used = 400};
  return 0;
}

Return nvmlDeviceGetUtilizationRates(Device, Utilization* utilization) {
  *utilization = {.gpu = 73, .memory = 21};
  return 0;
}

Return nvmlDeviceGetTemperature(Device, int, unsigned* celsius) {
  *celsius = 55;
  return 0;
}

Return nvmlDeviceGetClockInfo(Device, int type, unsigned* mhz) {
  *mhz = type == holdfast::nvml::kSmClock ? 1980 : 2619;
  return 0;
}

Return nvmlDeviceGetPowerUsage(Device, unsigned*) { return kNotSupported; }

Return nvmlDeviceGetTotalEccErrors(Device, int type, int,
                                   unsigned long long* count) {
  *count = type == holdfast::nvml::kCorrected ? 5 : 1;
  return 0;
}

Return nvmlDeviceGetComputeRunningProcesses_v3(Device, unsigned* count,
                                               ProcessInfo* processes) {
  *count = 2;
  processes[0] = {.pid = 4711, .used_memory = 123};
  processes[1] = {.pid = 4712, .used_memory = ~uint64_t{0}};
  return 0;
}

Return nvmlEventSetCreate(EventSet* events) {
  *events = reinterpret_cast<EventSet>(&device);
  return 0;
}

Return nvmlDeviceRegisterEvents(Device, unsigned long long, EventSet) {
  return 0;
}

Return nvmlEventSetWait_v2(EventSet, EventData* event, unsigned milliseconds) {
  if (xid_reported) {
    usleep(milliseconds * 1000);
    return holdfast::nvml::kTimeout;
  }
  xid_reported = true;
  *event = {.device = Handle(), .type = holdfast::nvml::kXidEvents, .data = 79};
  return 0;
}

}  // extern "C"
