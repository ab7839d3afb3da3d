// SPDX-License-Identifier: Apache-2.0
//
// The images that an application hands to cuModuleLoadData and its kin.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_IMAGE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_IMAGE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/software/runtime/executable.h"
#include "cuda.h"

namespace holdfast::software {

// The options that this driver acts on. Others are hints to a compiler that is
// not there; they are accepted.
class JitOptions {
 public:
  // CUDA_ERROR_INVALID_VALUE for an unknown option or one named twice. The
  // arrays must outlive the object.
  static CUresult Parse(unsigned count, CUjit_option* options, void** values,
                        JitOptions* parsed);

  // Put a log into the caller's buffers, cut off to their sizes, and what was
  // written into the values of the sizes. They write nothing unless both a
  // buffer and its size were given. A text ends with a zero byte, within the
  // size.
  void WriteErrorLog(const std::string& log) const { error_.Write(log); }
  void WriteInfoLog(const std::string& log) const { info_.Write(log); }

 private:
  struct Log {
    char* buffer = nullptr;
    void** size = nullptr;  // the option's value: gets the bytes written
    uint32_t room = 0;      // what it was at first: the buffer's bytes

    void SetSize(void** value);
    void Write(const std::string& log) const;
  };
  Log error_;
  Log info_;
};

// Returns CUDA_ERROR_INVALID_PTX, with the reason in *log, if the code is for a
// newer compute capability than the devices have.
CUresult CheckTarget(const Executable& executable, std::string* log);

// Loads what container.h can read: PTX, or a fat binary with it. Several
// modules in one are linked. The log, or why it failed, goes where the options
// say. CUDA_ERROR_INVALID_IMAGE: it is neither.
CUresult LoadImage(const void* image, const JitOptions& options,
                   std::unique_ptr<Executable>* executable);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_IMAGE_H_
