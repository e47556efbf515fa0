"""Manifests are what Kubernetes takes, say what the study says, and hold no secret."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.docs.pages import ROOT, page
from whichbits.errors import BadInput
from whichbits.serve.kubernetes.manifests import Images, as_yaml, manifests
from whichbits.serve.kubernetes.manifests.driver import SCRIPT, role_rules
from whichbits.serve.kubernetes.manifests.names import dns_name, hashed_name
from whichbits.study.model import Study
from whichbits.study.read import parse_study, read_study

SEED = ROOT / "studies" / "a100-two-replicas.yaml"
SERVERS = Images()
DRIVER = Images(driver="registry.example.org/whichbits:0.1.0")


def study(arm: dict[str, Any], **changes: Any) -> Study:
    asked = {
        "name": "Two.Bits",
        "arms": {"four": {"weight_format": "w4a16", "model": "org/model", "engine": "vllm"} | arm},
        "traffic": {"kind": "chat"},
        "loads": [1],
    }
    return Study.model_validate(asked | changes)


def written(study: Study, images: Images = SERVERS) -> list[dict[str, Any]]:
    """What a reader of the YAML gets."""
    return list(yaml.safe_load_all(as_yaml(manifests(study, images))))


def of_kind(documents: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [document for document in documents if document["kind"] == kind]


def container(study: Study) -> dict[str, Any]:
    (deployment,) = of_kind(written(study), "Deployment")
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    assert isinstance(only, dict)
    return only


def pairs(args: list[str]) -> dict[str, str | None]:
    """Flags with their values, None for switches."""
    following = [*args[1:], "--"]
    return {
        flag: None if value.startswith("--") else value
        for flag, value in zip(args, following, strict=True)
        if flag.startswith("--")
    }


STUDIES = {
    "seed": read_study(SEED),
    "secrets": study({"tensor_parallel_size": 2, "environment": {"HF_TOKEN": "hf_1", "A": "1"}}, cache="reset"),
    "gpu": study({}, gpu="L4"),
    "key": study({"target": {"kubernetes": {"service": "llm", "namespace": "ml"}, "api_key_variable": "LLM_KEY"}}),
}


@pytest.mark.parametrize("version", ["1.25", "1.33"])
@pytest.mark.parametrize("name", STUDIES)
def test_kubernetes_takes_them(name: str, version: str) -> None:
    asked, kinds = STUDIES[name], []
    for document in written(asked, DRIVER):
        kubernetes_validate.validate(document, version, strict=True)
        kinds.append(document["kind"])

    driver = ["ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Job"]
    server = ["Deployment", "Service", *(["NetworkPolicy"] if asked.cache == "reset" else [])]
    assert kinds == server * len(asked.arms) + driver


def test_the_validator_would_notice() -> None:
    (deployment, _) = written(study({}))
    deployment["spec"]["template"]["spec"]["containers"][0]["argz"] = []

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(deployment, "1.33", strict=True)


def test_the_setup_of_two_replicas_with_a_gpu_each() -> None:
    documents = written(read_study(SEED))
    bf16, awq = of_kind(documents, "Deployment")
    service = of_kind(documents, "Service")[1]

    assert (bf16["spec"]["replicas"], awq["spec"]["replicas"]) == (2, 2)
    (served,) = awq["spec"]["template"]["spec"]["containers"]
    assert served["image"] == "vllm/vllm-openai:v0.11.0"
    assert pairs(served["args"]) == {
        "--model": "Qwen/Qwen3-14B-AWQ",
        "--served-model-name": "Qwen/Qwen3-14B-AWQ",
        "--host": "0.0.0.0",
        "--port": "8000",
        "--max-model-len": "8192",
        "--gpu-memory-utilization": "0.9",
        "--enable-prefix-caching": None,
        "--block-size": "16",
        "--disable-uvicorn-access-log": None,
    }
    assert served["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert served["startupProbe"]["periodSeconds"] * served["startupProbe"]["failureThreshold"] == 1800
    assert {"name": "VLLM_SERVER_DEV_MODE", "value": "1"} in served["env"]
    assert service["metadata"]["name"] == "vllm-qwen3-14b-awq"
    labels = awq["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == awq["spec"]["selector"]["matchLabels"] == labels
    assert labels != bf16["spec"]["template"]["metadata"]["labels"]


def test_in_development_mode_only_labelled_pods_reach_the_port() -> None:
    apart = study(
        {},
        cache="reset",
        arms={
            name: {"weight_format": "bf16", "model": "m", "engine": "vllm"}
            | {"target": {"kubernetes": {"service": name, "namespace": namespace}}}
            for name, namespace in (("one", "here"), ("two", "there"))
        },
    )
    documents = written(apart, DRIVER)
    near, far = of_kind(documents, "NetworkPolicy")
    (job,) = of_kind(documents, "Job")
    sender = {"podSelector": {"matchLabels": {"whichbits/client": "true"}}}

    assert job["metadata"]["namespace"] == "here"
    assert job["spec"]["template"]["metadata"]["labels"] == sender["podSelector"]["matchLabels"]
    deployment = of_kind(documents, "Deployment")[0]
    assert near["spec"]["podSelector"] == deployment["spec"]["selector"]
    assert near["spec"]["policyTypes"] == ["Ingress"]
    assert near["spec"]["ingress"] == [{"from": [sender], "ports": [{"protocol": "TCP", "port": 8000}]}]
    namespace = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "here"}}}
    assert far["spec"]["ingress"][0]["from"] == [sender, namespace | sender]
    assert "VLLM_SERVER_DEV_MODE=1" in deployment["metadata"]["annotations"]["whichbits/development-mode"]


def test_without_development_mode_nothing_is_closed() -> None:
    documents = written(study({}, cache="salt"), DRIVER)

    assert of_kind(documents, "NetworkPolicy") == []
    assert "whichbits/development-mode" not in of_kind(documents, "Deployment")[0]["metadata"]["annotations"]


def test_the_default_namespace_is_left_to_kubectl_unless_a_job_must_name_it() -> None:
    named = {"target": {"kubernetes": {"service": "llm", "namespace": "ml"}}}

    assert [document["metadata"].get("namespace") for document in written(study({}))] == [None, None]
    assert {document["metadata"].get("namespace") for document in written(study({}), DRIVER)} == {"default"}
    assert {document["metadata"].get("namespace") for document in written(study(named))} == {"ml"}


@pytest.mark.parametrize(
    ("weight_format", "gpus", "asked"),
    [
        ("bf16", 1, {"cpu": "4", "memory": "26Gi", "ephemeral-storage": "64Gi"}),  # 8 + 16 + 2; 32 + 2 x 16
        ("w8a8-fp8", 1, {"cpu": "4", "memory": "18Gi", "ephemeral-storage": "48Gi"}),
        ("w4a16", 2, {"cpu": "8", "memory": "20Gi", "ephemeral-storage": "48Gi"}),  # 8 + 2 x (4 + 2); 32 + 2 x 8
    ],
)
def test_cores_memory_and_disk_are_asked_for(weight_format: str, gpus: int, asked: dict[str, str]) -> None:
    served = container(study({"weight_format": weight_format, "tensor_parallel_size": gpus}))

    assert served["resources"]["requests"] == asked | {"nvidia.com/gpu": str(gpus)}
    assert served["resources"]["limits"] == {"nvidia.com/gpu": str(gpus)}


def test_a_study_about_a_gpu_says_how_to_insist_on_it() -> None:
    (deployment,) = of_kind(written(study({}, gpu="L4")), "Deployment")

    assert "about L4. " in deployment["metadata"]["annotations"]["whichbits/gpu"]
    assert "nvidia.com/gpu.product" in deployment["metadata"]["annotations"]["whichbits/gpu"]


def test_a_changed_study_is_another_job() -> None:
    first, same, other = (written(study({}, loads=loads), DRIVER) for loads in ([1], [1], [2]))
    names = [of_kind(documents, "Job")[0]["metadata"]["name"] for documents in (first, same, other)]
    job = of_kind(first, "Job")[0]

    assert names[0] == names[1] != names[2]
    assert re.fullmatch(r"two-bits-driver-[0-9a-f]{8}", names[0])
    assert job["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"] == names[0]
    assert job["spec"]["ttlSecondsAfterFinished"] == 86400
    (driving,) = job["spec"]["template"]["spec"]["containers"]
    assert "env" not in driving
    assert len(hashed_name("a" * 63, "x")) == 63


def test_a_job_that_is_deleted_tells_whichbits_and_ends_with_its_code(tmp_path: Path) -> None:
    fake = tmp_path / "whichbits"
    fake.write_text("#!/bin/sh\ntrap 'echo told; exit 130' TERM\necho up\nfor i in $(seq 400); do sleep 0.05; done\n")
    fake.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    with subprocess.Popen(["sh", "-c", SCRIPT], stdout=subprocess.PIPE, text=True, env={"PATH": path}) as shell:
        assert shell.stdout is not None
        assert shell.stdout.readline() == "up\n"
        shell.terminate()
        said, _ = shell.communicate(timeout=60)

    assert (said, shell.returncode) == ("told\n", 130)


def test_settings_and_options_become_flags() -> None:
    served = container(
        study(
            {
                "enforce_eager": True,
                "dtype": "half",
                "tensor_parallel_size": 2,
                "options": {"pipeline-parallel-size": 2, "trust_remote_code": True, "chat-template": "$(cat x)"},
            }
        )
    )
    flags = pairs(served["args"])

    assert (flags["--enforce-eager"], flags["--trust-remote-code"]) == (None, None)
    assert (flags["--dtype"], flags["--tensor-parallel-size"], flags["--pipeline-parallel-size"]) == ("half", "2", "2")
    assert flags["--chat-template"] == "$$(cat x)"  # which Kubernetes reads as $(cat x), and no variable
    assert served["resources"]["limits"] == {"nvidia.com/gpu": "4"}


@pytest.mark.parametrize(
    ("image", "knows_how_to_say_no"),
    [
        ("vllm/vllm-openai:v0.9.2", False),
        ("localhost:5000/vllm:v0.11.0@sha256:12", True),
        ("localhost:5000/vllm", True),
        ("vllm/vllm-openai:nightly", True),
    ],
)
def test_flags_are_those_of_the_images_version(image: str, knows_how_to_say_no: bool) -> None:
    target = {"kubernetes": {"service": "llm", "image": image}}
    args = container(study({"enforce_eager": False, "target": target}))["args"]

    assert ("--no-enforce-eager" in args) == knows_how_to_say_no


def test_secrets_are_references() -> None:
    target = {"kubernetes": {"service": "llm"}, "api_key_variable": "LLM_KEY"}
    asked = study({"environment": {"HF_TOKEN": "hf_secret", "OMP_NUM_THREADS": "4"}, "target": target})
    variables = {variable["name"]: variable for variable in container(asked)["env"]}

    assert variables["OMP_NUM_THREADS"]["value"] == "4"
    assert variables["HF_TOKEN"]["valueFrom"] == {"secretKeyRef": {"name": "whichbits", "key": "HF_TOKEN"}}
    assert variables["VLLM_API_KEY"]["valueFrom"]["secretKeyRef"]["key"] == "LLM_KEY"
    assert "hf_secret" not in as_yaml(manifests(asked, DRIVER))
    with pytest.raises(BadInput, match="api_key holds a secret"):
        written(study({"options": {"api-key": "sk-1"}}))


def test_the_job_runs_the_same_study_against_the_arms_that_the_manifests_serve() -> None:
    asked = read_study(SEED)
    (config,) = of_kind(written(asked, DRIVER), "ConfigMap")
    inside = parse_study(config["data"]["study.yaml"], "the ConfigMap's study")

    assert inside.model_dump(exclude={"arms", "every_arm"}) == asked.model_dump(exclude={"arms", "every_arm"})
    for name, arm in inside.arms.items():
        assert arm.settings() == asked.arms[name].settings()
        assert arm.target is not None
        assert arm.target.kubernetes is not None
        assert arm.target.kubernetes.image is None
    assert [arm.target.kubernetes.service for arm in inside.arms.values() if arm.target and arm.target.kubernetes] == [
        "vllm-qwen3-14b",
        "vllm-qwen3-14b-awq",
    ]


def test_the_job_of_arms_that_name_no_service() -> None:
    documents = written(study({"replicas": 3, "environment": {"A_KEY": "secret"}}), DRIVER)
    (config,) = of_kind(documents, "ConfigMap")
    arm = parse_study(config["data"]["study.yaml"], "the ConfigMap's study").arms["four"]

    assert arm.replicas == 3
    assert arm.environment == {}
    assert arm.target is not None
    assert arm.target.kubernetes is not None
    assert arm.target.kubernetes.service == of_kind(documents, "Service")[0]["metadata"]["name"] == "two-bits-four"


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        ({"engine": "embedded"}, "its engine is embedded"),
        ({"target": "http://localhost:8000"}, "servers that run already"),
    ],
)
def test_arms_that_cannot_be_deployed(arm: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as refused:
        written(study(arm))

    assert refused.value.code == "not_deployable"
    assert said in refused.value.why


def test_two_arms_of_one_name_are_refused() -> None:
    arm = {"weight_format": "bf16", "model": "m", "engine": "vllm"}

    with pytest.raises(BadInput, match="arm 'a b'"):
        written(study({}, arms={"a b": arm, "a-b": arm}))


@pytest.mark.parametrize(
    ("text", "name"),
    [("Two.Bits-w4a16", "two-bits-w4a16"), ("4 bits", "study-4-bits"), ("a" * 62 + "--b", "a" * 62)],
)
def test_names(text: str, name: str) -> None:
    assert dns_name(text) == name


def test_the_documentation_shows_the_rights_that_the_job_gets() -> None:
    examples = [block.partition("```")[0] for block in page("kubernetes.md").split("```yaml\n")[1:]]
    (role,) = [document for block in examples for document in yaml.safe_load_all(block) if "rules" in document]

    assert role["rules"] == role_rules()
