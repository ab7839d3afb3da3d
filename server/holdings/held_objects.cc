// SPDX-License-Identifier: Apache-2.0
#include "server/holdings/held_objects.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// The first 64 bits of a hash.
uint64_t ContentNumber(absl::string_view sha256) {
  uint64_t number = 0;
  for (const char byte : sha256.substr(0, sizeof number)) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const StoredObject>> HeldObjects::Find(
    const std::string& sha256) {
  const auto held =
      std::find_if(objects_.begin(), objects_.end(), [&](const Object& object) {
        return object.object->header.sha256() == sha256;
      });
  if (held != objects_.end()) return held->object;
  HOLDFAST_ASSIGN_OR_RETURN(auto object, store_.Get(sha256));
  Hold(object);
  return object;
}

// The number is of the object's contents, so that the next daemon keeps it
// under the same name.
void HeldObjects::Hold(std::shared_ptr<const StoredObject> object) {
  bytes_ += object->header.size();
  const uint64_t number = ContentNumber(object->header.sha256());
  auto header = kept_.KeepRecord("header", {number}, object->header);
  auto code = kept_.Keep("code", {number}, object->memory.get());
  objects_.push_back({std::move(object), std::move(header), std::move(code)});
  store_.NoteHeld();
  while (IsOverLimit()) DropOldest();
}

void HeldObjects::Close() {
  while (!objects_.empty()) DropOldest();
}

bool HeldObjects::IsOverLimit() const {
  return objects_.size() > kMaxObjects || bytes_ > kMaxBytes ||
         (store_.TooManyHeld() && !objects_.empty());
}

void HeldObjects::DropOldest() {
  bytes_ -= objects_.front().object->header.size();
  objects_.pop_front();
  store_.NoteReleased();
}

}  // namespace holdfast
