# SPDX-License-Identifier: Apache-2.0
"""deploy/sbom.py, with the packages of this machine."""

import os
import tempfile
import unittest

import sbom


class SbomTest(unittest.TestCase):
    def _texts(self, packages, common=False):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        sbom.write_texts(folder.name, packages, common)
        return folder.name

    def test_every_library_of_the_bill_has_a_text(self):
        folder = self._texts(sbom.linked_packages())
        sources = {entry["properties"][0]["value"].split()[0] for entry in sbom.bill("0")["components"]}
        self.assertEqual(sources, set(os.listdir(folder)))
        for source in sources:
            self.assertGreater(os.path.getsize(os.path.join(folder, source)), 500, source)

    def test_a_program_has_the_texts_of_its_own_libraries(self):
        packages = sbom.packages_of(["@system//:absl_status", "@system//:llvm"])
        sources = set(os.listdir(self._texts(packages)))
        self.assertLessEqual({"abseil", "llvm-toolchain-19", "zlib", "libzstd"}, sources)
        self.assertNotIn("grpc", sources)

    def test_an_unknown_library_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "@system//:nothing"):
            sbom.packages_of(["@system//:nothing"])

    def test_boost_is_named_by_its_version_and_told_in_short(self):
        folder = self._texts(["libboost-dev"])
        (source,) = os.listdir(folder)
        self.assertRegex(source, r"^boost\d")
        with open(os.path.join(folder, source), encoding="utf-8") as file:
            text = file.read()
        self.assertLess(len(text), 100_000)
        self.assertRegex(text, r"(?m)^License: BSL-1\.0\n +\S")
        self.assertIn("libs/asio/*", text)

    def test_common_licences_that_are_named_are_there(self):
        folder = self._texts(["libabsl-dev"], common=True)
        self.assertEqual(os.listdir(os.path.join(folder, "common-licenses")), ["Apache-2.0"])


if __name__ == "__main__":
    unittest.main()
