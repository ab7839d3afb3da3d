// SPDX-License-Identifier: Apache-2.0
#include "server/journal/journal_writer.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "server/journal/journal_reader.h"
#include "server/journal/live_records.h"

namespace holdfast::journal {
namespace {

// Less is not worth the time; commands wait while more is compacted.
constexpr size_t kCompactFrom = size_t{512} << 10;

// Bytes for records that end something, which make room. Half of them are for
// records that tell of a loss, too.
constexpr size_t kKeptForEnds = size_t{1} << 20;

// Bytes that the record leaves to others.
size_t KeptFrom(const internal::JournalRecord& record) {
  if (record.destroys() != 0) return 0;
  return record.has_error() ? kKeptForEnds / 2 : kKeptForEnds;
}

bool IsStep(uint32_t tag) {
  using google::protobuf::internal::WireFormatLite;
  const int field = WireFormatLite::GetTagFieldNumber(tag);
  return field >= internal::JournalRecord::kCommandFieldNumber &&
         field <= internal::JournalRecord::kErrorFieldNumber &&
         WireFormatLite::GetTagWireType(tag) ==
             WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
}

// Returns a serialised record without its step, which stands first; all of it
// if the step is cut.
absl::string_view WithoutStep(absl::string_view record) {
  google::protobuf::io::CodedInputStream input(
      reinterpret_cast<const uint8_t*>(record.data()),
      static_cast<int>(record.size()));
  size_t end = 0;
  uint32_t length = 0;
  while (IsStep(input.ReadTag()) && input.ReadVarint32(&length) &&
         input.Skip(static_cast<int>(length))) {
    end = static_cast<size_t>(input.CurrentPosition());
  }
  return record.substr(end);
}

// Returns what stands before the fields of a record's command; empty if there
// are none.
std::string HeadOf(absl::string_view command) {
  using google::protobuf::internal::WireFormatLite;
  if (command.empty()) return "";
  constexpr uint32_t kTag =
      WireFormatLite::MakeTag(internal::JournalRecord::kCommandFieldNumber,
                              WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  uint8_t head[10];
  using google::protobuf::io::CodedOutputStream;
  uint8_t* end = CodedOutputStream::WriteTagToArray(kTag, head);
  end = CodedOutputStream::WriteVarint32ToArray(
      static_cast<uint32_t>(command.size()), end);
  return std::string(head, end);
}

void AppendFramed(absl::string_view record, std::string* to) {
  const auto length = static_cast<uint32_t>(record.size());
  to->append(reinterpret_cast<const char*>(&length), sizeof length);
  to->append(record.data(), record.size());
}

// Records with the lengths before them, and the same without their steps:
// parsing the commands would be most of a compaction's time, and which records
// are live does not depend on them.
struct Frames {
  std::vector<absl::string_view> whole;
  std::string without_steps;
};

// `bytes` are the writer's own.
Frames Split(absl::string_view bytes) {
  Frames frames;
  while (bytes.size() >= sizeof(uint32_t)) {
    uint32_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    const absl::string_view frame = bytes.substr(0, sizeof length + length);
    AppendFramed(WithoutStep(frame.substr(sizeof length)),
                 &frames.without_steps);
    frames.whole.push_back(frame);
    bytes.remove_prefix(frame.size());
  }
  return frames;
}

}  // namespace

absl::StatusOr<std::unique_ptr<JournalWriter>> JournalWriter::Map(int memory) {
  if (!IsFixedMemfd(memory, kJournalBytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a journal is a memfd of ", kJournalBytes, " bytes"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      FileMapping mapping,
      FileMapping::Map(memory, FileMapping::Access::kReadWrite));
  new (mapping.data()) Header{};
  std::unique_ptr<JournalWriter> writer(new JournalWriter(std::move(mapping)));
  writer->compact_at_ = kCompactFrom;
  writer->header().magic = kMagic;
  return writer;
}

// The order of the stores is what makes the journal valid at every instant: the
// bytes first, then the one store that makes them count. A process that dies
// has made a beginning of its stores and no other.
void JournalWriter::Publish(bool second, size_t length) {
  second_ = second;
  length_ = length;
  header().state.store((second ? kHalfBit : 0) | length,
                       std::memory_order_release);
}

bool JournalWriter::Append(const internal::JournalRecord& record,
                           absl::string_view command) {
  const std::string head = HeadOf(command);
  // ByteSizeLong also caches the sizes.
  const size_t size = head.size() + command.size() + record.ByteSizeLong();
  const size_t framed = sizeof(uint32_t) + size;
  if (framed > kHalfBytes - kKeptForEnds) return false;
  const size_t kept = KeptFrom(record);
  const size_t wanted = length_ + framed;
  const bool is_due = wanted > compact_at_ || wanted + kept > kHalfBytes;
  if (is_due && may_shrink_) Compact();
  if (framed + kept > kHalfBytes - length_) return false;
  char* const at = Half(second_) + length_;
  const auto length = static_cast<uint32_t>(size);
  char* to = at;
  for (const absl::string_view part :
       {absl::string_view(reinterpret_cast<const char*>(&length),
                          sizeof length),
        absl::string_view(head), command}) {
    to = std::copy(part.begin(), part.end(), to);
  }
  record.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(to));
  NoteMade(record, length_);
  Publish(second_, length_ + framed);
  may_shrink_ |= record.destroys() != 0 || !record.key().empty();
  return true;
}

void JournalWriter::NoteMade(const internal::JournalRecord& record,
                             size_t begin) {
  const bool made_one = record.creates_size() == 1 && record.destroys() == 0 &&
                        record.key().empty();
  if (!made_one || made_.size() == kMaxMade) made_.clear();
  if (made_one) made_.push_back({record.creates(0), begin});
}

bool JournalWriter::Retract(uint64_t handle) {
  if (made_.empty() || made_.back().handle != handle) return false;
  Publish(second_, made_.back().begin);
  made_.pop_back();
  return true;
}

void JournalWriter::Compact() {
  may_shrink_ = false;
  made_.clear();
  const Frames frames = Split({Half(second_), length_});
  const auto records = ParseRecords(frames.without_steps);
  if (!records.ok()) {
    LogError("the session's journal: ", records.status().message());
    compact_at_ = kHalfBytes;
    return;
  }
  char* const other = Half(!second_);
  size_t length = 0;
  for (const size_t i : LiveRecords(records->records)) {
    const absl::string_view frame = frames.whole[i];
    std::memcpy(other + length, frame.data(), frame.size());
    length += frame.size();
  }
  Publish(!second_, length);
  compact_at_ = std::min(kHalfBytes, std::max(kCompactFrom, 2 * length));
}

void JournalWriter::Begin(uint64_t sequence, uint32_t field, uint64_t stream,
                          absl::string_view name) {
  Header& h = header();
  const uint64_t count = h.commands.load(std::memory_order_relaxed);
  LastCommand& slot = h.last[count % Header::kLastCommands];
  slot.sequence = sequence;
  slot.stream = stream;
  slot.field = field;
  const size_t size = std::min(name.size(), LastCommand::kNameBytes);
  std::copy_n(name.data(), size, slot.name);
  if (size < LastCommand::kNameBytes) slot.name[size] = 0;
  Store(h.commands, count + 1);
  Store(h.begun, sequence);
}

}  // namespace holdfast::journal
