# SPDX-License-Identifier: Apache-2.0
"""What programs outside of the tree compile and link with."""

def _static_library_impl(ctx):
    objects = []
    for linker_input in ctx.attr.library[CcInfo].linking_context.linker_inputs.to_list():
        for library in linker_input.libraries:
            objects += library.pic_objects or library.objects or []
    output = ctx.actions.declare_file(ctx.attr.out)
    arguments = ctx.actions.args()
    arguments.add_all(objects)
    arguments.use_param_file("@%s", use_always = True)
    arguments.set_param_file_format("multiline")

    # Appended one by one (q): files of several folders have the same name.
    ctx.actions.run_shell(
        command = "ar qcsD %s $1" % output.path,
        arguments = [arguments],
        inputs = objects,
        outputs = [output],
        mnemonic = "StaticLibrary",
    )
    return [DefaultInfo(files = depset([output]))]

static_library = rule(
    doc = "One archive of a library and all of the tree that it depends on; not the distribution's libraries.",
    implementation = _static_library_impl,
    attrs = {
        "library": attr.label(providers = [CcInfo]),
        "out": attr.string(),
    },
)

def _name_and_file(file):
    """NAME=FILE, NAME as #include spells it."""
    name = file.short_path
    if name.startswith("proto/holdfast/"):
        name = name[len("proto/"):]
    return "%s=%s" % (name, file.path)

def _header_tree_impl(ctx):
    headers = ctx.attr.library[CcInfo].compilation_context.headers
    output = ctx.actions.declare_directory(ctx.label.name)
    arguments = ctx.actions.args()
    arguments.add_all(headers, map_each = _name_and_file)
    arguments.use_param_file("@%s", use_always = True)
    arguments.set_param_file_format("multiline")
    ctx.actions.run_shell(
        command = "/usr/bin/python3 %s %s $1" % (ctx.file._tool.path, output.path),
        arguments = [arguments],
        inputs = depset([ctx.file._tool], transitive = [headers]),
        outputs = [output],
        mnemonic = "HeaderTree",
    )
    return [DefaultInfo(files = depset([output]), runfiles = ctx.runfiles(files = [output]))]

header_tree = rule(
    doc = "The folder of headers that programs outside of the tree include.",
    implementation = _header_tree_impl,
    attrs = {
        "library": attr.label(providers = [CcInfo]),
        "_tool": attr.label(default = "//deploy/development:header_tree.py", allow_single_file = True),
    },
)
