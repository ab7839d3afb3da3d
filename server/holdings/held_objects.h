// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HOLDINGS_HELD_OBJECTS_H_
#define HOLDFAST_SERVER_HOLDINGS_HELD_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/holdings/session_descriptors.h"
#include "server/objects/object_store.h"

namespace holdfast {

// Holds the compiled code that a session has loaded. So a successor of the
// session's executor, also under the next daemon, can load the code again after
// the ObjectStore has dropped it. Not thread-safe.
//
// Two limits bound one session (kMaxObjects, kMaxBytes). A third limit,
// ObjectStore::max_objects, bounds all sessions together, because each object
// takes up to 3 descriptors. Over a limit, this session's oldest objects are
// dropped, even the object just held.
class HeldObjects {
 public:
  static constexpr size_t kMaxObjects = 256;
  static constexpr uint64_t kMaxBytes = uint64_t{256} << 20;

  // Both arguments must outlive this object.
  HeldObjects(const SessionDescriptors& kept, ObjectStore& store)
      : kept_(kept), store_(store) {}
  ~HeldObjects() { Close(); }
  HeldObjects(const HeldObjects&) = delete;
  HeldObjects& operator=(const HeldObjects&) = delete;

  // Returns the object with this hash. Holds it from now on if only the
  // ObjectStore had it. NOT_FOUND: neither this class nor the ObjectStore has
  // it.
  absl::StatusOr<std::shared_ptr<const StoredObject>> Find(
      const std::string& sha256);
  // Holds an object. REQUIRES: the object is not held yet.
  void Hold(std::shared_ptr<const StoredObject> object);
  // Drops all objects.
  void Close();
  size_t size() const { return objects_.size(); }

 private:
  struct Object {
    std::shared_ptr<const StoredObject> object;
    SessionDescriptors::Kept header;
    SessionDescriptors::Kept code;
  };

  bool IsOverLimit() const;
  void DropOldest();

  const SessionDescriptors& kept_;
  ObjectStore& store_;
  std::deque<Object> objects_;  // oldest first
  uint64_t bytes_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_HELD_OBJECTS_H_
