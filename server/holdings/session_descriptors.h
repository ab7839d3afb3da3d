// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HOLDINGS_SESSION_DESCRIPTORS_H_
#define HOLDFAST_SERVER_HOLDINGS_SESSION_DESCRIPTORS_H_

#include <cstdint>
#include <initializer_list>

#include "server/kept/descriptor_store.h"
#include "server/kept/kept_name.h"

namespace holdfast {

// Stores descriptors of one session in the DescriptorStore, which keeps them
// for the next daemon. A descriptor's name has a kind, the session's number and
// further numbers (server/kept/kept_name.h).
class SessionDescriptors {
 public:
  using Kept = DescriptorStore::Kept;
  using Numbers = std::initializer_list<uint64_t>;

  // The store must outlive this object.
  explicit SessionDescriptors(DescriptorStore& store) : store_(store) {}

  // Sets the session's number. REQUIRES: nothing is kept yet.
  void Open(uint64_t session) { session_ = session; }

  // Keep a descriptor or a record, as the methods of DescriptorStore with the
  // same names.
  Kept Keep(const char* kind, Numbers numbers, int fd) const {
    return store_.Keep(Name(kind, numbers), fd);
  }
  Kept KeepRecord(const char* kind, Numbers numbers,
                  const google::protobuf::MessageLite& record) const {
    return store_.KeepRecord(Name(kind, numbers), record);
  }

 private:
  KeptName Name(const char* kind, Numbers numbers) const {
    KeptName name{kind, {session_}};
    name.numbers.insert(name.numbers.end(), numbers);
    return name;
  }

  DescriptorStore& store_;
  uint64_t session_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_SESSION_DESCRIPTORS_H_
