// SPDX-License-Identifier: Apache-2.0
//
// Finds the CUDA toolkit's compilers. Each is a shared library that is opened
// at run time: a machine without the toolkit runs everything else.
#ifndef HOLDFAST_CORE_COMPILE_TOOLKIT_H_
#define HOLDFAST_CORE_COMPILE_TOOLKIT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace holdfast::compile {

struct ToolkitOptions {
  // Where the toolkit is. Empty: $CUDA_HOME, then the dynamic linker's search
  // path, then /usr/local/cuda and what distributions use.
  std::string cuda_home;
};

// Opens one of `files`, the first that is found and that `fill` accepts; it
// stays open. UNAVAILABLE: none; the message begins with `title` ("NVRTC, the
// CUDA compiler,") and lists where it was sought.
absl::Status OpenLibrary(const ToolkitOptions& options, absl::string_view title,
                         const std::vector<std::string>& files,
                         const std::function<absl::Status(void*)>& fill);

// Directories and files that decide which library OpenLibrary opens, apart from
// the libraries themselves.
std::vector<std::string> SearchedPlaces(const ToolkitOptions& options);

// dlsym; UNAVAILABLE: the library does not have it.
absl::Status FindSymbol(void* library, const char* name, void** symbol);

// The file that a symbol comes from, all links followed; empty if unknown.
std::string FileOf(const void* symbol);

// The folders of the toolkit's own headers, as real paths; CCCL's has its own.
// They lie at a fixed place beside `library`, or in the toolkit that `options`
// or $CUDA_HOME name. May be empty.
std::vector<std::string> FindHeaders(const ToolkitOptions& options,
                                     const std::string& library);

// libdevice.10.bc, the mathematical functions for NVVM IR, of the toolkit that
// `library` belongs to; empty if there is none.
std::string FindLibdevice(const std::string& library);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_TOOLKIT_H_
