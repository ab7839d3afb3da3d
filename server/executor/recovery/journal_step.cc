// SPDX-License-Identifier: Apache-2.0
#include "server/executor/recovery/journal_step.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/handle.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "server/executor/sharing/sharing_link.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

using internal::JournalRecord;

// The handle is in error for a successor.
void CannotReturn(const char* why, JournalRecord* record) {
  *record->mutable_error() = ToError(absl::DataLossError(why));
}

void AddPlace(uint64_t handle, uint32_t device,
              const memory::Allocation& allocation, bool alone,
              JournalRecord* record) {
  internal::Placement& placement = *record->add_placements();
  placement.set_handle(handle);
  placement.set_chunk(ChunkName(device, allocation.block.span));
  placement.set_offset(allocation.block.offset);
  placement.set_size(allocation.block.size);
  placement.set_alone(alone);
}

// Where the buffer's memory lies, or the name of what it has imported.
void AddMemory(uint64_t handle, Resources& resources, JournalRecord* record) {
  const auto found = resources.buffers.Find(handle);
  if (!found.ok()) return;
  const BufferResource& buffer = **found;
  if (buffer.allocation.has_value()) {
    AddPlace(handle, buffer.device, *buffer.allocation,
             buffer.sharing == v1::SHARING_EXPORT, record);
  }
  if (buffer.imported != nullptr) {
    record->add_imports(buffer.imported->import());
  }
}

void DescribeBuffer(const v1::AllocateBuffer& command, Resources& resources,
                    JournalRecord* record) {
  record->add_creates(command.buffer());
  if (command.has_host() && command.size() > 0) {
    return CannotReturn(
        "its page-locked memory was that of the executor that died", record);
  }
  if (command.sharing() == v1::SHARING_IPC) {
    return CannotReturn(
        "its memory was made for an IPC handle, and ended with the executor "
        "that died",
        record);
  }
  AddMemory(command.buffer(), resources, record);
}

void DescribeSemaphore(uint64_t handle, Resources& resources,
                       JournalRecord* record) {
  record->add_creates(handle);
  const auto found = resources.semaphores.Find(handle);
  if (!found.ok()) return;
  if ((*found)->allocation.has_value()) {
    AddPlace(handle, (*found)->device, *(*found)->allocation, /*alone=*/true,
             record);
  }
  if ((*found)->imported != nullptr) {
    record->add_imports((*found)->imported->import());
  }
}

void DescribeEvent(uint64_t handle, Resources& resources,
                   JournalRecord* record) {
  record->add_creates(handle);
  const auto found = resources.events.Find(handle);
  if (!found.ok()) return;
  if ((*found)->allocation.has_value()) {
    AddPlace(handle, (*found)->device, *(*found)->allocation, /*alone=*/true,
             record);
  }
  if ((*found)->imported != nullptr) {
    record->add_imports((*found)->imported->words().import());
  }
}

void DescribeImport(const v1::ImportResource& command, Resources& resources,
                    JournalRecord* record) {
  const uint64_t handle = command.resource();
  if (command.has_memory()) {
    record->add_creates(handle);
    return CannotReturn(
        "it was memory of a process outside Holdfast; import it anew", record);
  }
  if (command.has_event_handle()) {
    record->add_creates(handle);
    return CannotReturn(
        "it was an event of a process outside Holdfast; import it anew",
        record);
  }
  if (Handle::Unpack(handle).kind == HandleKind::kSemaphore) {
    return DescribeSemaphore(handle, resources, record);
  }
  if (Handle::Unpack(handle).kind == HandleKind::kEvent) {
    return DescribeEvent(handle, resources, record);
  }
  record->add_creates(handle);
  AddMemory(handle, resources, record);
}

// Every fixed64 of a command is a handle.
void AddHandles(const google::protobuf::Message& message,
                JournalRecord* record) {
  using Field = google::protobuf::FieldDescriptor;
  const auto& reflection = *message.GetReflection();
  std::vector<const Field*> fields;
  reflection.ListFields(message, &fields);
  for (const Field* field : fields) {
    const int count =
        field->is_repeated() ? reflection.FieldSize(message, field) : 0;
    if (field->type() == Field::TYPE_FIXED64) {
      if (!field->is_repeated()) {
        record->add_needs(reflection.GetUInt64(message, field));
      }
      for (int i = 0; i < count; ++i) {
        record->add_needs(reflection.GetRepeatedUInt64(message, field, i));
      }
    } else if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) {
        AddHandles(reflection.GetMessage(message, field), record);
      }
      for (int i = 0; i < count; ++i) {
        AddHandles(reflection.GetRepeatedMessage(message, field, i), record);
      }
    }
  }
}

// The graph's own allocations are buffers that begin with it.
void DescribeGraph(const v1::CreateGraph& command, Resources& resources,
                   JournalRecord* record) {
  record->add_creates(command.graph());
  for (const v1::GraphNode& node : command.definition().nodes()) {
    const uint64_t buffer = node.allocation().buffer();
    if (buffer == 0 || !resources.buffers.Contains(buffer)) continue;
    record->add_creates(buffer);
    AddMemory(buffer, resources, record);
  }
  AddHandles(command.definition(), record);
}

std::string KeyOf(const v1::SetKernelAttribute& command) {
  return absl::StrCat("attribute ", command.kernel(), " ", command.device(),
                      " ", command.attribute());
}

template <typename Command>
std::string PeerKeyOf(const Command& command) {
  return absl::StrCat("peer ", command.device(), " ", command.peer());
}

// A whole update has the key above those of the nodes' parameters, which it
// replaces: an earlier update of a node would hold resources that the instance
// has let go since. What is enabled stays as it is and has a key apart.
std::string KeyOf(const v1::UpdateGraphExec& command) {
  const uint64_t exec = command.graph_exec();
  if (!command.has_nodes()) return absl::StrCat("update ", exec);
  const v1::GraphNodeUpdate& update = command.nodes().nodes(0);
  std::string key =
      absl::StrCat(update.has_node() ? "update " : "enabled ", exec);
  for (const uint32_t id : update.within()) absl::StrAppend(&key, "/", id);
  absl::StrAppend(&key, "/", update.id());
  return key;
}

void DescribeUpdate(const v1::UpdateGraphExec& command, JournalRecord* record) {
  record->set_ends_with(command.graph_exec());
  record->set_key(KeyOf(command));
  AddHandles(command, record);
}

// Fills in all but the command itself.
void Describe(const v1::Command& command, Resources& resources,
              JournalRecord* record) {
  switch (command.operation_case()) {
    case v1::Command::kCreateStream:
      return record->add_creates(command.create_stream().stream());
    case v1::Command::kCreateEvent:
      return DescribeEvent(command.create_event().event(), resources, record);
    case v1::Command::kAllocateBuffer:
      return DescribeBuffer(command.allocate_buffer(), resources, record);
    case v1::Command::kCreateSubBuffer:
      record->add_creates(command.create_sub_buffer().buffer());
      return record->set_ends_with(command.create_sub_buffer().parent());
    case v1::Command::kLoadModule:
      return record->add_creates(command.load_module().module());
    case v1::Command::kGetKernel:
      record->add_creates(command.get_kernel().kernel());
      return record->set_ends_with(command.get_kernel().module());
    case v1::Command::kSetKernelAttribute:
      record->set_ends_with(command.set_kernel_attribute().kernel());
      return record->set_key(KeyOf(command.set_kernel_attribute()));
    case v1::Command::kGetGlobal:
      record->add_creates(command.get_global().buffer());
      record->set_ends_with(command.get_global().module());
      return CannotReturn(
          "it is a variable of a module, which has its first value again; "
          "get it anew",
          record);
    case v1::Command::kEnablePeerAccess:
      return record->set_key(PeerKeyOf(command.enable_peer_access()));
    case v1::Command::kDisablePeerAccess:
      return record->set_key(PeerKeyOf(command.disable_peer_access()));
    case v1::Command::kCreateGraph:
      return DescribeGraph(command.create_graph(), resources, record);
    case v1::Command::kCloneGraph:
      record->add_creates(command.clone_graph().graph());
      return record->add_needs(command.clone_graph().source());
    case v1::Command::kInstantiateGraph:
      record->add_creates(command.instantiate_graph().graph_exec());
      return record->add_needs(command.instantiate_graph().graph());
    case v1::Command::kUpdateGraphExec:
      return DescribeUpdate(command.update_graph_exec(), record);
    case v1::Command::kCreateSemaphore:
      return DescribeSemaphore(command.create_semaphore().semaphore(),
                               resources, record);
    case v1::Command::kImportResource:
      return DescribeImport(command.import_resource(), resources, record);
    case v1::Command::kOpenCollection:
      for (const uint64_t buffer : command.open_collection().buffers()) {
        record->add_creates(buffer);
        AddMemory(buffer, resources, record);
      }
      return;
    default:
      return;
  }
}

const JournalRecord& StepOf(const v1::Command& command, Resources& resources,
                            google::protobuf::Arena& arena) {
  auto& record = *google::protobuf::Arena::CreateMessage<JournalRecord>(&arena);
  record.set_destroys(EndedBy(command));
  Describe(command, resources, &record);
  if (!record.has_error()) *record.mutable_command() = command;
  return record;
}

}  // namespace

bool IsJournaled(const v1::Command& command) {
  switch (command.operation_case()) {
    case v1::Command::kCreateStream:
    case v1::Command::kDestroyStream:
    case v1::Command::kCreateEvent:
    case v1::Command::kDestroyEvent:
    case v1::Command::kAllocateBuffer:
    case v1::Command::kFreeBuffer:
    case v1::Command::kCreateSubBuffer:
    case v1::Command::kFreeArena:
    case v1::Command::kLoadModule:
    case v1::Command::kUnloadModule:
    case v1::Command::kGetKernel:
    case v1::Command::kSetKernelAttribute:
    case v1::Command::kGetGlobal:
    case v1::Command::kEnablePeerAccess:
    case v1::Command::kDisablePeerAccess:
    case v1::Command::kCreateGraph:
    case v1::Command::kCloneGraph:
    case v1::Command::kDestroyGraph:
    case v1::Command::kInstantiateGraph:
    case v1::Command::kUpdateGraphExec:
    case v1::Command::kDestroyGraphExec:
    case v1::Command::kCreateSemaphore:
    case v1::Command::kDestroySemaphore:
    case v1::Command::kImportResource:
    case v1::Command::kOpenCollection:
      return true;
    default:
      return false;
  }
}

uint64_t EndedBy(const v1::Command& command) {
  switch (command.operation_case()) {
    case v1::Command::kDestroyStream:
      return command.destroy_stream().stream();
    case v1::Command::kDestroyEvent:
      return command.destroy_event().event();
    case v1::Command::kFreeBuffer:
      return command.free_buffer().buffer();
    case v1::Command::kFreeArena:
      return command.free_arena().arena();
    case v1::Command::kUnloadModule:
      return command.unload_module().module();
    case v1::Command::kDestroyGraph:
      return command.destroy_graph().graph();
    case v1::Command::kDestroyGraphExec:
      return command.destroy_graph_exec().graph_exec();
    case v1::Command::kDestroySemaphore:
      return command.destroy_semaphore().semaphore();
    default:
      return 0;
  }
}

void VisitSteps(const v1::Command& command, Resources& resources,
                google::protobuf::Arena& arena,
                absl::FunctionRef<void(const JournalRecord& step)> visit) {
  const v1::UpdateGraphExec& update_of = command.update_graph_exec();
  const auto& updates = update_of.nodes().nodes();
  if (update_of.has_nodes() && updates.empty()) return;
  if (updates.size() <= 1) return visit(StepOf(command, resources, arena));
  for (const v1::GraphNodeUpdate& update : updates) {
    auto& part = *google::protobuf::Arena::CreateMessage<v1::Command>(&arena);
    v1::UpdateGraphExec& change = *part.mutable_update_graph_exec();
    change.set_graph_exec(update_of.graph_exec());
    *change.mutable_nodes()->add_nodes() = update;
    visit(StepOf(part, resources, arena));
  }
}

}  // namespace holdfast::executor
