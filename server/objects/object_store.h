// SPDX-License-Identifier: Apache-2.0
//
// Stores compiled code by the SHA-256 of its bytes, in sealed memfds: an
// executor gets an object as a descriptor, and no process can change it. Beyond
// its bounds, the store drops the least recently used objects. An object stays
// alive while a session or another owner holds its pointer.
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto writer, ObjectWriter::Create(size));
//   HOLDFAST_RETURN_IF_ERROR(writer->Append(bytes));
//   HOLDFAST_ASSIGN_OR_RETURN(auto object, writer->Finish(format, symbols));
//   store.Put(object, ObjectStore::Origin::kClient);
#ifndef HOLDFAST_SERVER_OBJECTS_OBJECT_STORE_H_
#define HOLDFAST_SERVER_OBJECTS_OBJECT_STORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/sha256.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/objects.pb.h"

namespace holdfast {

// Immutable.
struct StoredObject {
  v1::ObjectHeader header;
  UniqueFd memory;  // sealed, header.size() bytes
};

// Collects the bytes of one object. Not thread-safe.
class ObjectWriter {
 public:
  static constexpr uint64_t kMaxObjectBytes = uint64_t{256} << 20;

  // Makes a writer for an object of `size` bytes. INVALID_ARGUMENT: `size` is
  // 0. RESOURCE_EXHAUSTED: `size` is over kMaxObjectBytes.
  static absl::StatusOr<std::unique_ptr<ObjectWriter>> Create(uint64_t size);

  // Appends bytes. INVALID_ARGUMENT: the bytes exceed the size given to Create.
  absl::Status Append(absl::string_view bytes);

  // Seals the object, computes its hash, and ends the writer. INVALID_ARGUMENT:
  // fewer bytes were appended than the size given to Create.
  absl::StatusOr<std::shared_ptr<const StoredObject>> Finish(
      v1::ObjectFormat format,
      const google::protobuf::Map<std::string, std::string>& symbols);

 private:
  ObjectWriter(uint64_t size, UniqueFd memory);

  uint64_t size_;
  uint64_t written_ = 0;
  UniqueFd memory_;
  Sha256Hasher hasher_;
};

// Thread-safe.
class ObjectStore {
 public:
  // The origin of an object's symbols. A compiler's symbols are added to an
  // existing object. A client's symbols count only for a new object, so that
  // one client cannot rename another client's kernels.
  enum class Origin { kCompiler, kClient };

  // Returns 1/16 of the process's soft limit of descriptors, at least 16 and at
  // most 4096. Each object takes a descriptor.
  static size_t DefaultMaxObjects();

  // `max_bytes` counts code and symbols. `max_objects` bounds the objects
  // in the store and, separately, the objects that all sessions together hold
  // (HeldObjects).
  explicit ObjectStore(uint64_t max_bytes,
                       size_t max_objects = DefaultMaxObjects())
      : max_bytes_(max_bytes), max_objects_(max_objects) {}

  // Adds an object. Returns true if it was stored before. An object larger than
  // the whole store is kept alone, until the next Put.
  bool Put(std::shared_ptr<const StoredObject> object, Origin origin);

  // Returns the object with this hash (32 bytes), which becomes the most
  // recently used one. NOT_FOUND: the object is not stored. INVALID_ARGUMENT:
  // the hash does not have 32 bytes.
  absl::StatusOr<std::shared_ptr<const StoredObject>> Get(
      absl::string_view sha256);

  bool Has(absl::string_view sha256) const;

  uint64_t max_bytes() const { return max_bytes_; }
  size_t max_objects() const { return max_objects_; }

  // Counts the objects that sessions hold (HeldObjects).
  void NoteHeld() { ++held_; }
  void NoteReleased() { --held_; }
  bool TooManyHeld() const { return held_ > max_objects_; }

 private:
  using Order = std::list<std::shared_ptr<const StoredObject>>;

  void Insert(std::shared_ptr<const StoredObject> object)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Evict() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t max_bytes_;
  const size_t max_objects_;
  std::atomic<size_t> held_ = 0;
  mutable absl::Mutex mutex_;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  Order order_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<std::string, Order::iterator> by_sha256_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_OBJECTS_OBJECT_STORE_H_
