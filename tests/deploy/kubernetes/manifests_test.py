# SPDX-License-Identifier: Apache-2.0
"""Checks the manifests against the part of Kubernetes' schema that they use, and each other.

A field that the schema below does not know is an error, as it is for the API server's strict validation.
"""

import glob
import re
import sys
import unittest

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is missing")
    sys.exit(0)

_FOLDER = "deploy/kubernetes/manifests/"

# A type, [schema of each item], {"*": schema of each value}, or a dict of fields; "!" marks those required.
_TEXTS = {"*": str}
_META = {"name!": str, "namespace": str, "labels": _TEXTS}
_SECURITY = {
    "privileged": bool,
    "runAsUser": int,
    "allowPrivilegeEscalation": bool,
    "readOnlyRootFilesystem": bool,
    "capabilities": {"drop": [str], "add": [str]},
}
_QUANTITIES = {"*": (str, int)}
_CONTAINER = {
    "name!": str,
    "image!": str,
    "args": [str],
    "env": [{"name!": str, "value!": str}],
    "ports": [{"name": str, "containerPort!": int}],
    "resources": {
        "requests": _QUANTITIES,
        "limits": _QUANTITIES,
        "claims": [{"name!": str, "request": str}],
    },
    "securityContext": _SECURITY,
    "volumeMounts": [{"name!": str, "mountPath!": str, "readOnly": bool}],
}
_POD = {
    "serviceAccountName": str,
    "automountServiceAccountToken": bool,
    "nodeSelector": _TEXTS,
    "priorityClassName": str,
    "runtimeClassName": str,
    "terminationGracePeriodSeconds": int,
    "restartPolicy": str,
    "resourceClaims": [
        {"name!": str, "resourceClaimName": str, "resourceClaimTemplateName": str}
    ],
    "containers!": [_CONTAINER],
    "volumes": [
        {"name!": str, "hostPath": {"path!": str, "type": str}, "configMap": {"name!": str}, "emptyDir": {}}
    ],
}
_SELECTOR = {"matchLabels!": _TEXTS}
# Kinds of resource.k8s.io/v1: what a driver publishes, and what a claim may ask of it.
_CEL = [{"cel!": {"expression!": str}}]
_QUANTITY = (str, int)
_OPAQUE = {
    "driver!": str,
    # Ours: the options of `holdfast tenants create`.
    "parameters!": {
        "apiVersion!": str,
        "kind!": str,
        "memory": _QUANTITY,
        "reserve": _QUANTITY,
        "sessions": int,
        "weight": int,
        "compileTime": str,
        "compileRequests": int,
    },
}
_DEVICE = {
    "name!": str,
    "allowMultipleAllocations": bool,
    "attributes": {"*": {"string": str, "int": int, "bool": bool, "version": str}},
    "capacity": {
        "*": {
            "value!": _QUANTITY,
            "requestPolicy": {
                "default": _QUANTITY,
                "validRange": {"min!": _QUANTITY, "max": _QUANTITY, "step": _QUANTITY},
            },
        }
    },
}
_CLAIM = {
    "devices!": {
        "requests!": [
            {
                "name!": str,
                "exactly!": {
                    "deviceClassName!": str,
                    "selectors": _CEL,
                    "allocationMode": str,
                    "count": int,
                    "capacity": {"requests!": {"*": _QUANTITY}},
                },
            }
        ],
        "config": [{"requests": [str], "opaque!": _OPAQUE}],
    }
}
_KINDS = {
    ("v1", "Namespace"): {},
    ("v1", "ServiceAccount"): {"automountServiceAccountToken": bool},
    ("v1", "ConfigMap"): {"data!": _TEXTS},
    ("v1", "Pod"): {"spec!": _POD},
    ("v1", "Service"): {
        "spec!": {
            "clusterIP": str,
            "selector!": _TEXTS,
            "ports!": [{"name": str, "port!": int, "targetPort": (str, int)}],
        }
    },
    ("apps/v1", "DaemonSet"): {
        "spec!": {
            "selector!": _SELECTOR,
            "updateStrategy": {"type!": str},
            "template!": {"metadata!": {"labels!": _TEXTS}, "spec!": _POD},
        }
    },
    ("resource.k8s.io/v1", "ResourceSlice"): {
        "spec!": {
            "driver!": str,
            "nodeName": str,
            "pool!": {"name!": str, "generation!": int, "resourceSliceCount!": int},
            "devices": [_DEVICE],
        }
    },
    ("resource.k8s.io/v1", "DeviceClass"): {
        "spec!": {"selectors": _CEL, "config": [{"opaque!": _OPAQUE}]}
    },
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): {"spec!": {"spec!": _CLAIM}},
    ("monitoring.coreos.com/v1", "ServiceMonitor"): {
        "spec!": {"selector!": _SELECTOR, "endpoints!": [{"port!": str, "interval": str}]}
    },
}


def _faults(value, schema, path):
    """What is wrong with a value, one line each."""
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{path} is no list"]
        return [f for i, item in enumerate(value) for f in _faults(item, schema[0], f"{path}[{i}]")]
    if not isinstance(schema, dict):
        right = isinstance(value, schema) and (schema == bool or not isinstance(value, bool))
        return [] if right else [f"{path} is {value!r}"]
    if not isinstance(value, dict):
        return [f"{path} is no object"]
    if "*" in schema:
        return [f for key, item in value.items() for f in _faults(item, schema["*"], f"{path}.{key}")]
    fields = {name.rstrip("!"): inner for name, inner in schema.items()}
    missing = [n.rstrip("!") for n in schema if n.endswith("!") and n.rstrip("!") not in value]
    found = [f"{path} has no {name}" for name in missing]
    for key, item in value.items():
        found += _faults(item, fields[key], f"{path}.{key}") if key in fields else [f"{path}.{key} is unknown"]
    return found


def check(document):
    kind = (document.get("apiVersion"), document.get("kind"))
    if kind not in _KINDS:
        return [f"{kind} is no kind that the schema knows"]
    common = {"apiVersion!": str, "kind!": str, "metadata!": _META}
    return _faults(document, {**common, **_KINDS[kind]}, kind[1])


def _documents():
    for path in sorted(glob.glob(_FOLDER + "*.yaml")):
        with open(path, encoding="utf-8") as file:
            yield from yaml.safe_load_all(file)


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
        data = _of_kind("ConfigMap")[0]["data"]
        self.assertIn('unnamed = "refuse"', data["policy.toml"])
        self.assertIn('policy = "/etc/holdfast/policy.toml"', data["holdfastd.toml"])
        socket = re.search(r'operator-socket = \["([^"]+)/[^/"]+"\]', data["holdfastd.toml"]).group(1)
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
