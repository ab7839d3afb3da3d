"""A tarball that runs wherever it is unpacked."""

def bundle(name, binaries = [], libraries = [], files = [], carried = [], links = {}):
    """Makes NAME.tar.gz with holdfast/bin, holdfast/lib and holdfast/.

    Args:
      name: of the target and the archive.
      binaries: programs, stripped, for bin.
      libraries: shared libraries, stripped, for lib.
      files: as they are, for the top folder.
      carried: of `libraries`, those that need shared libraries which a bare system lacks: these are
        copied beside them.
      links: symbolic links, by their path in holdfast/, and what each holds.
    """
    commands = ["root=$$(mktemp -d)/holdfast", "mkdir -p $$root"]
    for folder, targets in [("bin", binaries), ("lib", libraries)]:
        for target in targets:
            commands.append("install -D -t $$root/%s $(location %s)" % (folder, target))
            commands.append("chmod u+w $$root/%s/*" % folder)
            commands.append("strip $$root/%s/$$(basename $(location %s))" % (folder, target))
    for target in carried:
        commands.append(
            "ldd $(location %s) | awk '$$2 == \"=>\" && $$1 !~ /^(libc|libm|libstdc\\+\\+|libgcc_s)\\.so/ { print $$3 }' | " % target +
            "xargs -r install -m 755 -t $$root/lib",
        )
    for target in files:
        commands.append("cp -L $(location %s) $$root/" % target)
    for link, target in links.items():
        commands.append("mkdir -p $$(dirname $$root/%s)" % link)
        commands.append("ln -s %s $$root/%s" % (target, link))
    commands.append(
        "tar -C $$(dirname $$root) --sort=name --owner=0 --group=0 --numeric-owner " +
        "--mtime=@0 -czf $@ holdfast",
    )
    commands.append("rm -rf $$(dirname $$root)")
    native.genrule(
        name = name,
        testonly = True,  # tests are among the binaries
        srcs = binaries + libraries + files,
        outs = [name + ".tar.gz"],
        cmd = " && ".join(commands),
    )
