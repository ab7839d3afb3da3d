// SPDX-License-Identifier: Apache-2.0
//
// Limits of the description of a collection, which is a named set of arrays. A
// client checks them before it fills arrays, and the daemon checks them before
// it makes a version of the collection.
#ifndef HOLDFAST_CORE_BASE_COLLECTION_LIMITS_H_
#define HOLDFAST_CORE_BASE_COLLECTION_LIMITS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace holdfast {

inline constexpr size_t kMaxCollectionName = 200;  // bytes
inline constexpr size_t kMaxArrayName = 1024;      // bytes
// Bytes of all keys and values of the metadata.
inline constexpr size_t kMaxCollectionMetadata = size_t{1} << 20;
// Bytes of a whole commit, which is one message.
inline constexpr size_t kMaxCollectionDescription = size_t{4} << 20;

// INVALID_ARGUMENT: the name does not have 1 to 200 letters, digits and "._-/".
absl::Status CheckCollectionName(absl::string_view name);

// INVALID_ARGUMENT: the name does not have 1 to 1024 bytes.
absl::Status CheckArrayName(absl::string_view name);

// INVALID_ARGUMENT: the metadata's size, `bytes`, exceeds
// kMaxCollectionMetadata; the message names the collection.
absl::Status CheckMetadataSize(absl::string_view collection, size_t bytes);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_COLLECTION_LIMITS_H_
