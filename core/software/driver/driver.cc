// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/driver.h"

#include <pthread.h>

#include <string>
#include <utility>
#include <vector>

#include "core/cuda/pci_bus_id.h"
#include "core/software/abi/buffer_table.h"
#include "core/software/driver/settings.h"

namespace holdfast::software {
namespace {

// The pointer keeps a lookup off the way of most calls.
struct StackEntry {
  CUcontext handle = nullptr;
  std::weak_ptr<Context> context;
};

thread_local std::vector<StackEntry> stack;
thread_local bool per_thread_default = false;

StackEntry MakeCurrent(CUcontext handle) {
  return {handle, Driver::Get().contexts().Find(handle)};
}

}  // namespace

Driver& Driver::Get() {
  static Driver& driver = *new Driver;
  return driver;
}

Driver::Driver()
    : devices_(MakeDevices()),
      contexts_(device_count(), [this](int ordinal, unsigned flags,
                                       CUcontext handle) {
        return std::make_shared<Context>(*FindDevice(ordinal), flags, handle);
      }) {}

bool Driver::Initialize() {
  if (forked_) return false;
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] {
        Driver& driver = Get();
        if (driver.initialized_.exchange(false)) driver.forked_ = true;
      });
  initialized_ = true;
  return true;
}

std::vector<std::unique_ptr<Device>> Driver::MakeDevices() {
  const Settings& settings = GetSettings();
  if (settings.memcheck) BufferTable::Enable();
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(settings.devices));
  for (int i = 0; i < settings.devices; ++i) {
    names.push_back(Device::UuidText(i));
  }
  std::vector<std::unique_ptr<Device>> devices;
  for (const int index : ChooseDevices(settings.visible_devices, names)) {
    auto device = std::make_unique<Device>(
        index, static_cast<int>(devices.size()), settings);
    device->set_default_pool(pools.Add(std::make_shared<MemoryPool>(
        *device, MemoryKind::kPool, /*max_size=*/0)));
    devices.push_back(std::move(device));
  }
  return devices;
}

Device* Driver::FindDevice(CUdevice ordinal) {
  if (ordinal < 0 || ordinal >= device_count()) return nullptr;
  return devices_[static_cast<size_t>(ordinal)].get();
}

Device* Driver::FindDevice(const cuda::PciBusId& id) {
  for (const std::unique_ptr<Device>& device : devices_) {
    if (cuda::ParsePciBusId(device->pci_bus_id()) == id) {
      return device.get();
    }
  }
  return nullptr;
}

Device& Driver::CurrentDevice() {
  const std::shared_ptr<Context> context = FindContext(CurrentContext());
  return context == nullptr ? *devices_.front() : context->device();
}

void Driver::EndContext(Context& context) {
  context.End();
  const uint64_t id = context.id();
  streams.RemoveIf([id](const Stream& s) { return s.context().id() == id; });
  events.RemoveIf([id](const Event& e) { return e.context_id() == id; });
  code.EndContext(id);
  memory.RemoveContext(id);
  coredumps.Remove(id);
  // All devices have one heap.
  if (contexts_.All().empty()) EndDeviceHeap();
}

void Driver::DrainAll() {
  for (const std::shared_ptr<Context>& context : contexts_.All()) {
    context->DrainUnlessHeldUp();
  }
}

std::shared_ptr<Context> FindContext(CUcontext handle) {
  if (handle == nullptr) return nullptr;
  if (!stack.empty() && stack.back().handle == handle) {
    StackEntry& current = stack.back();
    std::shared_ptr<Context> context = current.context.lock();
    if (context != nullptr && context->alive()) return context;
    // A primary context may have come back to life under its old handle.
    current = MakeCurrent(handle);
    return current.context.lock();
  }
  return Driver::Get().contexts().Find(handle);
}

CUcontext CurrentContext() {
  return stack.empty() ? nullptr : stack.back().handle;
}

void SetCurrentContext(CUcontext context) {
  if (!stack.empty()) stack.pop_back();
  if (context != nullptr) stack.push_back(MakeCurrent(context));
}

void PushContext(CUcontext context) { stack.push_back(MakeCurrent(context)); }

bool PopContext(CUcontext* context) {
  if (stack.empty()) return false;
  *context = stack.back().handle;
  stack.pop_back();
  return true;
}

PerThreadDefaultStream::PerThreadDefaultStream() : before_(per_thread_default) {
  per_thread_default = true;
}
PerThreadDefaultStream::~PerThreadDefaultStream() {
  per_thread_default = before_;
}
bool PerThreadDefaultStream::Active() { return per_thread_default; }

}  // namespace holdfast::software
