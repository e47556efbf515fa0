"""``--print-manifests`` is for a pipe: YAML on stdout, words on stderr; the real kubectl reads it."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from tests.docs.pages import ROOT
from tests.serve.kubernetes.cluster import Cluster, serving, skip_without_kubectl, write_kubeconfig
from whichbits.cli import exit_code

SEED = str(ROOT / "studies" / "a100-two-replicas.yaml")
KINDS = {
    "v1": {"Service": "services", "ServiceAccount": "serviceaccounts", "ConfigMap": "configmaps"},
    "apps/v1": {"Deployment": "deployments"},
    "batch/v1": {"Job": "jobs"},
    "networking.k8s.io/v1": {"NetworkPolicy": "networkpolicies"},
    "rbac.authorization.k8s.io/v1": {"Role": "roles", "RoleBinding": "rolebindings"},
}


def discovery() -> web.Application:
    """An API server with nothing in it, as far as kubectl asks before a dry run."""
    application = web.Application()
    names = [version.partition("/")[0] for version in KINDS if version != "v1"]
    groups = [{"name": name, "versions": [{"groupVersion": f"{name}/v1", "version": "v1"}]} for name in names]
    answers = {
        "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.4"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups},
    }
    for version, kinds in KINDS.items():
        resources = [
            {"name": name, "singularName": "", "namespaced": True, "kind": kind, "verbs": ["get", "create", "patch"]}
            for kind, name in kinds.items()
        ]
        path = f"/api/{version}" if version == "v1" else f"/apis/{version}"
        answers[path] = {"kind": "APIResourceList", "groupVersion": version, "resources": resources}

    async def answer(request: web.Request) -> web.Response:
        if request.path in answers:
            return web.json_response(answers[request.path])
        missing = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}
        return web.json_response(missing, status=404)

    application.router.add_get("/{path:.*}", answer)
    return application


@pytest.fixture
def empty_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    skip_without_kubectl()
    with serving(discovery()) as url:
        cluster = Cluster(tmp_path / "kubeconfig", url)
        write_kubeconfig(cluster)
        monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
        monkeypatch.setenv("HOME", str(tmp_path))  # where kubectl caches what it discovers
        yield


@pytest.mark.usefixtures("empty_cluster")
def test_kubectls_own_choice_of_a_namespace_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        "name: s\narms: {a: {weight_format: bf16, model: m, engine: vllm}}\ntraffic: {kind: chat}\nloads: [1]\n"
    )
    assert exit_code(["run", str(study), "--print-manifests"]) == 0
    applied = subprocess.run(
        ["kubectl", "apply", "--namespace=mine", "--dry-run=client", "--validate=false", "--filename=-", "-oyaml"],
        input=capsys.readouterr().out,
        capture_output=True,
        text=True,
        check=False,
    )

    assert applied.returncode == 0, applied.stderr
    (listed,) = yaml.safe_load_all(applied.stdout)
    assert {item["metadata"]["namespace"] for item in listed["items"]} == {"mine"}


@pytest.mark.usefixtures("empty_cluster")
def test_kubectl_would_apply_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", SEED, "--print-manifests", "--driver-image", "whichbits:0.1.0"]) == 0
    applied = subprocess.run(
        ["kubectl", "apply", "--dry-run=client", "--validate=false", "--filename=-"],
        input=capsys.readouterr().out,
        capture_output=True,
        text=True,
        check=False,
    )

    assert applied.returncode == 0, applied.stderr
    assert re.sub(r"-[0-9a-f]{8} ", "-HASH ", applied.stdout).splitlines() == [
        "deployment.apps/vllm-qwen3-14b created (dry run)",
        "service/vllm-qwen3-14b created (dry run)",
        "networkpolicy.networking.k8s.io/vllm-qwen3-14b created (dry run)",
        "deployment.apps/vllm-qwen3-14b-awq created (dry run)",
        "service/vllm-qwen3-14b-awq created (dry run)",
        "networkpolicy.networking.k8s.io/vllm-qwen3-14b-awq created (dry run)",
        "serviceaccount/a100-two-replicas-driver created (dry run)",
        "role.rbac.authorization.k8s.io/a100-two-replicas-driver created (dry run)",
        "rolebinding.rbac.authorization.k8s.io/a100-two-replicas-driver created (dry run)",
        "configmap/a100-two-replicas-driver-HASH created (dry run)",
        "job.batch/a100-two-replicas-driver-HASH created (dry run)",
    ]


def test_secrets_are_told_apart_from_the_manifests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        "name: s\narms: {a: {weight_format: bf16, model: m, engine: vllm, environment: {HF_TOKEN: hf_secret}}}\n"
        "traffic: {kind: chat}\nloads: [1]\n"
    )

    assert exit_code(["run", str(study), "--print-manifests", "--image", "mirror/vllm:1"]) == 0
    said = capsys.readouterr()
    deployment, _ = yaml.safe_load_all(said.out)
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "mirror/vllm:1"
    assert "kubectl create secret generic whichbits --from-literal=HF_TOKEN=..." in said.err
    assert "hf_secret" not in said.out + said.err


def test_what_no_manifests_are_written_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["run", "--print-manifests"]) == 2
    assert "not_deployable" in capsys.readouterr().err
    assert exit_code(["run", SEED, "--image", "x"]) == 2
    assert "images_without_manifests" in capsys.readouterr().err
