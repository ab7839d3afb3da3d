// SPDX-License-Identifier: Apache-2.0
//
// Finds the CUDA toolkit's compilers. Each is a shared library that is opened
// at run time, so that the daemon also runs without a toolkit.
#ifndef HOLDFAST_CORE_COMPILE_TOOLKIT_H_
#define HOLDFAST_CORE_COMPILE_TOOLKIT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace holdfast::compile {

struct ToolkitOptions {
  // The toolkit's directory. Empty: $CUDA_HOME, then the dynamic linker's
  // search path, then /usr/local/cuda and the paths that distributions use.
  std::string cuda_home;
};

// Opens the first library of the names `files` that dlopen opens and that
// `fill` accepts. Calls `fill` with the handle of dlopen; an error of `fill`
// makes the search continue. Opened libraries are never closed. UNAVAILABLE: no
// library was accepted; the message begins with `title` ("NVRTC, the CUDA
// compiler,") and lists the searched places.
absl::Status OpenLibrary(const ToolkitOptions& options, absl::string_view title,
                         const std::vector<std::string>& files,
                         const std::function<absl::Status(void*)>& fill);

// Returns the directories that OpenLibrary searches, those of LD_LIBRARY_PATH,
// and /etc/ld.so.cache. A change in one of them may change which library
// OpenLibrary opens.
std::vector<std::string> SearchedPlaces(const ToolkitOptions& options);

// Sets *symbol to the address of a symbol of `library`, a handle of dlopen.
// UNAVAILABLE: the library lacks the symbol.
absl::Status FindSymbol(void* library, const char* name, void** symbol);

// Returns the path of the library that contains the address `symbol`, with
// links resolved; empty if it is unknown.
std::string FileOf(const void* symbol);

// Returns the folders of the toolkit's headers and of CCCL's headers, as real
// paths. Searches near the library file `library`, and in the toolkit that
// `options` or $CUDA_HOME name. Returns no folders if it finds none.
std::vector<std::string> FindHeaders(const ToolkitOptions& options,
                                     const std::string& library);

// Returns the path of libdevice.10.bc, the mathematical functions for NVVM IR,
// in the toolkit of `library`; empty if there is none.
std::string FindLibdevice(const std::string& library);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_TOOLKIT_H_
