// SPDX-License-Identifier: Apache-2.0
//
// The driver under test: the library that $HOLDFAST_DRIVER_LIBRARY names, by
// default the software driver of this build. Tests use only cuda.h's types and
// cuGetProcAddress, so they run unchanged against libcuda.so.1.
#ifndef HOLDFAST_TESTS_CONFORMANCE_DRIVER_API_H_
#define HOLDFAST_TESTS_CONFORMANCE_DRIVER_API_H_

#include "cuda.h"
#include "gtest/gtest.h"

namespace holdfast::conformance {

// Has one member for each function, with the type of cuda.h: Cuda().cuInit(0).
//
//   HOLDFAST_FUNCTION(name)            the function's symbol is its name
//   HOLDFAST_VERSIONED(name, symbol)   the function's symbol is `symbol`
struct Api {
#define HOLDFAST_FUNCTION(name) decltype(&::name) name = nullptr;
#define HOLDFAST_VERSIONED(name, symbol) decltype(&::symbol) symbol = nullptr;
#include "tests/conformance/driver/functions.inc"
#undef HOLDFAST_FUNCTION
#undef HOLDFAST_VERSIONED
  decltype(&::cuGetProcAddress_v2) get_proc_address = nullptr;
};

// Returns the functions, and loads the library on the first call. Ends the
// process with a message if the library cannot be loaded.
const Api& Cuda();

// Returns the name of a result, "CUDA_ERROR_...", for messages.
const char* Name(CUresult result);

int Attribute(CUdevice_attribute attribute);

// A test with the primary context of device 0 current. TearDown waits for the
// work of the test.
class ContextTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

// Blocks a stream: work that is enqueued after Block() starts only after
// Open(). The destructor calls Open().
class Gate {
 public:
  Gate();
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void Block(CUstream stream);
  void Open();

 private:
  struct State;
  State* const state_;  // shared with the streams' host functions
};

}  // namespace holdfast::conformance

#define EXPECT_CUDA(expected, call)                              \
  do {                                                           \
    const CUresult holdfast_result = (call);                     \
    EXPECT_STREQ(::holdfast::conformance::Name(expected),        \
                 ::holdfast::conformance::Name(holdfast_result)) \
        << #call;                                                \
  } while (false)

#define ASSERT_OK(call)                                          \
  do {                                                           \
    const CUresult holdfast_result = (call);                     \
    ASSERT_STREQ("CUDA_SUCCESS",                                 \
                 ::holdfast::conformance::Name(holdfast_result)) \
        << #call;                                                \
  } while (false)

#define EXPECT_OK(call) EXPECT_CUDA(CUDA_SUCCESS, call)

#endif  // HOLDFAST_TESTS_CONFORMANCE_DRIVER_API_H_
