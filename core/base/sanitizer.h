// SPDX-License-Identifier: Apache-2.0
//
// Is this build one that looks for errors while it runs (--config=asan and
// --config=tsan)? HOLDFAST_TSAN comes from BUILD.bazel, for headers of others
// must not see that the compiler says __SANITIZE_THREAD__.
#ifndef HOLDFAST_CORE_BASE_SANITIZER_H_
#define HOLDFAST_CORE_BASE_SANITIZER_H_

#if defined(__SANITIZE_ADDRESS__)
#define HOLDFAST_ASAN 1
#endif

namespace holdfast {

// Then a process has many terabytes of address space, most of it never touched,
// and threads that it did not start.
#if defined(HOLDFAST_ASAN) || defined(HOLDFAST_TSAN)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_SANITIZER_H_
