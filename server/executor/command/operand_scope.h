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

// The conditions of a graph, by the ids that the definition gives them.
using GraphConditions = absl::flat_hash_map<uint32_t, CUgraphConditionalHandle>;

// The value that a graph's node, or a stream, waits for.
struct AwaitedValue {
  // The handle of the semaphore, or of the memory of a ValueBatch.
  uint64_t semaphore = 0;
  uint64_t value = 0;
};

// The resources that a node of a graph uses. The HoldSet of the OperandScope
// keeps them alive.
struct NodeUses {
  // The kernel that the node launches; null: none.
  const cuda::Kernel* kernel = nullptr;
  // The uses of another device's memory: (device of the node, owner of the
  // memory).
  std::vector<std::pair<uint32_t, uint32_t>> peers;
  // The event that the node records; null: none.
  std::shared_ptr<cuda::Event> recorded;
  // The value that the node waits for first, if any.
  std::optional<AwaitedValue> awaited;
  // The bytes that the node copies, and the path of the copy.
  uint64_t copied_bytes = 0;
  v1::CopyPath copy_path = v1::COPY_PATH_UNSPECIFIED;
};

// The context in which the handles of an operation are looked up. The same code
// looks up the operands of a message for a stream and for a graph. A graph also
// keeps alive the resources that it uses.
struct OperandScope {
  Resources& resources;
  // The device that runs the operation.
  uint32_t device = 0;
  // Where the resources that the operation uses are noted, and kept alive. Both
  // are null for a stream.
  NodeUses* uses = nullptr;
  HoldSet* holds = nullptr;
  // The graph's conditions. Null for a stream, which has none.
  const GraphConditions* conditions = nullptr;
};

// Keeps the memory of a buffer, an arena or a semaphore alive in scope.holds if
// the scope belongs to a graph; otherwise does nothing. Fails as
// Resources::HoldMemory.
absl::Status KeepMemory(const OperandScope& scope, uint64_t handle);

// Checks that the scope's device may use memory of device `owner`. `handle`
// names the memory in the error. If the scope belongs to a graph, notes the
// needed access in scope.uses. FAILED_PRECONDITION: the device has no access.
absl::Status CheckPeerAccess(const OperandScope& scope, uint64_t handle,
                             uint32_t owner);

// Looks up an event, and keeps it alive in scope.holds if the scope belongs to
// a graph. Fails as HandleTable::Find and CheckPlain do.
absl::StatusOr<std::shared_ptr<cuda::Event>> ResolveEvent(
    const OperandScope& scope, uint64_t handle);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_OPERAND_SCOPE_H_
