"""What is read of a pod: its container beside sidecars, its GPUs, and no secret."""

from typing import Any

import msgspec
import pytest

from tests.serve.kubernetes.cluster import FakePod
from whichbits.serve.kubernetes.objects import EndpointSlice, PodObject, ServicePort
from whichbits.serve.kubernetes.pods import Pod, pods_of
from whichbits.serve.secrets import command_without_secrets

HTTP = ServicePort(port=80, name="http", target_port="http")


def pod(fake: FakePod | None = None, limits: dict[str, Any] | None = None, port: ServicePort = HTTP) -> Pod:
    written = (fake or FakePod("a")).as_object()
    if limits is not None:
        written["spec"]["containers"][1]["resources"]["limits"] = limits
    return pods_of(port, [], [msgspec.convert(written, PodObject)])["a"]


@pytest.mark.parametrize(
    ("limits", "gpus"),
    [
        ({"nvidia.com/gpu": "2", "cpu": "8"}, 2),
        ({"amd.com/gpu": 1}, 1),
        ({"nvidia.com/mig-1g.10gb": "3"}, 3),
        ({"gpu.intel.com/i915": "1"}, 1),
        ({"cpu": "8"}, None),
        ({}, None),
    ],
)
def test_gpus_of_any_maker_or_none_known(limits: dict[str, Any], gpus: int | None) -> None:
    assert pod(limits=limits).gpus == gpus
    assert ("gpus" in pod(limits=limits).facts()) == (gpus is not None)


@pytest.mark.parametrize(
    ("port", "container"),
    [
        (HTTP, "vllm"),
        (ServicePort(port=80, target_port=8000), "vllm"),
        (ServicePort(port=8000), "vllm"),
        (ServicePort(port=80, target_port=1234), "sidecar"),
    ],
)
def test_the_container_is_the_one_that_declares_the_target_port_or_the_first(port: ServicePort, container: str) -> None:
    assert pod(port=port).container == container


def endpoints(port: int, *pods: dict[str, Any]) -> EndpointSlice:
    ports = [{"name": "grpc", "port": 1}, {"name": "http", "port": port}]
    return msgspec.convert({"ports": ports, "endpoints": list(pods)}, EndpointSlice)


def test_a_pod_is_ready_where_a_slice_says_so_or_says_nothing_against_it() -> None:
    def endpoint(name: str, **conditions: Any) -> dict[str, Any]:
        return {"targetRef": {"kind": "Pod", "name": name}, "conditions": conditions}

    names = ("yes", "unsaid", "no", "elsewhere")
    slices = [
        endpoints(8000, endpoint("yes", ready=True), endpoint("no", ready=False)),
        endpoints(9000, endpoint("unsaid", ready=None), {"conditions": {"ready": True}}),
        EndpointSlice(),
    ]
    found = pods_of(HTTP, slices, [msgspec.convert(FakePod(name).as_object(), PodObject) for name in names])

    assert {name: found[name].port for name in names} == {"yes": 8000, "unsaid": 9000, "no": None, "elsewhere": None}
    assert [name for name in names if found[name].ready] == ["yes", "unsaid"]


def test_values_of_secret_flags_are_starred_and_others_are_not() -> None:
    command = ("vllm", "--api-key", "sk-1", "--hf_token=hf_1", "--max-num-batched-tokens=8192", "--api-key", "--x", "y")

    assert command_without_secrets(command) == (
        "vllm",
        "--api-key",
        "***",
        "--hf_token=***",
        "--max-num-batched-tokens=8192",
        "--api-key",
        "--x",
        "y",
    )
