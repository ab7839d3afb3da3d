// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/driver/api.h"

#include <dlfcn.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

namespace holdfast::conformance {
namespace {

constexpr int kVersion = 13000;

[[noreturn]] void Give(const char* what, const char* why) {
  fprintf(stderr, "driver under test: %s: %s\n", what, why);
  exit(1);
}

const char* LibraryPath() {
  for (const char* variable :
       {"HOLDFAST_DRIVER_LIBRARY", "HOLDFAST_SOFTWARE_DRIVER"}) {
    const char* path = getenv(variable);
    if (path != nullptr && *path != '\0') return path;
  }
  return "libholdfast_software.so";
}

Api Load() {
  const char* path = LibraryPath();
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Give(path, dlerror());
  Api api;
  api.get_proc_address = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(
      dlsym(library, "cuGetProcAddress_v2"));
  if (api.get_proc_address == nullptr) Give(path, "no cuGetProcAddress_v2");
  const auto find = [&api](const char* name) {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status;
    api.get_proc_address(name, &function, kVersion, 0, &status);
    if (function == nullptr) Give(name, "not found");
    return function;
  };
#define HOLDFAST_FUNCTION(name) \
  api.name = reinterpret_cast<decltype(api.name)>(find(#name));
#define HOLDFAST_VERSIONED(name, symbol) \
  api.symbol = reinterpret_cast<decltype(api.symbol)>(find(#name));
#include "tests/conformance/driver/functions.inc"
#undef HOLDFAST_FUNCTION
#undef HOLDFAST_VERSIONED
  return api;
}

}  // namespace

const Api& Cuda() {
  static const Api api = Load();
  return api;
}

const char* Name(CUresult result) {
  const char* name = nullptr;
  Cuda().cuGetErrorName(result, &name);
  return name == nullptr ? "no CUresult" : name;
}

int Attribute(CUdevice_attribute attribute) {
  int value = 0;
  EXPECT_OK(Cuda().cuDeviceGetAttribute(&value, attribute, 0));
  return value;
}

void ContextTest::SetUp() {
  ASSERT_OK(Cuda().cuInit(0));
  ASSERT_OK(Cuda().cuDeviceGet(&device_, 0));
  ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&context_, device_));
  ASSERT_OK(Cuda().cuCtxSetCurrent(context_));
}

void ContextTest::TearDown() {
  EXPECT_OK(Cuda().cuCtxSynchronize_v2(context_));
  EXPECT_OK(Cuda().cuDevicePrimaryCtxRelease_v2(device_));
}

// Host functions may outlive the test's scope: each has its own reference.
struct Gate::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int references = 1;

  void Unref() {
    bool last;
    {
      std::lock_guard lock(mutex);
      last = --references == 0;
    }
    if (last) delete this;
  }

  static void Wait(void* data) {
    auto* state = static_cast<State*>(data);
    {
      std::unique_lock lock(state->mutex);
      state->changed.wait(lock, [state] { return state->open; });
    }
    state->Unref();
  }
};

Gate::Gate() : state_(new State) {}

Gate::~Gate() {
  Open();
  state_->Unref();
}

void Gate::Block(CUstream stream) {
  {
    std::lock_guard lock(state_->mutex);
    ++state_->references;
  }
  EXPECT_OK(Cuda().cuLaunchHostFunc(stream, &State::Wait, state_));
}

void Gate::Open() {
  std::lock_guard lock(state_->mutex);
  state_->open = true;
  state_->changed.notify_all();
}

}  // namespace holdfast::conformance
