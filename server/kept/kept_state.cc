// SPDX-License-Identifier: Apache-2.0
#include "server/kept/kept_state.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/base/log.h"

namespace holdfast {
namespace {

// An object's bytes and its header, which are kept one by one.
struct ObjectParts {
  UniqueFd code;
  std::optional<v1::ObjectHeader> header;
};

// Takes descriptors one by one.
class Sorter {
 public:
  KeptState Sort(std::vector<KeptDescriptor> kept) {
    // A descriptor that was being replaced is there twice.
    std::sort(kept.begin(), kept.end(),
              [](const KeptDescriptor& a, const KeptDescriptor& b) {
                return std::tie(a.name.kind, a.name.numbers, b.name.version) <
                       std::tie(b.name.kind, b.name.numbers, a.name.version);
              });
    const KeptName* before = nullptr;
    for (KeptDescriptor& one : kept) {
      const bool older = before != nullptr && before->kind == one.name.kind &&
                         before->numbers == one.name.numbers;
      before = &one.name;
      state_.names.push_back(one.name.ToString());
      if (older) continue;
      const bool taken = Take(one.name, std::move(one.fd));
      if (!taken) LogWarning("cannot be used any more: ", one.name.ToString());
    }
    for (auto& [key, parts] : objects_) AddObject(key.first, std::move(parts));
    for (auto& [number, version] : versions_) {
      state_.versions.push_back(std::move(version));
    }
    return std::move(state_);
  }

 private:
  template <typename Record>
  static bool Read(const UniqueFd& fd, Record* record) {
    return ReadRecord(fd.get(), record).ok();
  }

  // Adds a record to the list, unless it cannot be read.
  template <typename Record>
  static bool Read(const UniqueFd& fd, std::vector<Record>* records) {
    if (Read(fd, &records->emplace_back())) return true;
    records->pop_back();
    return false;
  }

  template <typename Record>
  static bool Read(const UniqueFd& fd, uint64_t number,
                   std::map<uint64_t, Record>* records) {
    if (Read(fd, &(*records)[number])) return true;
    records->erase(number);
    return false;
  }

  template <typename Record>
  static bool Read(const UniqueFd& fd, std::optional<Record>* record) {
    record->emplace();
    if (Read(fd, &**record)) return true;
    record->reset();
    return false;
  }

  bool Take(const KeptName& name, UniqueFd fd) {
    if (name.kind == "directory") {
      if (!name.numbers.empty()) return false;
      state_.directory = std::move(fd);
      return true;
    }
    if (name.kind == "counters") {
      if (Read(fd, &state_.counters)) return true;
      state_.counters.Clear();
      return false;
    }
    if (name.numbers.empty()) return false;
    if (name.kind == "collection") {
      return Read(fd, &state_.collections);
    }
    if (name.kind == "version") return Read(fd, name.numbers[0], &versions_);
    if (name.kind == "claim") return Read(fd, &state_.claims);
    if (name.kind == "daemon") return Read(fd, &state_.daemon);
    if (name.kind == "tenant") return Read(fd, &state_.tenants);
    KeptSession& session = state_.sessions[name.numbers[0]];
    switch (name.numbers.size()) {
      case 1:
        return TakeOfSession(name.kind, std::move(fd), &session);
      case 2:
        return TakeNumbered(name, std::move(fd), &session);
      case 3:
        if (name.kind != "arena") return false;
        session.arenas[name.numbers[1]] = {name.numbers[2], std::move(fd)};
        return true;
      case 5:
        return TakeChunk(name, std::move(fd), &session);
      default:
        return false;
    }
  }

  static bool TakeOfSession(const std::string& kind, UniqueFd fd,
                            KeptSession* session) {
    if (kind == "session") return Read(fd, &session->record);
    if (kind == "suspension") return Read(fd, &session->suspension);
    if (kind == "idle") return session->idle = true;
    if (kind == "detached") return session->detached = true;
    const std::pair<const char*, UniqueFd*> places[] = {
        {"calls", &session->calls},
        {"descriptors", &session->descriptors},
        {"image", &session->image},
        {"variables", &session->variables}};
    for (const auto& [name, place] : places) {
      if (kind != name) continue;
      *place = std::move(fd);
      return true;
    }
    return false;
  }

  bool TakeNumbered(const KeptName& name, UniqueFd fd, KeptSession* session) {
    const uint64_t number = name.numbers[1];
    if (name.kind == "import") return Read(fd, number, &session->imports);
    if (name.kind == "event") {
      session->chunks[number].event_page = std::move(fd);
      return true;
    }
    if (name.kind == "header") return Read(fd, &ObjectOf(name).header);
    if (name.kind == "code") {
      ObjectOf(name).code = std::move(fd);
      return true;
    }
    if (name.kind != "journal") return false;
    // The next epoch's journal counts from the instant that it is there.
    if (number <= session->epoch) return true;
    session->epoch = number;
    session->journal = std::move(fd);
    return true;
  }

  ObjectParts& ObjectOf(const KeptName& name) {
    return objects_[{name.numbers[0], name.numbers[1]}];
  }

  static bool TakeChunk(const KeptName& name, UniqueFd fd,
                        KeptSession* session) {
    std::map<uint64_t, KeptChunk>* chunks = nullptr;
    if (name.kind == "chunk") chunks = &session->chunks;
    if (name.kind == "saved") chunks = &session->saved_chunks;
    if (name.kind == "owned") chunks = &session->owned_chunks;
    if (chunks == nullptr) return false;
    KeptChunk& chunk = (*chunks)[name.numbers[1]];
    chunk.device = static_cast<uint32_t>(name.numbers[2]);
    chunk.address = name.numbers[3];
    chunk.size = name.numbers[4];
    chunk.memory = std::move(fd);
    return true;
  }

  void AddObject(uint64_t session, ObjectParts parts) {
    if (!parts.code.valid() || !parts.header.has_value()) return;
    state_.sessions[session].objects.push_back(
        std::make_shared<const StoredObject>(
            StoredObject{*std::move(parts.header), std::move(parts.code)}));
  }

  KeptState state_;
  std::map<std::pair<uint64_t, uint64_t>, ObjectParts> objects_;
  std::map<uint64_t, internal::VersionRecord> versions_;
};

}  // namespace

KeptState SortKept(std::vector<KeptDescriptor> kept) {
  return Sorter().Sort(std::move(kept));
}

}  // namespace holdfast
