/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks for the C and C++ programs. Each check prints a line. */
#ifndef ACCEPTANCE_CHECKS_H_
#define ACCEPTANCE_CHECKS_H_

#include <holdfast.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrongs = 0;

static inline bool Holds(const char* title, bool condition) {
  printf("%s: %s\n", condition ? "right" : "wrong", title);
  fflush(stdout);
  wrongs += !condition;
  return condition;
}

/* Ends the program if the call failed. */
static inline void Must(const char* title, hf_error* error) {
  if (error == NULL) return;
  printf("wrong: %s: %s: %s\n", title, hf_code_name(hf_error_code(error)),
         hf_error_message(error));
  exit(1);
}

/* Checks that the call failed with this code and that its message has the text.
 * Frees the error. */
static inline void Refused(const char* title, hf_error* error, hf_code code,
                           const char* text) {
  const bool fits = error != NULL && hf_error_code(error) == code &&
                    strstr(hf_error_message(error), text) != NULL;
  printf("%s: %s%s%s\n", fits ? "right" : "wrong", title, fits ? "" : ": ",
         fits ? "" : hf_error_message(error));
  wrongs += !fits;
  hf_error_free(error);
}

/* Connects to the daemon of $HOLDFAST_ADDRESS, or to a private one. */
static inline hf_daemon* Connect(void) {
  const char* address = getenv("HOLDFAST_ADDRESS");
  hf_daemon* daemon;
  Must("connect",
       hf_daemon_connect(address != NULL ? address : "embedded:", &daemon));
  return daemon;
}

static inline hf_kernel* Build(hf_daemon* daemon, hf_session* session,
                               const char* source, const char* name) {
  hf_compilation* compilation;
  hf_module* module;
  hf_kernel* kernel;
  Must("compile",
       hf_compile(daemon, source, strlen(source), NULL, &compilation));
  Must("load",
       hf_module_load(session, hf_compilation_object(compilation), &module));
  Must("kernel", hf_module_kernel(module, name, &kernel));
  hf_module_free(module);
  hf_compilation_free(compilation);
  return kernel;
}

static inline hf_launch_config Config(uint32_t grid, uint32_t block) {
  hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
  config.grid.x = grid;
  config.block.x = block;
  return config;
}

#endif
