// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_UNIQUE_FD_H_
#define HOLDFAST_CORE_BASE_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace holdfast {

// Owns one file descriptor and closes it. Move-only; a moved-from UniqueFd is
// empty. Functions with a UniqueFd parameter take the descriptor over;
// functions with an int parameter borrow it.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    Reset(other.Release());
    return *this;
  }
  ~UniqueFd() { Reset(); }

  // -1 if empty.
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

  // Gives the descriptor up without closing it.
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }

  // Takes `fd` over, and closes the old descriptor unless `fd` is the same.
  void Reset(int fd = -1) {
    const int old = std::exchange(fd_, fd);
    if (old >= 0 && old != fd) close(old);
  }

 private:
  int fd_ = -1;
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_UNIQUE_FD_H_
