// SPDX-License-Identifier: Apache-2.0
//
// kSanitized is true in builds with ASan or TSan (--config=asan,
// --config=tsan). HOLDFAST_TSAN comes from BUILD.bazel: .bazelrc undefines
// __SANITIZE_THREAD__, because third-party headers must not see it.
#ifndef HOLDFAST_CORE_BASE_SANITIZER_H_
#define HOLDFAST_CORE_BASE_SANITIZER_H_

#if defined(__SANITIZE_ADDRESS__)
#define HOLDFAST_ASAN 1
#endif

namespace holdfast {

// A sanitized process has many terabytes of address space, mostly untouched,
// and threads that it did not start.
#if defined(HOLDFAST_ASAN) || defined(HOLDFAST_TSAN)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_SANITIZER_H_
