# SPDX-License-Identifier: Apache-2.0
"""Checks the manifests against Kubernetes' schema, and each other. kustomization_test.py checks how they are put together."""

import glob
import re
import sys
import unittest

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is missing")
    sys.exit(0)

from manifest_schema import check

_FOLDER = "deploy/kubernetes/manifests/"


def _documents():
    for path in sorted(glob.glob(_FOLDER + "**/*.yaml", recursive=True)):
        if not path.endswith("/kustomization.yaml"):
            with open(path, encoding="utf-8") as file:
                yield from yaml.safe_load_all(file)


def _text(path):
    with open(_FOLDER + path, encoding="utf-8") as file:
        return file.read()


def _of_kind(kind):
    return [document for document in _documents() if document["kind"] == kind]


class ManifestsTest(unittest.TestCase):
    def test_every_document_fits_the_schema(self):
        documents = list(_documents())
        self.assertGreaterEqual(len(documents), 7)
        for document in documents:
            self.assertEqual(check(document), [])

    def test_the_check_finds_faults(self):
        pod = _of_kind("Pod")[0]
        pod["spec"]["containers"][0]["resource"] = {}
        del pod["spec"]["containers"][0]["image"]
        pod["spec"]["restartPolicy"] = True
        self.assertEqual(
            check(pod),
            [
                "Pod.spec.restartPolicy is True",
                "Pod.spec.containers[0] has no image",
                "Pod.spec.containers[0].resource is unknown",
            ],
        )

    def test_names_refer_to_something(self):
        daemon_set = _of_kind("DaemonSet")[0]["spec"]
        pod = daemon_set["template"]["spec"]
        labels = daemon_set["template"]["metadata"]["labels"]
        self.assertEqual(daemon_set["selector"]["matchLabels"], labels)
        volumes = {volume["name"] for volume in pod["volumes"]}
        ports = set()
        for container in pod["containers"]:
            ports |= {port["name"] for port in container.get("ports", [])}
            for mount in container["volumeMounts"]:
                self.assertIn(mount["name"], volumes)
        accounts = {account["metadata"]["name"] for account in _of_kind("ServiceAccount")}
        self.assertIn(pod["serviceAccountName"], accounts)
        service = _of_kind("Service")[0]
        self.assertEqual(service["spec"]["selector"], labels)
        self.assertIn(service["spec"]["ports"][0]["targetPort"], ports)
        monitor = _of_kind("ServiceMonitor")[0]["spec"]
        self.assertEqual(monitor["selector"]["matchLabels"], service["metadata"]["labels"])
        self.assertEqual(monitor["endpoints"][0]["port"], service["spec"]["ports"][0]["name"])

    def test_a_claim_refers_to_a_class_and_a_slice(self):
        driver = _of_kind("ResourceSlice")[0]["spec"]["driver"]
        device_class = _of_kind("DeviceClass")[0]
        self.assertIn(f'"{driver}"', device_class["spec"]["selectors"][0]["cel"]["expression"])
        template = _of_kind("ResourceClaimTemplate")[0]
        devices = template["spec"]["spec"]["devices"]
        requests = {request["name"]: request["exactly"] for request in devices["requests"]}
        capacity = _of_kind("ResourceSlice")[0]["spec"]["devices"][0]["capacity"]
        for request in requests.values():
            self.assertEqual(request["deviceClassName"], device_class["metadata"]["name"])
            self.assertLessEqual(set(request["capacity"]["requests"]), set(capacity))
        for config in devices["config"] + device_class["spec"]["config"]:
            self.assertEqual(config["opaque"]["driver"], driver)
            self.assertEqual(config["opaque"]["parameters"]["kind"], "TenantParameters")
            self.assertLessEqual(set(config.get("requests", [])), set(requests))
        pod = next(pod["spec"] for pod in _of_kind("Pod") if "resourceClaims" in pod["spec"])
        claims = {claim["name"]: claim for claim in pod["resourceClaims"]}
        for claim in pod["containers"][0]["resources"]["claims"]:
            self.assertIn(claim["request"], requests)
            self.assertEqual(
                claims[claim["name"]]["resourceClaimTemplateName"], template["metadata"]["name"]
            )

    def test_pods_get_no_operators_socket_and_nothing_without_a_token(self):
        for policy in ("base/policy.toml", "components/tenants/policy.toml"):
            self.assertIn('\nunnamed = "refuse"\n', _text(policy))
        configuration = _text("base/holdfastd.toml")
        self.assertIn('policy = "/etc/holdfast/policy.toml"', configuration)
        socket = re.search(r'operator-socket = \["([^"]+)/[^/"]+"\]', configuration).group(1)
        pod = _of_kind("DaemonSet")[0]["spec"]["template"]["spec"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounts = [m for c in pod["containers"] for m in c["volumeMounts"] if m["mountPath"] == socket]
        self.assertEqual(len(mounts), len(pod["containers"]))
        for mount in mounts:
            self.assertIn("emptyDir", volumes[mount["name"]])

    def test_they_say_what_the_programs_do(self):
        with open("deploy/kubernetes/resource.h", encoding="utf-8") as file:
            source = file.read()
        domain = re.search(r'kDomain\[\] = "([^"]+)"', source).group(1)
        for resource in _of_kind("Pod")[0]["spec"]["containers"][0]["resources"]["limits"]:
            self.assertTrue(resource.startswith(domain))
            self.assertIn(f'"{resource.removeprefix(domain)}"', source)
        with open("deploy/kubernetes/main.cc", encoding="utf-8") as file:
            defaults = file.read()
        for container in _of_kind("DaemonSet")[0]["spec"]["template"]["spec"]["containers"]:
            if container["name"] == "device-plugin":
                for mount in container["volumeMounts"]:
                    path = mount["mountPath"]
                    told = any(f":{path}/" in argument for argument in container["args"])
                    self.assertTrue(told or f'"{path}' in defaults, path)
        with open("server/config/version.h", encoding="utf-8") as file:
            version = re.search(r'kVersion\[\] = "([^"]+)"', file.read()).group(1)
        pods = [pod["spec"] for pod in _of_kind("Pod")]
        pods.append(_of_kind("DaemonSet")[0]["spec"]["template"]["spec"])
        images = [container["image"] for pod in pods for container in pod["containers"]]
        self.assertEqual(set(images), {f"holdfast:{version}"})


if __name__ == "__main__":
    unittest.main()
