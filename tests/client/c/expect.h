/* SPDX-License-Identifier: Apache-2.0
 *
 * Expectations for tests of the C ABI. A test's main returns failures != 0. */
#ifndef HOLDFAST_TESTS_CLIENT_C_EXPECT_H_
#define HOLDFAST_TESTS_CLIENT_C_EXPECT_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/c/holdfast.h"

static int failures = 0;

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                              \
    }                                                                          \
  } while (0)

/* Ends the program if the call fails, because later calls need its result. */
#define OK(call) Ok((call), __FILE__, __LINE__)

/* Expects the call to fail with this code and a message that has this text. */
#define FAILS(call, code, text) \
  Fails((call), (code), (text), __FILE__, __LINE__)

static void Ok(hf_error* error, const char* file, int line) {
  if (error == NULL) return;
  fprintf(stderr, "%s:%d: %s: %s\n%s\n", file, line,
          hf_code_name(hf_error_code(error)), hf_error_message(error),
          hf_error_log(error));
  hf_error_free(error);
  exit(1);
}

static void Fails(hf_error* error, hf_code code, const char* text,
                  const char* file, int line) {
  if (hf_error_code(error) != code ||
      strstr(hf_error_message(error), text) == NULL) {
    fprintf(stderr, "%s:%d: expected %s with \"%s\", got %s: %s\n", file, line,
            hf_code_name(code), text, hf_code_name(hf_error_code(error)),
            hf_error_message(error));
    ++failures;
  }
  hf_error_free(error);
}

#endif /* HOLDFAST_TESTS_CLIENT_C_EXPECT_H_ */
