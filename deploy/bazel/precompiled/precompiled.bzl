# SPDX-License-Identifier: Apache-2.0
"""Precompiled headers: what most files include is parsed once, not by each of them.

Nine tenths of the time that a typical file of Holdfast takes to compile is spent on headers of the standard library, Abseil,
gRPC and of generated messages. Clang reads them from a precompiled header in milliseconds. Files still include what
they use: other compilers, and targets with options of their own, go without.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("//deploy/bazel:copts.bzl", "LLVM_COPTS")

# The times of files are left out, since a cache or a sandbox gives them others; Bazel knows what has changed.
_PRECOMPILED_COPTS = ["-Xclang", "-fno-pch-timestamp", "-Xclang", "-fpch-instantiate-templates"]

# Bazel forgets the inputs of a file that its list of dependencies lacks, and that names what the file includes itself:
# with the precompiled header among them, a change of what that includes compiles the file again.
_NAME_IT = ["-Xclang", "-module-file-deps"]

# A precompiled header names the files that it was made of, by absolute paths; in a sandbox those are gone afterwards. So
# it is made of one file without a name, and has the same bytes on every machine. $1: the header; $2: the output; then
# the compiler and its options.
_COMMAND = """
set -euo pipefail
header=$1 output=$PWD/$2
shift 2
"$@" -E -frewrite-includes "$header" -o - | (cd / && "$@" - -o "$output")
"""

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    output = ctx.actions.declare_file(ctx.label.name + ".pch")
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = cc_common.create_compile_variables(
            feature_configuration = features,
            cc_toolchain = toolchain,
            use_pic = True,
            user_compile_flags = (ctx.attr.copts + _PRECOMPILED_COPTS + ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts +
                                  ["-x", "c++-header"]),
            include_directories = context.includes,
            quote_include_directories = context.quote_includes,
            system_include_directories = context.system_includes,
            preprocessor_defines = context.defines,
        ),
    )
    compiler = cc_common.get_tool_for_action(feature_configuration = features, action_name = CPP_COMPILE_ACTION_NAME)
    ctx.actions.run_shell(
        command = _COMMAND,
        arguments = [ctx.file.header.path, output.path, compiler] + flags,
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = cc_common.empty_variables(),
        ),
        inputs = depset([ctx.file.header] + ctx.files.headers, transitive = [context.headers, toolchain.all_files]),
        outputs = [output],
        mnemonic = "PrecompiledHeader",
        progress_message = "Precompiling " + ctx.file.header.short_path,
    )
    own = cc_common.create_compilation_context(headers = depset([output]))
    return [
        DefaultInfo(files = depset([output])),
        CcInfo(compilation_context = own),
    ]

precompiled_header = rule(
    doc = "A header that clang has parsed, with the headers that it includes. A dependency of the targets that use it.",
    implementation = _precompiled_header_impl,
    attrs = {
        "header": attr.label(allow_single_file = [".h"], doc = "It includes the others."),
        "copts": attr.string_list(doc = "Those of the targets that use it."),
        "deps": attr.label_list(providers = [CcInfo], doc = "The libraries whose headers it includes."),
        "headers": attr.label_list(
            allow_files = [".h", ".inc"],
            doc = "Headers of libraries that use it themselves, and so cannot be among `deps`.",
        ),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    fragments = ["cpp"],
)

_PACKAGE = "//deploy/bazel/precompiled"

# Which header the packages in a folder use. The first folder that a package lies in decides.
_ROOMS = [
    ("tests", "test"),
    ("core/software", "software"),
    ("core", "core"),
    ("client/cpp/connection", "grpc"),
    ("client/cpp", "client"),
    ("client/examples", "client"),
    ("client", "wire"),
    ("deploy", "wire"),
    ("proto", "grpc"),
    ("server/account", "wire"),
    ("server/channel", "grpc"),
    ("server/config", "grpc"),
    ("server/counters", "wire"),
    ("server/executor", "executor"),
    ("server/health", "grpc"),
    ("server/identity", "grpc"),
    ("server/kept", "wire"),
    ("server/memory", "wire"),
    ("server/objects", "wire"),
    ("server/process", "grpc"),
    ("server/relay", "grpc"),
    ("server/rpc", "grpc"),
    ("server/service_manager", "grpc"),
    ("server", "server"),
]

def headers_of(folders):
    """The headers of these packages, as files: their libraries use the precompiled header, and so it cannot use them."""
    return ["//%s:headers" % folder for folder in folders]

def declare_headers():
    """Makes a package's own headers a target, for `headers_of`."""
    if not native.existing_rule("headers"):
        native.filegroup(
            name = "headers",
            srcs = native.glob(["**/*.h", "**/*.inc"]),
            visibility = ["//deploy/bazel/precompiled:__pkg__"],
        )

def _header_for(copts):
    """The name of the header that a target of this package with these options of its own uses; "" without."""
    package = native.package_name()
    if copts == LLVM_COPTS and package.startswith("core/"):
        return "llvm"
    if copts:
        return ""
    for folder, name in _ROOMS:
        if package == folder or package.startswith(folder + "/"):
            return name
    return ""

def precompiled_copts(copts, name = None):
    """Compiler options with which a target uses a header: `name`, or by its package and options of its own."""
    name = name or _header_for(copts)
    if not name:
        return []
    use = ["-include-pch", "$(execpath %s:%s)" % (_PACKAGE, name)] + _PRECOMPILED_COPTS + _NAME_IT
    return select({"//deploy/bazel:clang": use, "//conditions:default": []})

def precompiled_deps(copts, name = None):
    """The header, as a dependency of such a target."""
    name = name or _header_for(copts)
    if not name:
        return []
    return select({"//deploy/bazel:clang": ["%s:%s" % (_PACKAGE, name)], "//conditions:default": []})
