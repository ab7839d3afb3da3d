// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/graph_condition.h"

#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {
namespace {

// Living conditions by their handles, which client code makes up as it likes.
struct Conditions {
  SharedMutex mutex;
  std::unordered_map<uint64_t, std::atomic<uint32_t>*> values
      ABSL_GUARDED_BY(mutex);

  static Conditions& Get() {
    static Conditions& conditions = *new Conditions;
    return conditions;
  }
};

}  // namespace

GraphCondition::GraphCondition(uint64_t handle, uint32_t initial, bool assign)
    : handle_(handle), initial_(initial), assign_(assign), value_(initial) {
  Conditions& conditions = Conditions::Get();
  WriterMutexLock lock(&conditions.mutex);
  conditions.values[handle_] = &value_;
}

GraphCondition::~GraphCondition() {
  Conditions& conditions = Conditions::Get();
  WriterMutexLock lock(&conditions.mutex);
  conditions.values.erase(handle_);
}

bool GraphCondition::Set(uint64_t handle, uint32_t value) {
  Conditions& conditions = Conditions::Get();
  ReaderMutexLock lock(&conditions.mutex);
  const auto it = conditions.values.find(handle);
  if (it == conditions.values.end()) return false;
  *it->second = value;
  return true;
}

}  // namespace holdfast::software
