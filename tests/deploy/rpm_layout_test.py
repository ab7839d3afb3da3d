# SPDX-License-Identifier: Apache-2.0
"""Tests of deploy/rpm/layout.py: where the files of the Debian packages are in the RPM packages."""

import os
import shutil
import subprocess
import tempfile
import unittest

import layout


class RulesTest(unittest.TestCase):
    def test_files_are_where_rhel_has_them(self):
        for debian, rpm in {
            "lib/systemd/system/holdfastd.socket": "usr/lib/systemd/system/holdfastd.socket",
            "usr/lib/x86_64-linux-gnu/libholdfast.so.0": "usr/lib64/libholdfast.so.0",
            "usr/share/zsh/vendor-completions/_holdfast": "usr/share/zsh/site-functions/_holdfast",
            "usr/lib/holdfast/holdfastd": "usr/lib/holdfast/holdfastd",
            "etc/holdfast/holdfastd.toml": "etc/holdfast/holdfastd.toml",
        }.items():
            self.assertEqual(layout.place(debian), rpm)

    def test_what_debian_alone_reads_is_left_out(self):
        for path in ("usr/share/lintian/overrides/holdfastd", "usr/share/doc/holdfastd/copyright"):
            self.assertIsNone(layout.place(path))
        self.assertEqual(layout.place("usr/share/doc/holdfastd/README.md.gz"), "usr/share/doc/holdfastd/README.md.gz")

    def test_the_c_interface_is_there_without_what_needs_abseil(self):
        libraries = "usr/lib/x86_64-linux-gnu"
        examples = "usr/share/doc/libholdfast-dev/examples"
        for path in ("usr/include/holdfast.h", f"{libraries}/pkgconfig/holdfast.pc", f"{examples}/saxpy.c"):
            self.assertIsNotNone(layout.place(path))
        for path in (
            "usr/include/holdfast/holdfast.h",
            f"{libraries}/pkgconfig/holdfast-cpp.pc",
            f"{libraries}/libholdfast.a",
            f"{libraries}/cmake/holdfast/holdfastConfig.cmake",
            "usr/share/holdfast/bazel/WORKSPACE",
            f"{examples}/scale.cc",
            "usr/share/doc/libholdfast-dev/README.md",
        ):
            self.assertIsNone(layout.place(path))

    def test_only_what_a_user_changes_is_configuration(self):
        path = "etc/holdfast/holdfastd.toml"
        self.assertEqual(layout.entry(path, {path}), f"%config(noreplace) /{path}")
        self.assertEqual(layout.entry("usr/bin/holdfast", {path}), "/usr/bin/holdfast")
        self.assertEqual(layout.entry("usr/share/licenses/a/LICENSE", ()), "%license /usr/share/licenses/a/LICENSE")
        text = layout.place("usr/share/doc/libholdfast0/third-party/grpc.gz")
        self.assertEqual(text, "usr/share/licenses/holdfast-libs/grpc")
        self.assertEqual(layout.place("usr/share/doc/holdfastd/third-party/boost1.74"), "usr/share/licenses/holdfastd/boost1.74")
        self.assertEqual(layout.entry("usr/share/doc/holdfastd/README.md", ()), "%doc /usr/share/doc/holdfastd/README.md")

    def test_folders_of_the_system_are_not_owned(self):
        self.assertEqual(layout.own_folders("usr/share/man/man1/holdfast.1.gz"), [])
        folders = ["usr/lib/holdfast", "usr/lib/holdfast/cpu"]
        self.assertEqual(layout.own_folders("usr/lib/holdfast/cpu/libcuda.so"), folders)

    def test_the_systems_libraries_are_not_carried(self):
        listing = """
        linux-vdso.so.1 (0x00007ffc)
        libgrpc++.so.1.51 => /lib/x86_64-linux-gnu/libgrpc++.so.1.51 (0x00007f)
        libssl.so.3 => /lib/x86_64-linux-gnu/libssl.so.3 (0x00007f)
        libpthread.so.0 => /lib/x86_64-linux-gnu/libpthread.so.0 (0x00007f)
        libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)
        libcrypt.so.1 => /lib/x86_64-linux-gnu/libcrypt.so.1 (0x00007f)
        /lib64/ld-linux-x86-64.so.2 (0x00007f)
        """
        self.assertEqual([name for name, _ in layout.needed_libraries(listing)], ["libgrpc++.so.1.51", "libcrypt.so.1"])

    def test_a_library_that_is_missing_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "libgone.so.1"):
            layout.needed_libraries("\tlibgone.so.1 => not found\n")


@unittest.skipUnless(shutil.which("dpkg-deb"), "dpkg-deb makes the packages")
class LayOutTest(unittest.TestCase):
    """Packages of our own, with a file or two each."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = directory.name
        self.debs = [self.make_deb(name) for name in layout.PACKAGES]

    def make_deb(self, name):
        root = os.path.join(self.folder, "debs", name)
        control = f"Package: {name}\nVersion: 1\nArchitecture: amd64\nMaintainer: a <a@b.c>\nDescription: d\n"
        files = {"DEBIAN/control": control}
        if name == "holdfastd":
            files["DEBIAN/conffiles"] = "/etc/holdfast/holdfastd.toml\n"
            files["etc/holdfast/holdfastd.toml"] = ""
        if name == "libholdfast-dev":
            files["usr/lib/x86_64-linux-gnu/pkgconfig/holdfast.pc"] = "libdir=${prefix}/lib/x86_64-linux-gnu\n"
        for path, text in files.items():
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        deb = os.path.join(self.folder, f"{name}_1_amd64.deb")
        command = ["dpkg-deb", "--build", "--root-owner-group", "-Znone", root, deb]
        subprocess.run(command, check=True, capture_output=True)
        return deb

    def read(self, name):
        with open(os.path.join(self.folder, "staged", name), encoding="utf-8") as file:
            return file.read()

    def test_packages_list_their_files(self):
        os.mkdir(os.path.join(self.folder, "staged"))
        layout.lay_out(os.path.join(self.folder, "staged"), self.debs)
        lines = ["%dir /etc/holdfast", "%config(noreplace) /etc/holdfast/holdfastd.toml"]
        self.assertLessEqual(set(lines), set(self.read("holdfastd.files").splitlines()))
        self.assertIn("libdir=${prefix}/lib64\n", self.read("tree/usr/lib64/pkgconfig/holdfast.pc"))
        self.assertIn("Apache License", self.read("tree/usr/share/licenses/holdfast-cpu/LICENSE"))

    def test_a_package_that_is_missing_is_an_error(self):
        os.mkdir(os.path.join(self.folder, "staged"))
        with self.assertRaises(KeyError):
            layout.lay_out(os.path.join(self.folder, "staged"), self.debs[1:])


if __name__ == "__main__":
    unittest.main()
