# SPDX-License-Identifier: Apache-2.0
"""Compiler options: they stand here once and nowhere else."""

# Clang needs to be told this beside the distribution's libraries, which GCC has compiled.
CLANG_COPTS = select({
    "//deploy/bazel:clang": [
        # Names of templates as GCC 12 has them: later ones encode more of a template's parameters.
        "-fclang-abi-compat=17",
        # std::stable_sort of libstdc++ 12 uses what C++17 deprecates, and clang says so at each use.
        "-Wno-deprecated-declarations",
        # Which lock guards what.
        "-Wthread-safety",
    ],
    "//conditions:default": [],
})

# The order of locks, which ABSL_ACQUIRED_BEFORE states, is checked in beta alone.
LOCK_ORDER_COPTS = select({
    "//deploy/bazel:clang": ["-Wthread-safety-beta"],
    "//conditions:default": [],
})

HOLDFAST_COPTS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-parameter",
    "-Wno-missing-field-initializers",
    "-fno-strict-aliasing",
    # Everything is position independent (.bazelrc); nothing is replaced when it is loaded.
    "-fno-semantic-interposition",
] + CLANG_COPTS + LOCK_ORDER_COPTS

# Code that protoc and its plug-in for gRPC have made.
GENERATED_COPTS = ["-std=c++20"] + CLANG_COPTS

# Code of tests is compiled more often than it is run: what they test is optimised, they are not.
# Where they compute much: copts = ["-O2"].
TEST_COPTS = ["-O0", "-U_FORTIFY_SOURCE"]

# For the files of the software driver that include LLVM's headers.
LLVM_COPTS = [
    "-isystem/usr/include/llvm-19",
    "-isystem/usr/include/llvm-c-19",
    "-D__STDC_CONSTANT_MACROS",
    "-D__STDC_LIMIT_MACROS",
    "-fno-rtti",
]
