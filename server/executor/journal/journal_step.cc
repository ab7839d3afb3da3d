// SPDX-License-Identifier: Apache-2.0
#include "server/executor/journal/journal_step.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/handle.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "proto/command_facts.h"
#include "server/executor/imports/sharing_link.h"
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

// The name of what the step has imported, and where it is mapped.
void AddImport(const ImportedMemory& imported, JournalRecord* record) {
  record->add_imports(imported.import());
  record->add_import_addresses(imported.mapped_address());
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
  if (buffer.imported != nullptr) AddImport(*buffer.imported, record);
}

// The memory of a semaphore or an event, which has a chunk of its own.
template <typename Resource>
void AddMemoryAlone(uint64_t handle, const Resource& resource,
                    JournalRecord* record) {
  if (!resource.allocation.has_value()) return;
  AddPlace(handle, resource.device, *resource.allocation, /*alone=*/true,
           record);
}

void AddSemaphoreMemory(uint64_t handle, Resources& resources,
                        JournalRecord* record) {
  const auto found = resources.semaphores.Find(handle);
  if (!found.ok()) return;
  AddMemoryAlone(handle, **found, record);
  if ((*found)->imported != nullptr) AddImport(*(*found)->imported, record);
}

void AddEventMemory(uint64_t handle, Resources& resources,
                    JournalRecord* record) {
  const auto found = resources.events.Find(handle);
  if (!found.ok()) return;
  AddMemoryAlone(handle, **found, record);
  if ((*found)->imported != nullptr) {
    AddImport((*found)->imported->words(), record);
  }
}

// Collects what a step needs, each handle once. The handles of launches, copies
// and fills, which graphs have by the thousand, are read by name; those of any
// other message by reflection, where every fixed64 is a handle.
class NeededHandles {
 public:
  explicit NeededHandles(JournalRecord* record) : record_(*record) {}

  void Add(uint64_t handle) {
    if (handle == 0) return;
    // A node mostly names what nodes before it have named. Handles of different
    // kinds count up from 0 each.
    uint64_t& recent = recent_[(handle ^ handle >> 56) % recent_.size()];
    if (std::exchange(recent, handle) == handle) return;
    if (seen_.insert(handle).second) record_.add_needs(handle);
  }

  void AddOf(const v1::GraphDefinition& definition) {
    for (const v1::GraphNode& node : definition.nodes()) AddOf(node);
  }

  void AddOf(const v1::GraphNode& node) {
    switch (node.operation_case()) {
      case v1::GraphNode::kLaunch:
        return AddOf(node.launch());
      case v1::GraphNode::kCopy:
        Add(node.copy().destination());
        return Add(node.copy().source());
      case v1::GraphNode::kFill:
        return Add(node.fill().buffer());
      case v1::GraphNode::kChild:
        return AddOf(node.child());
      case v1::GraphNode::kEmpty:
        return;
      default:
        return Reflect(node);
    }
  }

 private:
  void AddOf(const v1::Launch& launch) {
    Add(launch.kernel());
    for (const v1::Argument& argument : launch.arguments()) {
      if (argument.has_buffer()) {
        Add(argument.buffer().buffer());
      } else {
        Add(argument.texture());
        Add(argument.surface());
        Add(argument.tensor_map());
      }
    }
    for (const v1::LaunchAttribute& attribute : launch.attributes()) {
      Reflect(attribute);
    }
  }

  void Reflect(const google::protobuf::Message& message) {
    using Field = google::protobuf::FieldDescriptor;
    const auto& reflection = *message.GetReflection();
    std::vector<const Field*> fields;
    reflection.ListFields(message, &fields);
    for (const Field* field : fields) {
      const int count =
          field->is_repeated() ? reflection.FieldSize(message, field) : 0;
      if (field->type() == Field::TYPE_FIXED64) {
        if (!field->is_repeated()) {
          Add(reflection.GetUInt64(message, field));
        }
        for (int i = 0; i < count; ++i) {
          Add(reflection.GetRepeatedUInt64(message, field, i));
        }
      } else if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
        if (!field->is_repeated()) {
          Reflect(reflection.GetMessage(message, field));
        }
        for (int i = 0; i < count; ++i) {
          Reflect(reflection.GetRepeatedMessage(message, field, i));
        }
      }
    }
  }

  JournalRecord& record_;
  std::array<uint64_t, 8> recent_ = {};
  absl::flat_hash_set<uint64_t> seen_;
};

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
// has let go since. Nodes stay enabled or disabled, by a key apart. A step
// of several nodes has the keys of all of them (journal/live_records.h).
std::string KeyOf(const v1::UpdateGraphExec& command) {
  const uint64_t exec = command.graph_exec();
  if (!command.has_nodes()) return absl::StrCat("update ", exec);
  if (command.nodes().nodes_size() > 1) {
    return absl::StrCat(
        "update ", exec, "/{",
        absl::StrJoin(command.nodes().nodes(), ",",
                      [](std::string* to, const v1::GraphNodeUpdate& update) {
                        absl::StrAppend(to, update.id());
                      }),
        "}");
  }
  const v1::GraphNodeUpdate& update = command.nodes().nodes(0);
  std::string key =
      absl::StrCat(update.has_node() ? "update " : "enabled ", exec);
  for (const uint32_t id : update.within()) absl::StrAppend(&key, "/", id);
  absl::StrAppend(&key, "/", update.id());
  return key;
}

// Adds the facts of a step besides the command and the handle that the command
// makes or changes: an overload for each command that makes or changes a
// resource.
void Describe(const v1::CreateStream&, Resources&, JournalRecord*) {}

void Describe(const v1::CreateEvent& command, Resources& resources,
              JournalRecord* record) {
  AddEventMemory(command.event(), resources, record);
}

void Describe(const v1::AllocateBuffer& command, Resources& resources,
              JournalRecord* record) {
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

void Describe(const v1::CreateSubBuffer& command, Resources&,
              JournalRecord* record) {
  record->set_ends_with(command.parent());
}

// The addresses stand where an import's stand: a successor reserves the same.
void Describe(const v1::ReserveAddresses& command, Resources& resources,
              JournalRecord* record) {
  const auto found = resources.buffers.Find(command.buffer());
  if (found.ok()) record->add_import_addresses((*found)->address);
}

void Describe(const v1::MapBuffer& command, Resources&, JournalRecord* record) {
  record->set_ends_with(command.buffer());
  record->add_needs(command.source());
}

void Describe(const v1::LoadModule&, Resources&, JournalRecord*) {}

void Describe(const v1::GetKernel& command, Resources&, JournalRecord* record) {
  record->set_ends_with(command.module());
}

void Describe(const v1::SetKernelAttribute& command, Resources&,
              JournalRecord* record) {
  record->set_key(KeyOf(command));
}

void Describe(const v1::GetGlobal& command, Resources&, JournalRecord* record) {
  record->set_ends_with(command.module());
}

void Describe(const v1::SetDeviceLimit& command, Resources&,
              JournalRecord* record) {
  record->set_key(
      absl::StrCat("limit ", command.device(), " ", command.limit()));
}

void Describe(const v1::EnablePeerAccess& command, Resources&,
              JournalRecord* record) {
  record->set_key(PeerKeyOf(command));
}

void Describe(const v1::DisablePeerAccess& command, Resources&,
              JournalRecord* record) {
  record->set_key(PeerKeyOf(command));
}

// The graph's own allocations are buffers that begin with it.
void Describe(const v1::CreateGraph& command, Resources& resources,
              JournalRecord* record) {
  for (const v1::GraphNode& node : command.definition().nodes()) {
    const uint64_t buffer = node.allocation().buffer();
    if (buffer == 0 || !resources.buffers.Contains(buffer)) continue;
    record->add_creates(buffer);
    AddMemory(buffer, resources, record);
  }
  NeededHandles(record).AddOf(command.definition());
}

void Describe(const v1::CloneGraph& command, Resources&,
              JournalRecord* record) {
  record->add_needs(command.source());
}

void Describe(const v1::InstantiateGraph& command, Resources&,
              JournalRecord* record) {
  record->add_needs(command.graph());
}

void Describe(const v1::UpdateGraphExec& command, Resources&,
              JournalRecord* record) {
  record->set_key(KeyOf(command));
  NeededHandles needed(record);
  needed.Add(command.graph_exec());
  needed.Add(command.graph());
  for (const v1::GraphNodeUpdate& update : command.nodes().nodes()) {
    needed.AddOf(update.node());
  }
}

void Describe(const v1::CreateSemaphore& command, Resources& resources,
              JournalRecord* record) {
  AddSemaphoreMemory(command.semaphore(), resources, record);
}

void Describe(const v1::ImportResource& command, Resources& resources,
              JournalRecord* record) {
  const uint64_t handle = command.resource();
  if (command.has_memory()) {
    return CannotReturn(
        "it was memory of a process outside Holdfast; import it anew", record);
  }
  if (Handle::Unpack(handle).kind == HandleKind::kSemaphore) {
    return AddSemaphoreMemory(handle, resources, record);
  }
  if (Handle::Unpack(handle).kind == HandleKind::kEvent) {
    return AddEventMemory(handle, resources, record);
  }
  AddMemory(handle, resources, record);
}

void Describe(const v1::OpenCollection& command, Resources& resources,
              JournalRecord* record) {
  for (const uint64_t buffer : command.buffers()) {
    record->add_creates(buffer);
    AddMemory(buffer, resources, record);
  }
}

// Fills in all but the command itself. A command that makes or changes a
// resource does not compile without its Describe.
template <CommandEffect kEffect, typename Message>
void AddEffect(const Message& command, uint64_t resource, Resources& resources,
               JournalRecord* record) {
  if constexpr (kEffect == CommandEffect::kMakes) {
    if (resource != 0) record->add_creates(resource);
    Describe(command, resources, record);
  } else if constexpr (kEffect == CommandEffect::kChanges) {
    record->set_ends_with(resource);
    Describe(command, resources, record);
  } else if constexpr (kEffect != CommandEffect::kNone) {
    record->set_destroys(resource);
  }
}

// Makes `record` the step of a command but for the command itself.
void SetStepWithoutCommand(const v1::Command& command, Resources& resources,
                           JournalRecord* record) {
  record->Clear();
  switch (command.operation_case()) {
#define HOLDFAST_COMMAND(field, Message, outcome, length, work, room, effect, \
                         resource, node)                                      \
  case v1::Command::k##Message: {                                             \
    [[maybe_unused]] const v1::Message& m = command.field();                  \
    return AddEffect<CommandEffect::effect>(m, resource, resources, record);  \
  }
#include "proto/commands.inc"
    default:
      return;
  }
}

// Makes `record` the step of a command, which it only refers to: a command may
// have 4 MiB, and is written once. REQUIRES: `record` is in an arena, which
// does not end what it refers to.
void SetStep(const v1::Command& command, Resources& resources,
             JournalRecord* record) {
  SetStepWithoutCommand(command, resources, record);
  if (record->has_error()) return;
  record->unsafe_arena_set_allocated_command(
      const_cast<v1::Command*>(&command));
}

}  // namespace

void VisitSteps(const v1::Command& command, Resources& resources, StepForm form,
                google::protobuf::Arena& arena,
                absl::FunctionRef<void(const JournalRecord& step)> visit) {
  using google::protobuf::Arena;
  const v1::UpdateGraphExec& update_of = command.update_graph_exec();
  const auto& updates = update_of.nodes().nodes();
  if (update_of.has_nodes() && updates.empty()) return;
  auto& record = *Arena::CreateMessage<JournalRecord>(&arena);
  if (form == StepForm::kOneWithoutCommand) {
    SetStepWithoutCommand(command, resources, &record);
    return visit(record);
  }
  if (form == StepForm::kOne || updates.size() <= 1) {
    SetStep(command, resources, &record);
    visit(record);
    record.unsafe_arena_release_command();
    return;
  }
  auto& part = *Arena::CreateMessage<v1::Command>(&arena);
  v1::UpdateGraphExec& change = *part.mutable_update_graph_exec();
  change.set_graph_exec(update_of.graph_exec());
  auto& only = *change.mutable_nodes()->mutable_nodes();
  for (const v1::GraphNodeUpdate& update : updates) {
    only.UnsafeArenaAddAllocated(const_cast<v1::GraphNodeUpdate*>(&update));
    SetStep(part, resources, &record);
    visit(record);
    record.unsafe_arena_release_command();
    only.UnsafeArenaReleaseLast();
  }
}

}  // namespace holdfast::executor
