// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDART_PROGRAM_IMAGE_H_
#define HOLDFAST_CLIENT_CUDART_PROGRAM_IMAGE_H_

#include "client/cudart/driver.h"

namespace holdfast::libcudart {

// Code that nvcc has put into a program, as fatbinary_section.h describes it. A
// program of separately compiled parts (-rdc=true) has the parts besides the
// linked code.
class ProgramImage {
 public:
  // REQUIRES: `wrapper` is a __fatBinC_Wrapper_t, whose code outlives this.
  explicit ProgramImage(const void* wrapper);

  // Loads the code. If there is none for the device, links the parts first.
  // REQUIRES: the thread has a current context.
  CUresult Load(const Driver& driver, CUlibrary* library) const;

 private:
  CUresult LoadParts(const Driver& driver, CUlibrary* library) const;

  const void* code_;
  const void* const* parts_;  // Ends with a null pointer. Null: no parts.
};

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_PROGRAM_IMAGE_H_
