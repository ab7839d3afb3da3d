// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/driver.h"

#include <utility>
#include <vector>

namespace holdfast::software {
namespace {

// The pointer keeps a lookup off the way of most calls.
struct CurrentContext {
  CUcontext handle = nullptr;
  std::weak_ptr<Context> context;
};

thread_local std::vector<CurrentContext> stack;
thread_local bool per_thread_default = false;
thread_local bool in_host_function = false;

CurrentContext MakeCurrent(CUcontext handle) {
  return {handle, Driver::Get().contexts.Find(handle)};
}

}  // namespace

Driver& Driver::Get() {
  static Driver& driver = *new Driver;
  return driver;
}

Driver::Driver()
    : device_(0, GetSettings()), primary_handle_((CUcontext)NewHandleValue()) {
  default_pool_ = pools.Add(std::make_shared<MemoryPool>(device_.memory(), 0));
  current_pool = default_pool_;
}

Device* Driver::FindDevice(CUdevice ordinal) {
  return ordinal == device_.ordinal() ? &device_ : nullptr;
}

void Driver::AddReservation(std::unique_ptr<AddressRange> range) {
  std::lock_guard lock(mutex_);
  const uintptr_t address = range->address();
  reservations_[address] = std::move(range);
}

std::unique_ptr<AddressRange> Driver::RemoveReservation(uintptr_t address,
                                                        size_t size) {
  std::lock_guard lock(mutex_);
  const auto it = reservations_.find(address);
  if (it == reservations_.end() || it->second->size() != size) return nullptr;
  std::unique_ptr<AddressRange> range = std::move(it->second);
  reservations_.erase(it);
  return range;
}

bool Driver::IsReserved(uintptr_t address, size_t size) {
  std::lock_guard lock(mutex_);
  auto it = reservations_.upper_bound(address);
  if (it == reservations_.begin()) return false;
  --it;
  const AddressRange& range = *it->second;
  const size_t offset = address - range.address();
  return offset < range.size() && size <= range.size() - offset;
}

CUcontext Driver::RetainPrimary() {
  std::lock_guard lock(primary_mutex_);
  if (primary_ == nullptr) {
    primary_ = std::make_shared<Context>(device_, primary_flags_);
    primary_->set_handle(primary_handle_);
    contexts.AddAs(primary_handle_, primary_);
  }
  ++primary_references_;
  return primary_handle_;
}

CUresult Driver::ReleasePrimary() {
  {
    std::lock_guard lock(primary_mutex_);
    if (primary_references_ == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary_references_ > 0) return CUDA_SUCCESS;
  }
  ResetPrimary();
  return CUDA_SUCCESS;
}

void Driver::ResetPrimary() {
  std::shared_ptr<Context> ended;
  {
    std::lock_guard lock(primary_mutex_);
    ended.swap(primary_);
    primary_references_ = 0;
    if (ended != nullptr) contexts.Remove(primary_handle_);
  }
  if (ended != nullptr) EndContext(*ended);
}

bool Driver::PrimaryActive() {
  std::lock_guard lock(primary_mutex_);
  return primary_ != nullptr;
}

CUresult Driver::SetPrimaryFlags(unsigned flags) {
  if ((flags & ~CU_CTX_FLAGS_MASK) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(primary_mutex_);
  primary_flags_ = flags;
  if (primary_ != nullptr) primary_->flags() = flags;
  return CUDA_SUCCESS;
}

unsigned Driver::PrimaryFlags() {
  std::lock_guard lock(primary_mutex_);
  return primary_flags_;
}

bool Driver::IsPrimary(CUcontext context) const {
  return context == primary_handle_;
}

std::shared_ptr<Context> Driver::CreateContext(unsigned flags) {
  auto context = std::make_shared<Context>(device_, flags);
  context->set_handle(contexts.Add(context));
  return context;
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
    context->Synchronize();
  }
}

std::shared_ptr<Context> FindContext(CUcontext handle) {
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

HostFunctionScope::HostFunctionScope() { in_host_function = true; }
HostFunctionScope::~HostFunctionScope() { in_host_function = false; }
bool HostFunctionScope::Active() { return in_host_function; }

}  // namespace holdfast::software
