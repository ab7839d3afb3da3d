// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/driver.h"

#include <string>
#include <utility>
#include <vector>

#include "core/cuda/pci_bus_id.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/settings.h"

namespace holdfast::software {
namespace {

// The pointer keeps a lookup off the way of most calls.
struct CurrentContext {
  CUcontext handle = nullptr;
  std::weak_ptr<Context> context;
};

thread_local std::vector<CurrentContext> stack;
thread_local bool per_thread_default = false;

CurrentContext MakeCurrent(CUcontext handle) {
  return {handle, Driver::Get().contexts.Find(handle)};
}

}  // namespace

Driver& Driver::Get() {
  static Driver& driver = *new Driver;
  return driver;
}

Driver::Driver() {
  const Settings& settings = GetSettings();
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(settings.devices));
  for (int i = 0; i < settings.devices; ++i) {
    names.push_back(Device::UuidText(i));
  }
  for (const int index : ChooseDevices(settings.visible_devices, names)) {
    auto device = std::make_unique<Device>(index, device_count(), settings);
    device->set_default_pool(pools.Add(std::make_shared<MemoryPool>(
        *device, MemoryKind::kPool, /*max_size=*/0)));
    const auto handle = (CUcontext)NewHandleValue();
    primaries_.push_back({.handle = handle});
    primary_handles_[handle] = device.get();
    devices_.push_back(std::move(device));
  }
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
  const std::shared_ptr<Context> context = FindContext(CurrentHandle());
  return context == nullptr ? *devices_.front() : context->device();
}

void Driver::AddReservation(std::unique_ptr<AddressRange> range) {
  MutexLock lock(&mutex_);
  const uintptr_t address = range->address();
  reservations_[address] = std::move(range);
}

std::unique_ptr<AddressRange> Driver::RemoveReservation(uintptr_t address,
                                                        size_t size) {
  MutexLock lock(&mutex_);
  const auto it = reservations_.find(address);
  if (it == reservations_.end() || it->second->size() != size) return nullptr;
  std::unique_ptr<AddressRange> range = std::move(it->second);
  reservations_.erase(it);
  return range;
}

bool Driver::IsReserved(uintptr_t address, size_t size) {
  MutexLock lock(&mutex_);
  auto it = reservations_.upper_bound(address);
  if (it == reservations_.begin()) return false;
  --it;
  const AddressRange& range = *it->second;
  const size_t offset = address - range.address();
  return offset < range.size() && size <= range.size() - offset;
}

CUcontext Driver::RetainPrimary(Device& device) {
  MutexLock lock(&primary_mutex_);
  Primary& primary = PrimaryOf(device);
  if (primary.context == nullptr) {
    primary.context = std::make_shared<Context>(device, primary.flags);
    primary.context->set_handle(primary.handle);
    contexts.AddAs(primary.handle, primary.context);
  }
  ++primary.references;
  return primary.handle;
}

CUresult Driver::ReleasePrimary(Device& device,
                                std::shared_ptr<Context>* ended) {
  {
    MutexLock lock(&primary_mutex_);
    Primary& primary = PrimaryOf(device);
    if (primary.references == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary.references > 0) return CUDA_SUCCESS;
  }
  *ended = ResetPrimary(device);
  return CUDA_SUCCESS;
}

std::shared_ptr<Context> Driver::ResetPrimary(Device& device) {
  MutexLock lock(&primary_mutex_);
  Primary& primary = PrimaryOf(device);
  if (primary.context != nullptr) contexts.Remove(primary.handle);
  return std::exchange(primary.context, nullptr);
}

bool Driver::PrimaryActive(Device& device) {
  MutexLock lock(&primary_mutex_);
  return PrimaryOf(device).context != nullptr;
}

CUresult Driver::SetPrimaryFlags(Device& device, unsigned flags) {
  if ((flags & ~CU_CTX_FLAGS_MASK) != 0) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(&primary_mutex_);
  Primary& primary = PrimaryOf(device);
  primary.flags = flags;
  if (primary.context != nullptr) primary.context->flags() = flags;
  return CUDA_SUCCESS;
}

unsigned Driver::PrimaryFlags(Device& device) {
  MutexLock lock(&primary_mutex_);
  return PrimaryOf(device).flags;
}

bool Driver::IsPrimary(CUcontext context) const {
  return primary_handles_.count(context) > 0;
}

std::shared_ptr<Context> Driver::CreateContext(Device& device, unsigned flags) {
  auto context = std::make_shared<Context>(device, flags);
  context->set_handle(contexts.Add(context));
  MutexLock lock(&mutex_);
  created_[context->handle()] = &device;
  return context;
}

std::shared_ptr<Context> Driver::FindContextById(uint64_t id) const {
  return contexts.Find(contexts.HandleOf(
      [id](const Context& context) { return context.id() == id; }));
}

Device* Driver::DeviceOf(CUcontext context) {
  const auto primary = primary_handles_.find(context);
  if (primary != primary_handles_.end()) return primary->second;
  MutexLock lock(&mutex_);
  const auto created = created_.find(context);
  return created == created_.end() ? nullptr : created->second;
}

void Driver::EndContext(Context& context) {
  context.End();
  const uint64_t id = context.id();
  streams.RemoveIf([id](const Stream& s) { return s.context().id() == id; });
  events.RemoveIf([id](const Event& e) { return e.context_id() == id; });
  for (const auto& module : modules.RemoveIf(
           [id](const Library& m) { return m.context_id() == id; })) {
    WithdrawKernels(*module);
  }
  for (const auto& library : libraries.All()) library->EndContext(id);
  memory.RemoveContext(id);
}

void Driver::PublishKernels(Library& library) {
  for (Library::Entry& entry : library.kernels()) {
    entry.handle = kernels.Add(entry.kernel);
  }
}

void Driver::WithdrawKernels(Library& library) {
  for (const Library::Entry& entry : library.kernels()) {
    kernels.Remove(entry.handle);
  }
}

void Driver::DrainAll() {
  for (const std::shared_ptr<Context>& context : contexts.All()) {
    context->DrainUnlessHeldUp();
  }
}

std::shared_ptr<Context> FindContext(CUcontext handle) {
  if (handle == nullptr) return nullptr;
  if (!stack.empty() && stack.back().handle == handle) {
    CurrentContext& current = stack.back();
    std::shared_ptr<Context> context = current.context.lock();
    if (context != nullptr && context->alive()) return context;
    // A primary context may have come back to life under its old handle.
    current = MakeCurrent(handle);
    return current.context.lock();
  }
  return Driver::Get().contexts.Find(handle);
}

CUcontext CurrentHandle() {
  return stack.empty() ? nullptr : stack.back().handle;
}

void SetCurrent(CUcontext context) {
  if (!stack.empty()) stack.pop_back();
  if (context != nullptr) stack.push_back(MakeCurrent(context));
}

void PushCurrent(CUcontext context) { stack.push_back(MakeCurrent(context)); }

bool PopCurrent(CUcontext* context) {
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
