"""The Kubernetes files against the API's types, Braid's settings and command line, and one another."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import yaml
from lightkube.models import apps_v1, autoscaling_v2, core_v1, networking_v1, policy_v1

from braid.app.readiness import READING
from braid.app.server import OVERDUE_S
from braid.core.errors import InvalidInputError
from tests.deploy.named import DEPLOY, check_command, check_image, check_settings, check_values

BASE = DEPLOY / "kubernetes" / "base"
KINDS: dict[tuple[str, str], type[msgspec.Struct]] = {
    ("apps/v1", "Deployment"): apps_v1.Deployment,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): autoscaling_v2.HorizontalPodAutoscaler,
    ("networking.k8s.io/v1", "Ingress"): networking_v1.Ingress,
    ("networking.k8s.io/v1", "NetworkPolicy"): networking_v1.NetworkPolicy,
    ("policy/v1", "PodDisruptionBudget"): policy_v1.PodDisruptionBudget,
    **{("v1", kind): getattr(core_v1, kind) for kind in ("ConfigMap", "PersistentVolumeClaim", "Secret", "Service")},
}

Object = dict[str, Any]


def _objects(*names: str) -> Iterator[Object]:
    for name in names:
        yield from yaml.safe_load_all((BASE / name).read_text())


KUSTOMIZATION: Object = next(_objects("kustomization.yaml"))
ALL: dict[tuple[str, str], Object] = {
    (each["kind"], each["metadata"]["name"]): each
    for each in _objects(*KUSTOMIZATION["resources"], "secret.example.yaml")
}
PARTS = ("web", "worker")


def _pod(part: str) -> Object:
    spec: Object = ALL["Deployment", f"braid-{part}"]["spec"]["template"]["spec"]
    return spec


def _container(part: str) -> Object:
    (container,) = _pod(part)["containers"]
    return dict(container)


def _check(found: Object) -> None:
    """Fail where the API has another type, lacks a field that it needs, or knows none of this name."""
    typed = msgspec.convert(found, KINDS[found["apiVersion"], found["kind"]])
    assert _filled(json.loads(msgspec.json.encode(typed))) == _filled(found)


def _filled(value: Any) -> Any:
    """The value without what is empty, which the types leave out."""
    if isinstance(value, dict):
        return {key: _filled(each) for key, each in value.items() if each not in ({}, None)}
    return [_filled(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", ALL, ids="-".join)
def test_every_object_is_one_of_the_api(name: tuple[str, str]) -> None:
    _check(ALL[name])


def test_a_field_of_another_name_or_type_is_noticed() -> None:
    service = ALL["Service", "braid"]
    with pytest.raises(AssertionError):
        _check({**service, "spec": {**service["spec"], "selektor": {"a": "b"}}})
    with pytest.raises(msgspec.ValidationError):
        _check({**service, "spec": {**service["spec"], "ports": "80"}})


def test_the_kustomization_names_every_file_and_sets_the_image() -> None:
    files = {path.name for path in BASE.iterdir()} - {"kustomization.yaml", "secret.example.yaml"}
    assert set(KUSTOMIZATION["resources"]) == files
    (image,) = KUSTOMIZATION["images"]
    for part in PARTS:
        assert _container(part)["image"] == image["name"]
    check_image(f"{image['newName']}:{image['newTag']}")


def test_settings_are_settings_with_values_that_braid_takes() -> None:
    configured: Object = ALL["ConfigMap", "braid"]["data"]
    example: Object = ALL["Secret", "braid"]["stringData"]
    secret = example | {"BRAID_SECRET_KEY": "k" * 43, "BRAID_METRICS_TOKENS": "t" * 43}
    s3 = set(re.findall(r"BRAID_\w+", (DEPLOY / "kubernetes" / "s3" / "kustomization.yaml").read_text()))
    for part in PARTS:
        own = {each["name"]: each.get("value", "10.0.0.1") for each in _container(part)["env"]}
        for name in own:
            own["BRAID_ALLOWED_HOSTS"] = own["BRAID_ALLOWED_HOSTS"].replace(f"$({name})", own[name])
        assert own["BRAID_ALLOWED_HOSTS"] == "10.0.0.1,10.0.0.1"
        check_settings([*configured, *secret, *own, *s3])
        check_values({**configured, **secret, **own})
        for name in ("BRAID_SECRET_KEY", "BRAID_METRICS_TOKENS"):
            with pytest.raises(InvalidInputError):  # what everybody knows is no secret
                check_values({**configured, **secret, **own, name: example[name]})
        assert [next(iter(each)) for each in _container(part)["envFrom"]] == ["configMapRef", "secretRef"]
        assert _pod(part)["enableServiceLinks"] is False, "a Service named braid makes BRAID_PORT tcp://…"


@pytest.mark.parametrize("part", PARTS)
def test_a_process_is_started_probed_and_ended_as_it_needs(part: str) -> None:
    pod, container = _pod(part), _container(part)
    check_command(container["args"])
    (port,) = container["ports"]
    assert f"EXPOSE {port['containerPort']}\n" in (DEPLOY / "Dockerfile").read_text()
    probes = {kind: container[f"{kind}Probe"] for kind in ("startup", "liveness", "readiness")}
    paths = {kind: probe["httpGet"]["path"] for kind, probe in probes.items()}
    assert paths == {"startup": "/healthz", "liveness": "/healthz", "readiness": f"/readyz?for={READING}"}
    for probe in probes.values():
        assert probe["httpGet"]["port"] == port["name"]
        assert probe["httpGet"]["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
    before = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] > OVERDUE_S + before


@pytest.mark.parametrize("part", PARTS)
def test_a_process_may_do_nothing_that_it_need_not(part: str) -> None:
    pod, container = _pod(part), _container(part)
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    user = pod["securityContext"]["runAsUser"]
    assert f"USER {user}:{pod['securityContext']['runAsGroup']}\n" in (DEPLOY / "Dockerfile").read_text()
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/data", "/tmp"}
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert set(container["resources"]["limits"]) == {"memory"}


def test_a_worker_has_the_memory_that_its_readers_may_take() -> None:
    configured: Object = ALL["ConfigMap", "braid"]["data"]
    needed = (int(configured["BRAID_JOB_WORKERS"]) + 1) * int(configured["BRAID_PARSE_MEMORY_MB"]) + 512
    limit = _container("worker")["resources"]["limits"]["memory"]
    assert int(limit.removesuffix("Gi")) * 1024 >= needed


def test_what_is_named_is_there() -> None:
    names = {kind: {name for each, name in ALL if each == kind} for kind, _ in ALL}
    for part in PARTS:
        (claim,) = [volume["persistentVolumeClaim"] for volume in _pod(part)["volumes"] if volume["name"] == "data"]
        assert claim["claimName"] in names["PersistentVolumeClaim"]
        scaled = ALL["HorizontalPodAutoscaler", f"braid-{part}"]["spec"]
        assert scaled["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"braid-{part}"}
        assert scaled["minReplicas"] >= 2
        assert "replicas" not in ALL["Deployment", f"braid-{part}"]["spec"], "the autoscaler's"
        label = {"app.kubernetes.io/component": part}
        assert ALL["Deployment", f"braid-{part}"]["spec"]["selector"]["matchLabels"] == label
        assert ALL["PodDisruptionBudget", f"braid-{part}"]["spec"]["selector"]["matchLabels"] == label
    service = ALL["Service", "braid"]["spec"]
    assert service["selector"] == {"app.kubernetes.io/component": "web"}
    assert {port["targetPort"] for port in service["ports"]} == {"http"}
    assert ALL["PersistentVolumeClaim", "braid-data"]["spec"]["accessModes"] == ["ReadWriteMany"]
    prometheus = yaml.safe_load((DEPLOY / "prometheus-fleet.yml").read_text())
    (found,) = prometheus["scrape_configs"][0]["dns_sd_configs"]
    assert found["names"][0].split(".")[0] in names["Service"]
    assert found["port"] == _container("web")["ports"][0]["containerPort"]


def test_the_ingress_leads_to_the_service_and_does_not_buffer() -> None:
    ingress = ALL["Ingress", "braid"]
    options = {name.rpartition("/")[2]: value for name, value in ingress["metadata"]["annotations"].items()}
    assert options["proxy-buffering"] == options["proxy-request-buffering"] == "off"
    assert options["proxy-body-size"] == "0"
    (rule,) = ingress["spec"]["rules"]
    assert rule["host"] == ALL["ConfigMap", "braid"]["data"]["PUBLIC_NAME"]
    assert rule["http"]["paths"][0]["backend"]["service"] == {"name": "braid", "port": {"name": "http"}}


def test_only_the_ingress_controller_and_prometheus_reach_a_process() -> None:
    reach = {"web": {"ingress-nginx", "monitoring"}, "worker": {"monitoring"}}
    assert ALL["ConfigMap", "braid"]["data"]["BRAID_TRUSTED_PROXIES"] == "1", (
        "who comes past the proxy can say who it is"
    )
    for part in PARTS:
        policy: Object = ALL["NetworkPolicy", f"braid-{part}"]["spec"]
        labels = ALL["Deployment", f"braid-{part}"]["spec"]["template"]["metadata"]["labels"]
        assert policy["podSelector"]["matchLabels"] == labels
        assert policy["policyTypes"] == ["Ingress"]
        (rule,) = policy["ingress"]
        assert rule["ports"] == [{"port": _container(part)["ports"][0]["name"]}]
        # by namespace alone: kustomize would add the label of Braid to a selector of pods
        assert [list(each) for each in rule["from"]] == [["namespaceSelector"]] * len(rule["from"])
        names = [each["namespaceSelector"]["matchLabels"] for each in rule["from"]]
        assert {each["kubernetes.io/metadata.name"] for each in names} == reach[part]


@pytest.mark.parametrize("name", ["base", "s3"])
def test_kustomize_builds_them(name: str) -> None:
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("kubectl is not installed")
    done = subprocess.run([program, "kustomize", str(BASE.parent / name)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    built = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(done.stdout)}
    for each in built.values():
        _check(each)
    pod = built["Deployment", "braid-web"]["spec"]["template"]
    chosen = built["Service", "braid"]["spec"]["selector"].items()
    assert chosen <= pod["metadata"]["labels"].items()
    volumes = {volume["name"]: list(set(volume) - {"name"}) for volume in pod["spec"]["volumes"]}
    shared = "persistentVolumeClaim" if name == "base" else "emptyDir"
    assert volumes["data"] == [shared]
    assert (("PersistentVolumeClaim", "braid-data") in built) == (name == "base")
    assert ("BRAID_FILES_URL" in built["ConfigMap", "braid"]["data"]) == (name == "s3")
