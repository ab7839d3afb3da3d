// SPDX-License-Identifier: Apache-2.0
//
// The commands of collection_commands.proto. A commit takes the right to write
// from this process first, so that no byte changes once the supervisor has the
// version; if it refuses, the right comes back. A buffer that sleeps keeps its
// addresses in this process and its name with the supervisor, and no memory.
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/imports/imported_memory.h"
#include "server/executor/sharing/reopen.h"

namespace holdfast::executor {
namespace {

absl::Status CheckHasBuffers(const std::string& name, int buffers) {
  if (buffers > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("collection \"", name, "\" without a buffer"));
}

// Streams that are destroyed go on with what they were given.
absl::Status CheckIdle(Resources& resources) {
  absl::Status status;
  HOLDFAST_ASSIGN_OR_RETURN(const bool done,
                            resources.stream_work().destroyed().AreDone());
  if (!done) {
    return absl::FailedPreconditionError(
        "a stream that was destroyed has work left: try again");
  }
  resources.streams.ForEach([&](const StreamResource& stream) {
    const auto idle = stream.stream->Query();
    if (!idle.ok()) {
      status.Update(idle.status());
    } else if (!*idle) {
      status.Update(absl::FailedPreconditionError(
          absl::StrCat("a stream of device ", stream.device,
                       " has work left: synchronize first")));
    }
  });
  return status;
}

absl::StatusOr<internal::CommittedBuffer> Place(Resources& resources,
                                                uint64_t handle) {
  HOLDFAST_ASSIGN_OR_RETURN(const BufferResource* buffer,
                            resources.buffers.Find(handle));
  internal::CommittedBuffer place;
  if (buffer->parent == 0 && buffer->imported != nullptr) {
    place.set_import(buffer->imported->import());
  } else if (buffer->parent == 0 && buffer->sharing == v1::SHARING_EXPORT) {
    place.set_chunk(ChunkName(buffer->device, buffer->allocation->block.span));
    place.set_size(buffer->size);
  } else {
    return absl::FailedPreconditionError(absl::StrCat(
        DescribeHandle(handle), " was not allocated with SHARING_EXPORT, as ",
        "Device::AllocateShared and hf_buffer_allocate_shared "
        "do, or is a part"));
  }
  return place;
}

void MarkReadOnly(Resources& resources, BufferResource& buffer,
                  bool read_only) {
  buffer.read_only = read_only;
  for (const uint64_t handle : buffer.views) {
    const auto view = resources.buffers.Find(handle);
    if (view.ok()) MarkReadOnly(resources, **view, read_only);
  }
}

// Those of a commit's buffers that this session could write to until then.
// Gives the right back, unless the commit succeeds.
class Protection {
 public:
  explicit Protection(Resources& resources) : resources_(resources) {}
  ~Protection() {
    for (const uint64_t handle : handles_) (void)Set(handle, true);
  }
  Protection(const Protection&) = delete;
  Protection& operator=(const Protection&) = delete;

  absl::Status Add(uint64_t handle) {
    HOLDFAST_ASSIGN_OR_RETURN(const BufferResource* buffer,
                              resources_.buffers.Find(handle));
    if (buffer->read_only) return absl::OkStatus();
    if (!buffer->allocation.has_value()) {
      return absl::FailedPreconditionError(absl::StrCat(
          DescribeHandle(handle),
          " was imported with RIGHTS_READ_WRITE: the session that made it can "
          "change it after the commit"));
    }
    handles_.push_back(handle);
    return Set(handle, false);
  }
  void Keep() { handles_.clear(); }

 private:
  absl::Status Set(uint64_t handle, bool writable) {
    HOLDFAST_ASSIGN_OR_RETURN(BufferResource * buffer,
                              resources_.buffers.Find(handle));
    HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                              resources_.devices.Open(buffer->device));
    MarkReadOnly(resources_, *buffer, !writable);
    return device->allocator->SetWritable(*buffer->allocation, writable);
  }

  Resources& resources_;
  std::vector<uint64_t> handles_;
};

absl::Status CheckNewHandles(Resources& resources,
                             const v1::OpenCollection& command) {
  std::unordered_set<uint64_t> handles;
  for (const uint64_t handle : command.buffers()) {
    HOLDFAST_RETURN_IF_ERROR(resources.buffers.CheckNew(handle));
    if (!handles.insert(handle).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(DescribeHandle(handle), " stands there twice"));
    }
  }
  return absl::OkStatus();
}

template <typename Command>
absl::Status CheckCount(const Command& command,
                        const v1::CollectionVersion& version) {
  if (command.buffers_size() == version.buffer_sizes_size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("version ", version.version(), " of collection \"",
                   command.name(), "\" has ", version.buffer_sizes_size(),
                   " buffers, the command ", command.buffers_size()));
}

// Tells the supervisor that the version of this buffer is mapped whole: until
// then it was not read, and does not go when this attempt fails.
absl::Status NoteRead(Resources& resources, const ImportedMemory& buffer) {
  internal::SharingRequest request;
  request.set_read(buffer.import());
  return resources.sharing().ask(request, -1).status();
}

// Maps every buffer of one version, which is the first one's.
absl::StatusOr<std::vector<BufferResource>> MapVersion(
    Resources& resources, const v1::OpenCollection& command,
    v1::CollectionVersion* version) {
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(command.device()));
  std::vector<BufferResource> buffers;
  internal::SharingRequest request;
  internal::OpenRequest& open = *request.mutable_open();
  open.set_name(command.name());
  open.set_version(command.version());
  do {
    open.set_buffer(static_cast<uint32_t>(buffers.size()));
    HOLDFAST_ASSIGN_OR_RETURN(SharingAnswer answer,
                              resources.sharing().ask(request, -1));
    *version = answer.reply.collection();
    open.set_version(version->version());
    BufferResource buffer;
    HOLDFAST_ASSIGN_OR_RETURN(
        buffer.imported,
        ImportedMemory::Map(device->context, {device->allocator->addresses()},
                            std::move(answer), resources.sharing().released));
    HOLDFAST_RETURN_IF_ERROR(CheckCount(command, *version));
    buffer.address = buffer.imported->address();
    buffer.size = buffer.imported->size();
    buffer.read_only = true;
    buffer.device = command.device();
    buffers.push_back(std::move(buffer));
  } while (buffers.size() < static_cast<size_t>(command.buffers_size()));
  HOLDFAST_RETURN_IF_ERROR(NoteRead(resources, *buffers.front().imported));
  return buffers;
}

// Buffers that OpenCollection has made, perhaps; the supervisor knows for sure.
absl::StatusOr<std::vector<ImportedMemory*>> Opened(
    Resources& resources,
    const google::protobuf::RepeatedField<uint64_t>& handles) {
  std::vector<ImportedMemory*> opened;
  for (const uint64_t handle : handles) {
    HOLDFAST_ASSIGN_OR_RETURN(const BufferResource* buffer,
                              resources.buffers.Find(handle));
    if (buffer->parent != 0 || buffer->imported == nullptr ||
        buffer->imported->import() == 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          DescribeHandle(handle), " was not opened of a collection"));
    }
    opened.push_back(buffer->imported.get());
  }
  return opened;
}

absl::Status Sleep(Resources& resources, ImportedMemory& memory) {
  internal::SharingRequest request;
  request.set_sleep(memory.import());
  HOLDFAST_RETURN_IF_ERROR(resources.sharing().ask(request, -1).status());
  memory.Sleep();
  return absl::OkStatus();
}

// Memory that was woken, which goes to sleep again unless all of a version was.
class Woken {
 public:
  explicit Woken(Resources& resources) : resources_(resources) {}
  ~Woken() {
    for (ImportedMemory* const memory : memory_) {
      Sleep(resources_, *memory).IgnoreError();
    }
  }
  Woken(const Woken&) = delete;
  Woken& operator=(const Woken&) = delete;

  // Returns the version that `open` means.
  absl::StatusOr<v1::CollectionVersion> Add(ImportedMemory& memory,
                                            const internal::OpenRequest& open) {
    internal::SharingRequest request;
    request.mutable_wake()->set_import(memory.import());
    *request.mutable_wake()->mutable_open() = open;
    HOLDFAST_ASSIGN_OR_RETURN(SharingAnswer answer,
                              resources_.sharing().ask(request, -1));
    memory_.push_back(&memory);
    HOLDFAST_RETURN_IF_ERROR(memory.Wake(std::move(answer.descriptor)));
    return std::move(*answer.reply.mutable_collection());
  }
  void Keep() { memory_.clear(); }

 private:
  Resources& resources_;
  std::vector<ImportedMemory*> memory_;
};

}  // namespace

absl::Status Handle(const CommandContext& context,
                    const v1::SleepCollection& command) {
  Resources& resources = context.resources;
  HOLDFAST_RETURN_IF_ERROR(CheckIdle(resources));
  HOLDFAST_ASSIGN_OR_RETURN(const auto opened,
                            Opened(resources, command.buffers()));
  for (ImportedMemory* const memory : opened) {
    if (memory->asleep()) continue;
    HOLDFAST_RETURN_IF_ERROR(Sleep(resources, *memory));
  }
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::WakeCollection& command) {
  Resources& resources = context.resources;
  HOLDFAST_RETURN_IF_ERROR(
      CheckHasBuffers(command.name(), command.buffers_size()));
  HOLDFAST_ASSIGN_OR_RETURN(const auto opened,
                            Opened(resources, command.buffers()));
  Woken woken(resources);
  v1::Result result;
  v1::CollectionVersion& version = *result.mutable_collection();
  internal::OpenRequest open;
  open.set_name(command.name());
  open.set_version(command.version());
  for (size_t i = 0; i < opened.size(); ++i) {
    open.set_buffer(static_cast<uint32_t>(i));
    HOLDFAST_ASSIGN_OR_RETURN(version, woken.Add(*opened[i], open));
    HOLDFAST_RETURN_IF_ERROR(CheckCount(command, version));
    open.set_version(version.version());
  }
  HOLDFAST_RETURN_IF_ERROR(NoteRead(resources, *opened.front()));
  woken.Keep();
  context.Reply(std::move(result));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::CommitCollection& command) {
  Resources& resources = context.resources;
  HOLDFAST_RETURN_IF_ERROR(
      CheckHasBuffers(command.name(), command.buffers_size()));
  HOLDFAST_RETURN_IF_ERROR(CheckIdle(resources));
  internal::SharingRequest request;
  Protection protection(resources);
  for (const uint64_t handle : command.buffers()) {
    HOLDFAST_ASSIGN_OR_RETURN(*request.mutable_commit()->add_buffers(),
                              Place(resources, handle));
    HOLDFAST_RETURN_IF_ERROR(protection.Add(handle));
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const UniqueFd contents,
      CreateSealedMemfd("holdfast-collection", command.SerializeAsString()));
  HOLDFAST_ASSIGN_OR_RETURN(SharingAnswer answer,
                            resources.sharing().ask(request, contents.get()));
  protection.Keep();
  v1::Result result;
  result.mutable_collection()->Swap(answer.reply.mutable_collection());
  context.Reply(std::move(result));
  return absl::OkStatus();
}

// A buffer of a collection that the executor before this one had open; one that
// it has freed cannot be had again.
absl::StatusOr<BufferResource> ReopenBuffer(Resources& resources,
                                            const v1::OpenCollection& command,
                                            uint64_t handle) {
  BufferResource buffer;
  HOLDFAST_ASSIGN_OR_RETURN(buffer.imported,
                            Reopen(resources, handle, command.device()));
  buffer.address = buffer.imported->address();
  buffer.size = buffer.imported->size();
  buffer.read_only = true;
  buffer.device = command.device();
  return buffer;
}

absl::Status Handle(const CommandContext& context,
                    const v1::OpenCollection& command) {
  Resources& resources = context.resources;
  if (resources.devices.restoring()) {
    absl::Status status;
    for (const uint64_t handle : command.buffers()) {
      status.Update(Create(resources.buffers, handle, [&] {
        return ReopenBuffer(resources, command, handle);
      }));
    }
    return status;
  }
  HOLDFAST_RETURN_IF_ERROR(
      CheckHasBuffers(command.name(), command.buffers_size()));
  HOLDFAST_RETURN_IF_ERROR(CheckNewHandles(resources, command));
  v1::Result result;
  auto mapped = MapVersion(resources, command, result.mutable_collection());
  absl::Status status;
  for (int i = 0; i < command.buffers_size(); ++i) {
    status.Update(Create(resources.buffers, command.buffers(i),
                         [&]() -> absl::StatusOr<BufferResource> {
                           HOLDFAST_RETURN_IF_ERROR(mapped.status());
                           return std::move((*mapped)[static_cast<size_t>(i)]);
                         }));
  }
  HOLDFAST_RETURN_IF_ERROR(status);
  context.Reply(std::move(result));
  return absl::OkStatus();
}

}  // namespace holdfast::executor
