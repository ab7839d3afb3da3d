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

// Shared by a resource (a buffer, an arena or a semaphore) and the graphs that
// use it. If the handle of the resource is freed first, the resource moves into
// `freed`, and ends when the last graph releases it; see Resources::Release.
template <typename T>
struct Held {
  std::optional<T> freed;
};

// A share in one resource that a graph keeps alive: a buffer, an arena, a
// semaphore, or an object that needs nothing but its destructor once the
// devices have finished with it. A hold that outlives the command that has made
// it must be given up with Resources::Release.
using Hold = std::variant<
    std::shared_ptr<Held<BufferResource>>, std::shared_ptr<Held<ArenaResource>>,
    std::shared_ptr<Held<SemaphoreResource>>, std::shared_ptr<const void>>;

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_HOLD_H_
