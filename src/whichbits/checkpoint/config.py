"""config.json of a Hugging Face checkpoint: the shape of the model, under the names that families use."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whichbits.errors import BadInput

Config = Mapping[str, Any]

_SECTIONS = ("text_config", "llm_config", "language_config")
_LEFT_OUT: Mapping[str, Config] = {
    "gemma3_text": {
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "vocab_size": 262_208,
        "tie_word_embeddings": True,
    },
    **{family: {"tie_word_embeddings": True} for family in ("gemma", "gemma2", "cohere", "cohere2")},
}
"""What published configs of a family leave out, because it is the default of its class in transformers."""
_NO_KV_LAYERS = ("linear_attention", "mamba", "recurrent", "conv")


@dataclass(frozen=True)
class Mla:
    """Multi-head latent attention (DeepSeek-V2): one latent and one rotary key a token stand for K and V."""

    kv_rank: int
    rotary: int
    q_rank: int | None
    nope: int
    value: int


@dataclass(frozen=True)
class Shape:
    """The sizes that decide a model's bytes and FLOPs."""

    model_type: str
    architecture: str | None
    dtype: str | None
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    intermediate: int | None
    max_position_embeddings: int | None
    sliding_window: int | None
    tied_embeddings: bool | None
    attention_bias: bool
    experts: int | None
    experts_per_token: int | None
    expert_intermediate: int | None
    shared_intermediate: int | None
    dense_layers: int
    """Layers at the start whose MLP is not made of experts, though others' are."""
    kv_layers: int
    mla: Mla | None

    @property
    def kv_elements_per_token(self) -> int:
        """Numbers that one token leaves in the KV cache over all layers."""
        if self.mla is not None:
            return self.kv_layers * (self.mla.kv_rank + self.mla.rotary)
        return self.kv_layers * 2 * self.kv_heads * self.head_dim

    @property
    def attention_flops_per_context_token(self) -> int:
        """FLOPs that one token in the KV cache costs a token that attends to it: scores and weighted sum, 2 each.

        With latent attention, queries meet the latent itself (DeepSeek-V2, section 2.1.2).
        """
        if self.mla is not None:
            return self.kv_layers * 2 * self.heads * (2 * self.mla.kv_rank + self.mla.rotary)
        return self.kv_layers * 4 * self.heads * self.head_dim


def shape_of(config: Config) -> Shape:
    """Read the sizes; the language model's own section wins in multimodal configs.

    Raises:
        BadInput: ``checkpoint_shape_unknown`` if a size that everything hangs on is not given.
    """
    text = _completed(language_model(config))
    heads = _size(text, "num_attention_heads", "n_head")
    hidden = _size(text, "hidden_size", "n_embd", "d_model")
    layers = _size(text, "num_hidden_layers", "n_layer", "num_layers")
    model_type = str(text.get("model_type") or config.get("model_type") or "unknown")
    return Shape(
        model_type=model_type,
        architecture=next(iter(config.get("architectures") or ()), None),
        dtype=_first(text, "dtype", "torch_dtype") or _first(config, "dtype", "torch_dtype"),
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=_number(text, "num_key_value_heads") or heads,
        head_dim=_number(text, "head_dim") or hidden // heads,
        vocabulary=_size(text, "vocab_size"),
        intermediate=_number(text, "intermediate_size", "n_inner"),
        max_position_embeddings=_number(text, "max_position_embeddings", "n_positions"),
        sliding_window=_number(text, "sliding_window") if text.get("use_sliding_window", True) else None,
        tied_embeddings=text.get("tie_word_embeddings", config.get("tie_word_embeddings")),
        attention_bias=bool(text.get("attention_bias", model_type in ("qwen2", "qwen2_moe"))),
        experts=_number(text, "num_experts", "num_local_experts", "n_routed_experts"),
        experts_per_token=_number(text, "num_experts_per_tok"),
        expert_intermediate=_number(text, "moe_intermediate_size") or _number(text, "intermediate_size"),
        shared_intermediate=_shared_intermediate(text),
        dense_layers=_number(text, "first_k_dense_replace") or 0,
        kv_layers=_kv_layers(text, layers),
        mla=_mla(text),
    )


def language_model(config: Config) -> Config:
    """Return the section that describes the language model."""
    sections = [config[name] for name in _SECTIONS if isinstance(config.get(name), Mapping)]
    return next((section for section in sections if "hidden_size" in section), config)


def _completed(text: Config) -> Config:
    return {**_LEFT_OUT.get(str(text.get("model_type")), {}), **text}


def _shared_intermediate(text: Config) -> int | None:
    shared = _number(text, "n_shared_experts")
    width = _number(text, "moe_intermediate_size")
    return _number(text, "shared_expert_intermediate_size") or (shared * width if shared and width else None)


def _kv_layers(text: Config, layers: int) -> int:
    kinds = text.get("layer_types")
    if not isinstance(kinds, list):
        return layers
    return sum(kind not in _NO_KV_LAYERS for kind in kinds)


def _mla(text: Config) -> Mla | None:
    rank = _number(text, "kv_lora_rank")
    if rank is None:
        return None
    sizes = [_size(text, name) for name in ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")]
    return Mla(kv_rank=rank, rotary=sizes[0], q_rank=_number(text, "q_lora_rank"), nope=sizes[1], value=sizes[2])


def _size(text: Config, *names: str) -> int:
    found = _number(text, *names)
    if found is None or found <= 0:
        raise BadInput(
            "checkpoint_shape_unknown",
            f"config.json does not give a usable {names[0]}",
            why="it is not the config of a transformer language model, or it was cut short",
            fix="name the folder of a Hugging Face checkpoint with its own config.json",
        )
    return found


def _number(text: Config, *names: str) -> int | None:
    found = _first(text, *names)
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _first(text: Config, *names: str) -> Any:
    return next((text[name] for name in names if text.get(name) is not None), None)
