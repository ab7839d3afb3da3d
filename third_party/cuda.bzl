"""The CUDA toolkit's headers, from $CUDA_HOME or its usual place.

Only headers are taken at build time. The driver, NVRTC and the other libraries are loaded at run
time, so that a binary built here starts on a machine that has none of them.
"""

_HEADERS = ["cuda.h", "nvrtc.h", "nvJitLink.h", "nvvm.h"]

# The driver's, the runtime's and NVRTC's functions: for client/python/bindings, which reads these headers, and for
# client/cudart.
_API_HEADERS = [
    "builtin_types.h",
    "crt/host_defines.h",
    "cuda.h",
    "cudaEGL.h",
    "cudaGL.h",
    "cudaProfiler.h",
    "cudaVDPAU.h",
    "cuda_device_runtime_api.h",
    "cuda_egl_interop.h",
    "cuda_gl_interop.h",
    "cuda_profiler_api.h",
    "cuda_runtime_api.h",
    "cuda_vdpau_interop.h",
    "device_types.h",
    "driver_functions.h",
    "driver_types.h",
    "fatbinary_section.h",
    "library_types.h",
    "nvrtc.h",
    "surface_types.h",
    "texture_types.h",
    "vector_types.h",
]

def _cuda_toolkit_impl(ctx):
    home = ctx.os.environ.get("CUDA_HOME", "/usr/local/cuda")
    for header in _HEADERS:
        for folder in ["include", "nvvm/include"]:
            path = ctx.path("%s/%s/%s" % (home, folder, header))
            if path.exists:
                ctx.symlink(path, "include/" + header)
                break
    for header in _API_HEADERS:
        ctx.symlink("%s/include/%s" % (home, header), "api/" + header)

    # For tests of functions that cuda.h does not declare any more.
    ctx.symlink("%s/include/cudaTypedefs.h" % home, "typedefs/cudaTypedefs.h")
    ctx.symlink(ctx.attr._build_file, "BUILD.bazel")

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    attrs = {"_build_file": attr.label(default = "//third_party:cuda.BUILD")},
    environ = ["CUDA_HOME"],
    local = True,
)
