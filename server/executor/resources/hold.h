// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_HOLD_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_HOLD_H_

#include <memory>
#include <optional>
#include <variant>

namespace holdfast::executor {

struct ArenaResource;
struct BufferResource;
struct SemaphoreResource;

// Shared by a buffer, an arena or a semaphore and the graphs that use it. If
// its handle is freed first, the resource moves here, and is freed when the
// last graph releases it; see Resources::Release.
template <typename T>
struct Held {
  std::optional<T> freed;
};

// One kept resource: a buffer, an arena, a semaphore, or an object that needs
// nothing but its destructor once the devices have finished with it.
using Hold = std::variant<
    std::shared_ptr<Held<BufferResource>>, std::shared_ptr<Held<ArenaResource>>,
    std::shared_ptr<Held<SemaphoreResource>>, std::shared_ptr<const void>>;

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_HOLD_H_
