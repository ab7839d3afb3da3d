"""Holdfast's own rules: compiler options stand here once and nowhere else."""

_COPTS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-parameter",
    "-Wno-missing-field-initializers",
    "-fno-strict-aliasing",
]

# Under ThreadSanitizer, what tells it of the distribution's Abseil.
_TSAN = select({
    "//deploy/bazel/tsan:enabled": ["//deploy/bazel/tsan"],
    "//conditions:default": [],
})

def holdfast_cc_library(name, copts = [], **kwargs):
    """A library; by convention one .h/.cc pair."""
    native.cc_library(name = name, copts = _COPTS + copts, **kwargs)

def holdfast_cc_binary(name, deps = [], copts = [], linkshared = False, **kwargs):
    native.cc_binary(
        name = name,
        copts = _COPTS + copts,
        linkshared = linkshared,
        deps = deps if linkshared else deps + _TSAN,
        **kwargs
    )

def holdfast_cc_test(name, deps = [], copts = [], size = "small", **kwargs):
    """A GoogleTest test with its own main from the library."""
    native.cc_test(
        name = name,
        size = size,
        copts = _COPTS + copts,
        deps = deps + ["@system//:gtest_main"] + _TSAN,
        **kwargs
    )

# For the files of the software driver that include LLVM's headers.
LLVM_COPTS = [
    "-isystem/usr/include/llvm-19",
    "-isystem/usr/include/llvm-c-19",
    "-D__STDC_CONSTANT_MACROS",
    "-D__STDC_LIMIT_MACROS",
    "-fno-rtti",
]
