// SPDX-License-Identifier: Apache-2.0
//
// Anonymous memory that processes share by descriptor.
#ifndef HOLDFAST_CORE_BASE_MEMFD_H_
#define HOLDFAST_CORE_BASE_MEMFD_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// A memfd of `size` zero bytes, close-on-exec and sealable. `name` is for
// /proc only. Fails with the system's error, as do the others.
absl::StatusOr<UniqueFd> CreateMemfd(absl::string_view name, size_t size);

// The same, sealed so that it keeps its size while it is written to: whoever
// maps it does not lose the pages. Both sides may write; neither can change the
// size.
absl::StatusOr<UniqueFd> CreateFixedMemfd(absl::string_view name, size_t size);

// Is it one like those of CreateFixedMemfd, of this size?
bool IsFixedMemfd(int fd, size_t size);

// A memfd with these bytes that nobody can change any more. Its size is that of
// the bytes.
absl::StatusOr<UniqueFd> CreateSealedMemfd(absl::string_view name,
                                           absl::string_view bytes);

// Forbids growing, shrinking and writing. Fails while a writable mapping
// exists.
absl::Status SealMemfd(int fd);

// True if nobody can write to or resize the memfd: its bytes can be checked
// once and used afterwards. False for anything that is not a memfd.
bool IsSealed(int fd);

// Owns one mapping of a descriptor. Move-only. The descriptor may be closed
// while the mapping lives.
class FileMapping {
 public:
  enum class Access { kReadOnly, kReadWrite };

  // Maps nothing: no data, size 0.
  FileMapping() = default;
  FileMapping(FileMapping&& other) noexcept;
  FileMapping& operator=(FileMapping&& other) noexcept;
  ~FileMapping();

  // The whole length; or the first `size` bytes, which must be there. Starts
  // where huge pages could, if it is as large as one.
  static absl::StatusOr<FileMapping> Map(int fd, Access access);
  static absl::StatusOr<FileMapping> Map(int fd, Access access, size_t size);
  // The first `size` bytes, for reading and writing, at this address, which is
  // that of a page. ALREADY_EXISTS: something else is mapped there.
  static absl::StatusOr<FileMapping> MapAt(int fd, size_t size, void* address);

  // Null if it maps nothing. Valid as long as the object.
  void* data() const { return data_; }
  size_t size() const { return size_; }
  // Others may change them meanwhile, unless the memfd is sealed.
  absl::string_view bytes() const {
    return {static_cast<const char*>(data_), size_};
  }

 private:
  FileMapping(void* data, size_t size) : data_(data), size_(size) {}

  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_MEMFD_H_
