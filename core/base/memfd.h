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

// Returns a memfd of `size` zero bytes, close-on-exec and sealable. `name` only
// appears in /proc. This and the following functions fail with the system's
// error.
absl::StatusOr<UniqueFd> CreateMemfd(absl::string_view name, size_t size);

// Does the same as CreateMemfd, and seals the memfd against changes of its
// size, so that a process that maps it cannot lose pages. Every holder may
// write.
absl::StatusOr<UniqueFd> CreateFixedMemfd(absl::string_view name, size_t size);

// Returns true if `fd` has the seals of CreateFixedMemfd and exactly `size`
// bytes.
bool IsFixedMemfd(int fd, size_t size);

// Returns a memfd with exactly these bytes, sealed against every change.
absl::StatusOr<UniqueFd> CreateSealedMemfd(absl::string_view name,
                                           absl::string_view bytes);

// Seals the memfd against growing, shrinking and writing. Fails while a
// writable shared mapping of it exists.
absl::Status SealMemfd(int fd);

// Returns true if no process can write to or resize the memfd, so that its
// bytes can be checked once and used afterwards. Returns false if `fd` is not a
// memfd.
bool IsSealed(int fd);

// Owns one shared mapping of a file. The file's descriptor is borrowed by the
// functions that map it, and may be closed afterwards. Move-only.
class FileMapping {
 public:
  enum class Access { kReadOnly, kReadWrite };

  // Makes a mapping of nothing: data() is null, and size() is 0.
  FileMapping() = default;
  FileMapping(FileMapping&& other) noexcept;
  FileMapping& operator=(FileMapping&& other) noexcept;
  ~FileMapping();

  // Maps the whole file, or its first `size` bytes, which must exist. The start
  // is aligned for huge pages if the mapping is as large as one.
  static absl::StatusOr<FileMapping> Map(int fd, Access access);
  static absl::StatusOr<FileMapping> Map(int fd, Access access, size_t size);
  // Maps the first `size` bytes for reading and writing at this page-aligned
  // address. ALREADY_EXISTS: something else is mapped there.
  static absl::StatusOr<FileMapping> MapAt(int fd, size_t size, void* address);

  // The start of the mapping; null if nothing is mapped. Valid until the object
  // ends or is moved from.
  void* data() const { return data_; }
  size_t size() const { return size_; }
  // Other processes may change the bytes, unless the memfd is sealed.
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
