// SPDX-License-Identifier: Apache-2.0
//
// Compiler options. They come from clients, and would name files of the server,
// so only options that touch no file are passed on. Each option has one
// spelling, which is rendered for the back end that runs.
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto options, ParseOptions(words));
//   HOLDFAST_ASSIGN_OR_RETURN(auto flags,
//                             RenderOptions(options, Backend::kNvvm, target));
#ifndef HOLDFAST_CORE_COMPILE_COMPILE_OPTIONS_H_
#define HOLDFAST_CORE_COMPILE_COMPILE_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/compile/program.h"

namespace holdfast::compile {

inline constexpr size_t kMaxOptions = 256;
inline constexpr size_t kMaxOptionBytes = 4096;

enum class Backend { kNvrtc, kNvvm, kNvJitLink };

// "NVRTC", "libNVVM", "nvJitLink".
absl::string_view BackendName(Backend backend);

// The kind of value that an option takes.
enum class Value {
  kNone,
  kBool,     // true, false, 1, 0
  kOn,       // on, off
  kNumber,   // digits
  kThreads,  // digits, at most kMaxThreads; 0 means kMaxThreads
  kLevel,    // 0, 3
  kText,
  kPtxas,  // options of ptxas that touch no file, with commas between them
};

inline constexpr int kMaxThreads = 16;

// One option, and its flag for each back end; empty: the back end does not
// support it.
struct OptionSpec {
  absl::string_view name;     // "--fmad"
  absl::string_view aliases;  // "-fmad -fma"
  Value value;
  absl::string_view nvrtc;      // "--fmad"
  absl::string_view nvvm;       // "-fma"
  absl::string_view nvjitlink;  // "-fma"
  bool lto_only = false;  // nvJitLink honours it only when it links LTO IR
  // The compiler's process may keep the option, and compile later programs with
  // it, too.
  bool leaves_state = false;

  absl::string_view flag(Backend backend) const;
};

// All options that are passed on, sorted by name.
absl::Span<const OptionSpec> OptionTable();

// An option of a client. `value` is as the client wrote it.
struct Option {
  const OptionSpec* spec = nullptr;
  std::string value;
  std::string text;  // as it was written, for messages
};

// Parses options. A value may be in the same word ("--maxrregcount=32",
// "-DN=4") or in the next ("-D", "N=4"). INVALID_ARGUMENT names the first
// refused option and the reason: it names a file or directory, belongs
// elsewhere (the architecture), is malformed, or is unknown.
absl::StatusOr<std::vector<Option>> ParseOptions(
    absl::Span<const std::string> words);

// Returns true if a process must not compile anything after these options.
bool LeavesState(absl::Span<const Option> options);

// Returns the flags for one back end. `lto`: nvJitLink links LTO IR.
// INVALID_ARGUMENT names an option that the back end does not support, at all
// or for this target.
absl::StatusOr<std::vector<std::string>> RenderOptions(
    absl::Span<const Option> options, Backend backend, ObjectFormat target,
    bool lto = false);

// Returns the value of a back end's arch flag for `arch` in any spelling: a
// real architecture for cubins, a virtual one for PTX and LTO IR.
// INVALID_ARGUMENT: not an architecture.
absl::StatusOr<std::string> ArchitectureName(absl::string_view arch,
                                             ObjectFormat target);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_COMPILE_OPTIONS_H_
