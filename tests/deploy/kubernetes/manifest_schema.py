# SPDX-License-Identifier: Apache-2.0
"""The part of Kubernetes' schema that the manifests use.

A field that the schema does not know is an error, as it is for the API server's strict validation.
"""

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
    "readinessProbe": {
        "httpGet!": {"path!": str, "port!": (str, int)},
        "periodSeconds": int,
        "failureThreshold": int,
    },
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
    """What is wrong with a document, one line each."""
    kind = (document.get("apiVersion"), document.get("kind"))
    if kind not in _KINDS:
        return [f"{kind} is no kind that the schema knows"]
    common = {"apiVersion!": str, "kind!": str, "metadata!": _META}
    return _faults(document, {**common, **_KINDS[kind]}, kind[1])
