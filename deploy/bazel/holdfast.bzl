"""Holdfast's own rules: compiler options stand here once and nowhere else."""

_COPTS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-parameter",
    "-Wno-missing-field-initializers",
    "-fno-strict-aliasing",
    # Everything is position independent (.bazelrc); nothing is replaced when it is loaded.
    "-fno-semantic-interposition",
]

# Code of tests is compiled more often than it is run: what they test is optimised, they are not.
# GCC 12 takes 8.3 s instead of 11.3 s for a typical one. Where they compute much: copts = ["-O2"].
_TEST_COPTS = ["-O0", "-U_FORTIFY_SOURCE"]

def _test_copts():
    return _TEST_COPTS if native.package_name().startswith("tests/") else []

# Under ThreadSanitizer, what tells it of the distribution's Abseil.
_TSAN = select({
    "//deploy/bazel/tsan:enabled": ["//deploy/bazel/tsan"],
    "//conditions:default": [],
})

def _looks_at_copies():
    """Under ThreadSanitizer: not in the software driver, where the copies are those of a client's program."""
    return not native.package_name().startswith("core/software")

_COPIES_COPTS = select({
    "//deploy/bazel/tsan:enabled": ["-include", "deploy/bazel/tsan/memory.h"],
    "//conditions:default": [],
})
_COPIES_DEPS = select({
    "//deploy/bazel/tsan:enabled": ["//deploy/bazel/tsan:memory"],
    "//conditions:default": [],
})

def holdfast_cc_library(name, copts = [], deps = [], **kwargs):
    """A library; by convention one .h/.cc pair."""
    native.cc_library(
        name = name,
        copts = _COPTS + _test_copts() + copts + (_COPIES_COPTS if _looks_at_copies() else []),
        deps = deps + (_COPIES_DEPS if _looks_at_copies() else []),
        **kwargs
    )

def holdfast_cc_binary(name, deps = [], copts = [], linkshared = False, **kwargs):
    native.cc_binary(
        name = name,
        copts = _COPTS + _test_copts() + copts,
        linkshared = linkshared,
        deps = deps if linkshared else deps + _TSAN,
        **kwargs
    )

def holdfast_cc_test(name, deps = [], copts = [], size = "small", **kwargs):
    """A GoogleTest test with its own main from the library."""
    native.cc_test(
        name = name,
        size = size,
        copts = _COPTS + _test_copts() + copts + _COPIES_COPTS,
        deps = deps + ["@system//:gtest_main"] + _TSAN + _COPIES_DEPS,
        **kwargs
    )

def holdfast_devices_test(test, devices, env = {}, data = [], tags = [], size = "small", **kwargs):
    """Runs the binary of a test of this package again, with so many software devices.

    Compiles and links nothing. `env` and `data` are those of the test.
    """
    native.sh_test(
        name = "%s_%d_devices" % (test, devices),
        size = size,
        srcs = ["//deploy/bazel:with_environment.sh"],
        args = ["$(rootpath :%s)" % test],
        data = data + [":" + test],
        env = dict(env, HOLDFAST_SOFTWARE_DEVICES = str(devices)),
        tags = tags,
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
