"""The table's guard: the classical mistake is a peak with 2:4 sparsity, twice what dense weights get."""

import pytest

from whichbits.errors import BadInput
from whichbits.hardware.devices import NUMBER_TYPES, Device, devices, find_device, known_device

ALL = list(devices().values())
NAMES = [device.name for device in ALL]


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("Tesla T4", "T4"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB SXM"),
        ("NVIDIA A100-PCIE-40GB", "A100 40GB PCIe"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB SXM"),
        ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe"),
        ("NVIDIA RTX A6000", "RTX A6000"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA_L40S", "L40S"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("NVIDIA GeForce RTX 5090", "RTX 5090"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 Server"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA_H100_80GB_HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA B200", "B200"),
        ("AMD Instinct MI300X", "MI300X"),
        ("AMD_Instinct_MI300X_OAM", "MI300X"),
        ("l4", "L4"),
    ],
)
def test_devices_are_found_by_what_engines_and_drivers_print(printed: str, name: str) -> None:
    assert find_device(printed).name == name


@pytest.mark.parametrize(
    ("asked", "suggested"),
    [("A100", "A100 80GB SXM"), ("H20O", "H200"), ("RTX 409", "RTX 4090"), ("A100 80GB", "A100 80GB PCIe")],
)
def test_an_unknown_or_ambiguous_name_is_refused_with_a_guess(asked: str, suggested: str) -> None:
    with pytest.raises(BadInput, match=suggested) as refused:
        find_device(asked)

    assert refused.value.code == "device_unknown"
    assert known_device(asked) is None


def test_a_name_without_words_is_unknown() -> None:
    assert known_device("") is None
    assert known_device("NVIDIA") is None


def test_no_two_devices_answer_to_one_name() -> None:
    for device in ALL:
        for name in (device.name, *device.names):
            assert find_device(name) is device


@pytest.mark.parametrize("device", ALL, ids=NAMES)
def test_figures_are_dense_and_have_a_source(device: Device) -> None:
    for figure in device.peaks.values():
        assert len(figure.source) > 20
        if figure.with_sparsity is not None:
            assert figure.value == pytest.approx(figure.with_sparsity / 2, rel=0.015)


@pytest.mark.parametrize("device", [device for device in ALL if "fp8" in device.peaks], ids=lambda each: each.name)
def test_eight_bit_floats_are_twice_as_fast_as_sixteen(device: Device) -> None:
    """Twice, not four times: a sheet that prints FP8 with sparsity beside FP16 without has fooled simulators."""
    assert device.peaks["fp8"].value == pytest.approx(2 * device.peaks["fp16"].value, rel=0.015)


@pytest.mark.parametrize("device", ALL, ids=NAMES)
def test_integers_keep_their_ratio(device: Device) -> None:
    """INT8 is twice FP16; four times on GeForce, which sums FP16 products in FP32 at half the rate."""
    ratio = 4 if device.name in {"RTX 4090", "RTX 5090"} else 2

    assert device.peaks["int8"].value == pytest.approx(ratio * device.peaks["fp16"].value, rel=0.015)


@pytest.mark.parametrize(
    ("name", "fp16", "fp8", "bandwidth"),
    [
        ("T4", 65, None, 320),
        ("A100 80GB SXM", 312, None, 2039),
        ("A10G", 70, None, 600),
        ("L4", 121, 242.5, 300),
        ("L40S", 362.05, 733, 864),
        ("H100 SXM", 989.5, 1979, 3350),
        ("H200", 989.5, 1979, 4800),
    ],
)
def test_figures_that_others_got_wrong(name: str, fp16: float, fp8: float | None, bandwidth: float) -> None:
    device = find_device(name)

    assert device.peak_tflops("fp16") == fp16
    assert device.peak_tflops("fp8") == fp8
    assert device.bandwidth_gb_s == bandwidth


def test_what_a_device_has_no_units_for_is_none() -> None:
    assert find_device("T4").peak_tflops("bf16") is None
    assert find_device("H100 SXM").peak_tflops("int4") is None
    assert find_device("L4").ridge("fp4") is None
    assert {device.name for device in ALL if "fp4" in device.peaks} == {
        "RTX 5090",
        "RTX PRO 6000",
        "RTX PRO 6000 Server",
        "B200",
    }


def test_number_types_are_the_known_ones() -> None:
    assert set().union(*(device.peaks for device in ALL)) <= set(NUMBER_TYPES)


def test_the_ridge_of_an_l4() -> None:
    """121 TFLOPS over 300 GB/s, as the field report states it: 403 FLOP/byte."""
    assert find_device("L4").ridge("fp16") == pytest.approx(403.3, abs=0.05)
