"""The headers of the distribution's Python, for extensions on its stable ABI."""

def _python_headers_impl(ctx):
    found = ctx.execute([
        "/usr/bin/python3",
        "-c",
        "import sysconfig; print(sysconfig.get_path('include'))",
    ])
    folder = found.stdout.strip()
    if found.return_code == 0 and ctx.path(folder + "/Python.h").exists:
        ctx.symlink(folder, "include")
    ctx.symlink(ctx.attr._build_file, "BUILD.bazel")

python_headers = repository_rule(
    implementation = _python_headers_impl,
    attrs = {"_build_file": attr.label(default = "//third_party:python.BUILD")},
    local = True,
)
