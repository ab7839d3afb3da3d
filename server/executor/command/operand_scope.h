// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_OPERAND_SCOPE_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_OPERAND_SCOPE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cuda/event.h"
#include "cuda.h"
#include "holdfast/v1/buffer_commands.pb.h"
#include "server/executor/resources/hold_set.h"

namespace holdfast::cuda {
class Kernel;
}  // namespace holdfast::cuda

namespace holdfast::executor {

class Resources;

// The conditions of a graph by their ids.
using GraphConditions = absl::flat_hash_map<uint32_t, CUgraphConditionalHandle>;

// The value that a node waits for.
struct AwaitedValue {
  // Handle of the semaphore, or of the memory of a ValueBatch.
  uint64_t semaphore = 0;
  uint64_t value = 0;
};

// How a node of a graph uses resources, all of which a HoldSet keeps.
struct NodeUses {
  // The kernel that the node launches.
  const cuda::Kernel* kernel = nullptr;
  // The node's kernel uses memory of another device: (device, owner).
  std::vector<std::pair<uint32_t, uint32_t>> peers;
  // The event that the node records.
  std::shared_ptr<cuda::Event> recorded;
  // The value that the node waits for first, if any.
  std::optional<AwaitedValue> awaited;
  // Bytes that the node copies, and how.
  uint64_t copied_bytes = 0;
  v1::CopyPath copy_path = v1::COPY_PATH_UNSPECIFIED;
};

// How an operation's handles are looked up. The same message is looked up by
// the same code for a stream and for a graph; a graph also keeps what it uses.
struct OperandScope {
  Resources& resources;
  // On which the operation runs.
  uint32_t device = 0;
  // Get what the operation uses. Null: it is for a stream.
  NodeUses* uses = nullptr;
  HoldSet* holds = nullptr;
  // Null: it is for a stream, where there are none.
  const GraphConditions* conditions = nullptr;
};

// Keeps the memory of a buffer, an arena or a semaphore, if the scope is a
// graph's.
absl::Status KeepMemory(const OperandScope& scope, uint64_t handle);

// FAILED_PRECONDITION: the scope's device has no access to memory of `owner`;
// the handle is the memory's. A graph's node notes that it needs the access.
absl::Status CheckPeerAccess(const OperandScope& scope, uint64_t handle,
                             uint32_t owner);

// Looks up an event, and keeps it likewise.
absl::StatusOr<std::shared_ptr<cuda::Event>> ResolveEvent(
    const OperandScope& scope, uint64_t handle);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_OPERAND_SCOPE_H_
