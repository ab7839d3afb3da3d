// SPDX-License-Identifier: Apache-2.0
#include "server/journal/journal_reader.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "core/base/utf8.h"
#include "google/protobuf/descriptor.h"
#include "proto/command_facts.h"
#include "server/journal/layout.h"

namespace holdfast::journal {
namespace {

// The header's fields as they were at one moment.
struct Snapshot {
  uint64_t state = 0;
  uint64_t received = 0;
  uint64_t completed = 0;
  uint64_t begun = 0;
  uint64_t processed = 0;
  uint64_t commands = 0;
  LastCommand last[Header::kLastCommands];
};

absl::Status Damaged(absl::string_view how) {
  return absl::DataLossError(
      absl::StrCat("the session's journal is damaged: ", how));
}

absl::StatusOr<FileMapping> MapJournal(int memory) {
  if (!IsFixedMemfd(memory, kJournalBytes)) return Damaged("it has no memory");
  return FileMapping::Map(memory, FileMapping::Access::kReadOnly);
}

absl::StatusOr<Snapshot> Copy(const FileMapping& mapping) {
  const Header& header = *static_cast<const Header*>(mapping.data());
  if (header.magic != kMagic) return Damaged("it does not begin as one");
  Snapshot copy;
  copy.state = header.state.load(std::memory_order_acquire);
  copy.received = header.received;
  copy.completed = header.completed;
  copy.begun = header.begun;
  copy.processed = header.processed;
  copy.commands = header.commands;
  std::memcpy(copy.last, header.last, sizeof copy.last);
  return copy;
}

absl::string_view NameOf(const LastCommand& command) {
  const absl::string_view whole(command.name, LastCommand::kNameBytes);
  return whole.substr(0, std::min(whole.find('\0'), whole.size()));
}

std::string Describe(const LastCommand& command) {
  const auto* field = command.field <= INT32_MAX
                          ? v1::Command::descriptor()->FindFieldByNumber(
                                static_cast<int>(command.field))
                          : nullptr;
  std::string text = absl::StrCat(
      command.sequence, ": ",
      field == nullptr ? "unknown command"
                       : absl::StrReplaceAll(field->name(), {{"_", " "}}));
  const absl::string_view name = NameOf(command);
  if (!name.empty()) absl::StrAppend(&text, " ", ToValidUtf8(name));
  if (command.stream != 0) {
    absl::StrAppend(&text, " on stream 0x",
                    absl::Hex(command.stream, absl::kZeroPad16));
  }
  return text;
}

// The commands that the header remembers, oldest first.
std::vector<LastCommand> LastOf(const Snapshot& header) {
  std::vector<LastCommand> commands;
  for (size_t i = 0; i < Header::kLastCommands; ++i) {
    const size_t slot = (header.commands + i) % Header::kLastCommands;
    if (header.last[slot].sequence != 0) commands.push_back(header.last[slot]);
  }
  return commands;
}

bool MayRunKernels(const LastCommand& command) {
  return WorkOf(command.field) == CommandWork::kKernels;
}

// A kernel can be blamed if all commands that may not be finished are known,
// and only launches of this one are among them.
std::string OnlyKernel(const Snapshot& header,
                       const std::vector<LastCommand>& commands) {
  if (commands.empty() || commands.front().sequence > header.completed + 1) {
    return "";
  }
  std::set<std::string> names;
  for (const LastCommand& command : commands) {
    if (command.sequence > header.completed && MayRunKernels(command)) {
      names.insert(std::string(NameOf(command)));
    }
  }
  return names.size() == 1 ? ToValidUtf8(*names.begin()) : "";
}

}  // namespace

absl::StatusOr<Progress> ReadProgress(int memory) {
  HOLDFAST_ASSIGN_OR_RETURN(const FileMapping mapping, MapJournal(memory));
  HOLDFAST_ASSIGN_OR_RETURN(const Snapshot header, Copy(mapping));
  if (header.completed > header.begun || header.processed > header.begun) {
    return Damaged("it counts more commands as done than were begun");
  }
  Progress progress;
  progress.received = std::max(header.received, header.begun);
  progress.completed = header.completed;
  progress.begun = header.begun;
  progress.processed = header.processed;
  const std::vector<LastCommand> last = LastOf(header);
  for (const LastCommand& command : last) {
    progress.last_commands.push_back(Describe(command));
  }
  progress.kernel = OnlyKernel(header, last);
  return progress;
}

absl::StatusOr<uint64_t> ReadLooked(int memory) {
  HOLDFAST_ASSIGN_OR_RETURN(const FileMapping mapping, MapJournal(memory));
  const Header& header = *static_cast<const Header*>(mapping.data());
  if (header.magic != kMagic) return Damaged("it does not begin as one");
  return header.looked.load();
}

absl::StatusOr<std::string> ReadRecords(int memory) {
  HOLDFAST_ASSIGN_OR_RETURN(const FileMapping mapping, MapJournal(memory));
  HOLDFAST_ASSIGN_OR_RETURN(const Snapshot header, Copy(mapping));
  const uint64_t length = header.state & ~kHalfBit;
  if (length > kHalfBytes) {
    return Damaged(absl::StrCat(length, " bytes of records"));
  }
  const bool second = (header.state & kHalfBit) != 0;
  return std::string(
      mapping.bytes().substr(kHeaderBytes + (second ? kHalfBytes : 0), length));
}

absl::StatusOr<ParsedRecords> ParseRecords(absl::string_view bytes) {
  ParsedRecords parsed{std::make_unique<google::protobuf::Arena>(), {}, {}};
  while (!bytes.empty()) {
    uint32_t length = 0;
    if (bytes.size() < sizeof length) return Damaged("a record is cut");
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length > bytes.size() - sizeof length) {
      return Damaged("a record is cut");
    }
    if (parsed.records.size() == kMaxRecords) {
      return Damaged(absl::StrCat("over ", kMaxRecords, " records"));
    }
    const absl::string_view frame = bytes.substr(0, sizeof length + length);
    auto* record =
        google::protobuf::Arena::CreateMessage<internal::JournalRecord>(
            parsed.arena.get());
    if (!record->ParseFromArray(frame.data() + sizeof length,
                                static_cast<int>(length))) {
      return Damaged("a record cannot be read");
    }
    parsed.records.push_back(record);
    parsed.frames.push_back(frame);
    bytes.remove_prefix(frame.size());
  }
  return parsed;
}

}  // namespace holdfast::journal
