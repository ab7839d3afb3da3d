# SPDX-License-Identifier: Apache-2.0
"""Renders the kustomizations as a cluster's operator does, and checks what comes out.

Kubernetes' own types read it, too: `kubectl set image --local` decodes pods and DaemonSets, refuses values of wrong
types, and drops fields that it does not know.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is missing")
    sys.exit(0)

from manifest_schema import check

_FOLDER = "deploy/kubernetes/manifests"
_COMPONENTS = ("cpu", "monitoring", "tenants")


def _kubectl(*arguments, **options):
    # A folder that is not there: no cluster is configured, whatever the user has.
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    return subprocess.run(
        ["kubectl", *arguments], env=environment, capture_output=True, text=True, check=False, **options
    )


def _kustomize_version():
    """Major and minor version of kubectl's kustomize; none where it does not say: kubectl before 1.25."""
    if shutil.which("kubectl") is None:
        return None
    said = re.search(r"Kustomize Version: v(\d+)\.(\d+)", _kubectl("version", "--client").stdout)
    return said and tuple(map(int, said.groups()))


def _missing(document, other, path="document"):
    """The fields of a document that another one does not have, or has with another value."""
    if isinstance(document, dict) and isinstance(other, dict):
        return [
            fault
            for key, value in document.items()
            for fault in (
                _missing(value, other[key], f"{path}.{key}") if key in other else [f"{path}.{key} is unknown"]
            )
        ]
    if isinstance(document, list) and isinstance(other, list) and len(document) == len(other):
        return [
            fault for i, value in enumerate(document) for fault in _missing(value, other[i], f"{path}[{i}]")
        ]
    # Quantities are texts in Kubernetes' own types.
    return [] if other in (document, str(document)) else [f"{path} is {document!r}, not {other!r}"]


def _of_kind(documents, kind):
    return [document for document in documents if document["kind"] == kind]


def _containers(documents):
    daemon_set = _of_kind(documents, "DaemonSet")[0]
    return {container["name"]: container for container in daemon_set["spec"]["template"]["spec"]["containers"]}


@unittest.skipUnless(_kustomize_version(), "kubectl 1.25 or newer is missing")
class KustomizationTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        # kubectl follows no link out of the folder, and Bazel's files are links.
        self.folder = os.path.join(scratch.name, "manifests")
        shutil.copytree(_FOLDER, self.folder)

    def _render(self, folder):
        result = _kubectl("kustomize", os.path.join(self.folder, folder))
        self.assertEqual((result.returncode, result.stderr), (0, ""), folder)
        return list(yaml.safe_load_all(result.stdout))

    def _with(self, components):
        """The base with some of the components, as an operator's own kustomization has it."""
        own = os.path.join(self.folder, "own")
        os.makedirs(own, exist_ok=True)
        kustomization = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": ["../base"],
            "components": [f"../components/{name}" for name in components],
        }
        with open(os.path.join(own, "kustomization.yaml"), "w", encoding="utf-8") as file:
            yaml.safe_dump(kustomization, file)
        return self._render("own")

    def _each(self):
        """What each choice of components, and the cluster that is to be copied, come to."""
        for count in range(len(_COMPONENTS) + 1):
            for components in itertools.combinations(_COMPONENTS, count):
                yield components, self._with(components)
        yield "cluster", self._render("cluster")

    def test_every_component_is_known_here(self):
        self.assertEqual(sorted(os.listdir(os.path.join(self.folder, "components"))), sorted(_COMPONENTS))

    def test_every_choice_of_components_fits_the_schema(self):
        for name, documents in self._each():
            with self.subTest(name):
                self.assertEqual([fault for document in documents for fault in check(document)], [])
                kinds = [document["kind"] for document in documents]
                self.assertEqual(len(kinds), len(set(kinds)))
                self.assertLessEqual({"Namespace", "ServiceAccount", "ConfigMap", "DaemonSet"}, set(kinds))

    def test_the_daemon_reads_the_config_map_that_was_made(self):
        for name, documents in self._each():
            with self.subTest(name):
                volumes = _of_kind(documents, "DaemonSet")[0]["spec"]["template"]["spec"]["volumes"]
                config_map = _of_kind(documents, "ConfigMap")[0]["metadata"]
                self.assertIn({"name": "configuration", "configMap": {"name": config_map["name"]}}, volumes)
                for document in documents:
                    if document["kind"] != "Namespace":
                        self.assertEqual(document["metadata"]["namespace"], "holdfast")

    def test_kubernetes_types_know_every_field(self):
        for name, documents in self._each():
            with self.subTest(name):
                self._check_by_types(_of_kind(documents, "DaemonSet")[0])
        for path in ("pods/pod.yaml", "pods/resource-claim.yaml"):
            with open(os.path.join(self.folder, path), encoding="utf-8") as file:
                for pod in _of_kind(yaml.safe_load_all(file), "Pod"):
                    self._check_by_types(pod)

    def _check_by_types(self, document):
        self.assertEqual(self._faults_by_types(document), [])

    def _faults_by_types(self, document):
        pod = document["spec"]["template"]["spec"] if document["kind"] == "DaemonSet" else document["spec"]
        result = _kubectl(
            "set", "image", "--local", "--filename=-", "*=other:1", "--output=json", input=json.dumps(document)
        )
        if result.returncode != 0:
            return [result.stderr.strip()]
        for container in pod["containers"]:
            container["image"] = "other:1"
        return _missing(document, json.loads(result.stdout))

    def test_the_check_by_types_finds_faults(self):
        daemon_set = _of_kind(self._render("base"), "DaemonSet")[0]
        daemon_set["spec"]["updateStrategi"] = {"type": "OnDelete"}
        self.assertEqual(self._faults_by_types(daemon_set), ["document.spec.updateStrategi is unknown"])
        del daemon_set["spec"]["updateStrategi"]
        daemon_set["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = "ninety"
        self.assertIn("terminationGracePeriodSeconds", self._faults_by_types(daemon_set)[0])

    def test_components_change_what_they_are_for(self):
        plain = _containers(self._with([]))
        self.assertNotIn("--group=pods", plain["device-plugin"]["args"])
        tenants = self._with(["tenants"])
        self.assertEqual(
            _containers(tenants)["device-plugin"]["args"], plain["device-plugin"]["args"] + ["--group=pods"]
        )
        self.assertIn("[groups.pods]", _of_kind(tenants, "ConfigMap")[0]["data"]["policy.toml"])
        processor = self._with(["cpu"])
        self.assertEqual(_containers(processor)["holdfastd"]["args"], plain["holdfastd"]["args"] + ["--device=cpu"])
        pod = _of_kind(processor, "DaemonSet")[0]["spec"]["template"]["spec"]
        self.assertNotIn("runtimeClassName", pod)
        self.assertEqual(len(_of_kind(self._with(["monitoring"]), "ServiceMonitor")), 1)

    def test_cluster_has_the_registry_of_its_own(self):
        here, there = (
            {container["image"] for container in _containers(self._render(folder)).values()}
            for folder in ("base", "cluster")
        )
        self.assertEqual({f"registry.example/{image}" for image in here}, there)

    def test_a_copy_of_cluster_takes_a_policy_and_a_configuration_of_its_own(self):
        shutil.copytree(os.path.join(self.folder, "cluster"), os.path.join(self.folder, "own"))
        shutil.copytree(os.path.join(self.folder, "components/tenants"), os.path.join(self.folder, "own/tenants"))
        self._change("own/tenants/policy.toml", "thread-percentage = 25", "thread-percentage = 50")
        self._change("own/kustomization.yaml", "components: []", "components:\n  - tenants")
        # As the comments at its end propose.
        self._change("own/kustomization.yaml", "# configMapGenerator:\n#   ", "configMapGenerator:\n  ")
        self._change("own/kustomization.yaml", "\n#     ", "\n    ")
        shutil.copy(os.path.join(self.folder, "base/holdfastd.toml"), os.path.join(self.folder, "own"))
        self._change("own/holdfastd.toml", 'device = "cuda"', 'device = "cuda"\nmax-sessions = 32')
        made = _of_kind(self._render("own"), "ConfigMap")[0]["data"]
        self.assertIn("thread-percentage = 50", made["policy.toml"])
        self.assertIn("max-sessions = 32", made["holdfastd.toml"])

    def _change(self, path, old, new):
        path = os.path.join(self.folder, path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(old, text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))

    def test_the_daemon_accepts_each_configuration(self):
        for name, documents in self._each():
            with self.subTest(name), tempfile.TemporaryDirectory() as root:
                for mounted in ("etc/holdfast", "run/holdfast", "run/holdfast-operators"):
                    os.makedirs(os.path.join(root, mounted))
                for file_name, text in _of_kind(documents, "ConfigMap")[0]["data"].items():
                    with open(os.path.join(root, "etc/holdfast", file_name), "w", encoding="utf-8") as file:
                        file.write(re.sub(r"(?=/(etc|run)/holdfast)", root, text))
                arguments = [
                    argument.replace("/etc/holdfast", f"{root}/etc/holdfast")
                    for argument in _containers(documents)["holdfastd"]["args"][1:]
                ]
                if "--device=cpu" not in arguments:
                    # This machine need not have a GPU.
                    arguments.append("--device=cpu")
                result = subprocess.run(
                    [os.environ["HOLDFAST_DAEMON"], "--check-config", *arguments],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
