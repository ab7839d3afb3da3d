# SPDX-License-Identifier: Apache-2.0
"""Holdfast's own rules."""

load("//deploy/bazel:copts.bzl", "HOLDFAST_COPTS", "TEST_COPTS")
load("//deploy/bazel/precompiled:precompiled.bzl", "declare_headers", "precompiled_copts", "precompiled_deps")

def _test_copts():
    return TEST_COPTS if native.package_name().startswith("tests/") else []

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

def holdfast_cc_library(name, srcs = None, hdrs = None, copts = [], deps = [], **kwargs):
    """A library: by convention one .h/.cc pair of its name. A header alone has `srcs = []`."""
    declare_headers()
    native.cc_library(
        name = name,
        srcs = [name + ".cc"] if srcs == None else srcs,
        hdrs = [name + ".h"] if hdrs == None else hdrs,
        copts = HOLDFAST_COPTS + _test_copts() + copts + precompiled_copts(copts) + (_COPIES_COPTS if _looks_at_copies() else []),
        deps = deps + precompiled_deps(copts) + (_COPIES_DEPS if _looks_at_copies() else []),
        **kwargs
    )

# Programs and shared libraries need no newer glibc than that of Debian 11. Sanitizers bring a runtime of their own.
_GLIBC = select({
    "//deploy/bazel:clang": ["//deploy/bazel/glibc:older"],
    "//conditions:default": [],
})
_GLIBC_START = select({
    "//deploy/bazel:clang": ["//deploy/bazel/glibc:start"],
    "//conditions:default": [],
})

def holdfast_cc_binary(name, srcs = None, deps = [], copts = [], linkshared = False, **kwargs):
    """A program: by convention one .cc of its name. With `linkshared`, a shared library of `deps` alone."""
    native.cc_binary(
        name = name,
        srcs = ([] if linkshared else [name + ".cc"]) if srcs == None else srcs,
        copts = HOLDFAST_COPTS + _test_copts() + copts + precompiled_copts(copts),
        linkshared = linkshared,
        deps = deps + precompiled_deps(copts) + _GLIBC + ([] if linkshared else _GLIBC_START + _TSAN),
        **kwargs
    )

# Files that tests find by variables of their environment: `paths` of the rules below.
SOFTWARE_DRIVER = {"HOLDFAST_SOFTWARE_DRIVER": "//core/software:libholdfast_software.so"}
DAEMON = dict(SOFTWARE_DRIVER, HOLDFAST_DAEMON = "//server:holdfastd")

def _environment(paths, env):
    return dict({variable: "$(rootpath %s)" % path for variable, path in paths.items()}, **env)

def holdfast_cc_test(
        name,
        srcs = None,
        deps = [],
        copts = [],
        size = "small",
        paths = {},
        data = [],
        env = {},
        carried = False,
        **kwargs):
    """A GoogleTest test of one .cc of its name; main is the library's.

    `paths`: variables of its environment, and the file that each names. `carried`: the bundle has it.
    """
    native.cc_test(
        name = name,
        srcs = [name + ".cc"] if srcs == None else srcs,
        size = size,
        data = data + paths.values(),
        env = _environment(paths, env),
        copts = HOLDFAST_COPTS + _test_copts() + copts + precompiled_copts(copts) + _COPIES_COPTS,
        deps = deps + ["@system//:gtest_main"] + precompiled_deps(copts) + _TSAN + _COPIES_DEPS + (_GLIBC + _GLIBC_START if carried else []),
        **kwargs
    )

def _test_again(name, test, paths, env, data, **kwargs):
    """Runs the binary of a test of this package again. Compiles and links nothing."""
    native.sh_test(
        name = name,
        srcs = ["//deploy/bazel:with_environment.sh"],
        args = ["$(rootpath :%s)" % test],
        data = data + paths.values() + [":" + test],
        env = _environment(paths, env),
        **kwargs
    )

def holdfast_devices_test(test, devices, paths = {}, env = {}, data = [], tags = [], size = "small", **kwargs):
    """Runs the binary of a test again, with so many software devices. `paths`, `env` and `data` are those of the test."""
    _test_again(
        name = "%s_%d_devices" % (test, devices),
        test = test,
        size = size,
        paths = paths,
        data = data,
        env = dict(env, HOLDFAST_SOFTWARE_DEVICES = str(devices)),
        tags = tags,
        **kwargs
    )

def holdfast_memcheck_test(test, paths = {}, env = {}, data = [], size = "small", **kwargs):
    """Runs the binary of a test again, with memcheck on: a correct program runs as it does without."""
    _test_again(
        name = test + "_memcheck",
        test = test,
        size = size,
        paths = paths,
        data = data,
        env = dict(env, HOLDFAST_SOFTWARE_MEMCHECK = "1"),
        **kwargs
    )
