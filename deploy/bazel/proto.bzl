# SPDX-License-Identifier: Apache-2.0
"""Protocol Buffers and gRPC stubs from the distribution's protoc and plug-in."""

load("//deploy/bazel:copts.bzl", "GENERATED_COPTS")
load("//deploy/bazel/precompiled:precompiled.bzl", "precompiled_copts", "precompiled_deps")

def holdfast_proto_library(name, srcs, services = [], deps = [], visibility = None):
    """One C++ library for a folder of .proto files.

    Args:
      name: the library's name.
      srcs: every .proto of the folder.
      services: those of srcs that define services; they get gRPC stubs, too.
      deps: other holdfast_proto_library targets whose files are imported.
      visibility: as usual.
    """
    copts = GENERATED_COPTS + precompiled_copts([], "grpc")
    headers = precompiled_deps([], "grpc")
    pb = [src[:-len(".proto")] for src in srcs]
    stubs = [src[:-len(".proto")] for src in services]
    native.filegroup(name = name + "_srcs", srcs = srcs, visibility = visibility)
    native.genrule(
        name = name + "_pb",
        srcs = srcs + [dep + "_srcs" for dep in deps],
        outs = [p + ".pb.h" for p in pb] + [p + ".pb.cc" for p in pb],
        cmd = "protoc -Iproto --cpp_out=$(RULEDIR) " + " ".join(["proto/" + s for s in srcs]),
    )
    if stubs:
        native.genrule(
            name = name + "_grpc",
            srcs = srcs + [dep + "_srcs" for dep in deps],
            outs = [p + ".grpc.pb.h" for p in stubs] + [p + ".grpc.pb.cc" for p in stubs],
            cmd = "protoc -Iproto --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin " +
                  "--grpc_out=$(RULEDIR) " + " ".join(["proto/" + s for s in services]),
        )
    native.cc_library(
        name = name,
        srcs = [p + ".pb.cc" for p in pb],
        hdrs = [p + ".pb.h" for p in pb],
        copts = copts,
        includes = ["."],
        visibility = visibility,
        deps = deps + ["@system//:protobuf"] + headers,
    )
    if stubs:
        native.cc_library(
            name = name + "_grpc_stubs",
            srcs = [p + ".grpc.pb.cc" for p in stubs],
            hdrs = [p + ".grpc.pb.h" for p in stubs],
            copts = copts,
            visibility = visibility,
            deps = [":" + name, "@system//:grpc"] + headers,
        )
