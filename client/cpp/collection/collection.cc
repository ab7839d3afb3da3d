// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/collection/collection.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/collection/collections.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// A version may be replaced between the look at it and its opening.
constexpr int kAttempts = 8;

}  // namespace

absl::StatusOr<Collection> Collection::Open(const Session& session,
                                            const std::string& name,
                                            uint64_t version, uint32_t device) {
  Collections collections(session.shared_daemon());
  for (int attempt = 1;; ++attempt) {
    HOLDFAST_ASSIGN_OR_RETURN(const auto described,
                              collections.Describe(name, version));
    Collection collection;
    collection.name_ = name;
    collection.version_ = described.collection().versions(0).version();
    auto buffers = session.device(device).OpenCollection(
        name, collection.version_, described.buffer_sizes());
    if (absl::IsNotFound(buffers.status()) && version == 0 &&
        attempt < kAttempts) {
      continue;
    }
    HOLDFAST_ASSIGN_OR_RETURN(collection.buffers_, std::move(buffers));
    collection.metadata_.insert(described.metadata().begin(),
                                described.metadata().end());
    for (const v1::ArrayDescription& array : described.arrays()) {
      collection.arrays_.emplace(array.name(), array);
    }
    return collection;
  }
}

absl::StatusOr<Buffer> Collection::Array(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) {
    return absl::NotFoundError(
        absl::StrCat("collection \"", name_, "\" has no array \"", name, "\""));
  }
  const v1::ArrayDescription& array = found->second;
  return buffers_[array.buffer()].Sub(array.offset(), array.size());
}

}  // namespace holdfast
