"""Which matrices of a model are quantised, and why the others stay as they are."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from whichbits.arms.files.source import Source
from whichbits.arms.recipe import NIBBLES_A_WORD, Recipe
from whichbits.checkpoint.parts import is_embedding, is_encoder, is_head
from whichbits.checkpoint.safetensors import Tensor
from whichbits.errors import BadInput

_LINEARS = {
    *("q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "out_proj", "query_key_value"),
    *("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj"),
    *("gate_proj", "up_proj", "down_proj", "gate_up_proj", "w1", "w2", "w3", "fc1", "fc2"),
    *("dense", "dense_h_to_4h", "dense_4h_to_h"),
}
"""Linear layers by the names that families give them; a name that is not here may mean another thing."""
_FUSED = (
    ("q_proj", "k_proj", "v_proj"),
    ("gate_proj", "up_proj"),
    ("w1", "w3"),
    ("q_a_proj", "kv_a_proj_with_mqa"),
)
"""What engines put into one matrix when they load: all of it has to be stored alike."""
_LEAST_SHARE = 0.5
_GROUP_SIZES = (128, 64, 32)
_FLOATS = ("BF16", "F16", "F32")


@dataclass(frozen=True)
class Matrix:
    """A linear layer to quantise: y = W x, W of ``outputs`` x ``inputs``."""

    module: str
    weight: Tensor

    @property
    def outputs(self) -> int:
        """Rows."""
        return self.weight.shape[0]

    @property
    def inputs(self) -> int:
        """Columns."""
        return self.weight.shape[1]


@dataclass(frozen=True)
class Choice:
    """Matrices that are quantised, and those that are not with the reason of each, in the order of their names."""

    quantised: tuple[Matrix, ...]
    kept: Mapping[str, str]
    linear_parameters: int

    @property
    def share(self) -> float:
        """Share of the linear layers' weights that is quantised; embeddings, heads and encoders are none."""
        narrow = sum(matrix.weight.elements for matrix in self.quantised)
        return narrow / self.linear_parameters if self.linear_parameters else 0.0


def choose(source: Source, recipe: Recipe) -> Choice:
    """Choose the layers of one arm.

    Raises:
        BadInput: ``arm_layers_unfit`` if most linear weights would stay wide, so that the arm were none.
    """
    tensors = {name: tensor for name, tensor in source.tensors.items() if len(tensor.shape) > 1}
    reasons = {_module(name): _why_kept(_module(name), tensor) for name, tensor in tensors.items()}
    matrices = [Matrix(_module(name), tensor) for name, tensor in tensors.items() if not reasons[_module(name)]]
    unfit = _unfit(matrices, recipe)
    kept = {module: reason for module, reason in reasons.items() if reason} | unfit
    choice = Choice(
        quantised=tuple(sorted((each for each in matrices if each.module not in unfit), key=lambda each: each.module)),
        kept=dict(sorted(kept.items())),
        linear_parameters=source.checkpoint.linear_parameters,
    )
    if choice.share < _LEAST_SHARE:
        raise _too_little(source, recipe, choice, matrices)
    return choice


def _module(name: str) -> str:
    return name.removesuffix(".weight")


def _why_kept(module: str, tensor: Tensor) -> str:
    """Return why a matrix stays as it is, or nothing."""
    if is_embedding(module):
        return "embedding"
    if is_head(module):
        return "lm_head"
    if is_encoder(module):
        return "encoder"
    if not tensor.name.endswith(".weight") or len(tensor.shape) != 2:
        return "experts in one tensor" if "experts" in module else "not a matrix of a linear layer"
    if module.rpartition(".")[2] not in _LINEARS or tensor.dtype not in _FLOATS:
        return "router" if module.rpartition(".")[2] in ("gate", "router", "shared_expert_gate") else "unknown kind"
    return ""


def _unfit(matrices: Iterable[Matrix], recipe: Recipe) -> dict[str, str]:
    """Return matrices whose sizes do not go into the format, with all that engines fuse with them."""
    families: dict[str, list[Matrix]] = defaultdict(list)
    for matrix in matrices:
        families[_family(matrix.module)].append(matrix)
    return {
        matrix.module: why
        for family in families.values()
        if (why := next(filter(None, (_misfit(each, recipe) for each in family)), None))
        for matrix in family
    }


def _misfit(matrix: Matrix, recipe: Recipe) -> str | None:
    if recipe.group_size and matrix.inputs % recipe.group_size:
        return f"{matrix.inputs} inputs are not whole groups of {recipe.group_size}"
    if recipe.scheme != "compressed-tensors" and matrix.outputs % NIBBLES_A_WORD:
        return f"{matrix.outputs} outputs are not whole words of eight"
    return None


def _family(module: str) -> str:
    """Return a name that is the same for matrices which an engine loads into one."""
    if ".experts." in module:
        return module.partition(".experts.")[0]
    block, _, last = module.rpartition(".")
    return f"{block}.{next((fused[0] for fused in _FUSED if last in fused), last)}"


def _too_little(source: Source, recipe: Recipe, choice: Choice, matrices: list[Matrix]) -> BadInput:
    reasons = sorted({reason for module, reason in choice.kept.items() if reason not in ("embedding", "lm_head")})
    fitting = next(
        (str(size) for size in _GROUP_SIZES if matrices and not any(each.inputs % size for each in matrices)), None
    )
    return BadInput(
        "arm_layers_unfit",
        f"{recipe.name} of {source.folder.name} would leave {1 - choice.share:.0%} of its linear weights as they are",
        why="; ".join(reasons[:4]) or "its layers have names that are not known here",
        fix=f"use --group-size {fitting}"
        if recipe.group_size and fitting
        else "make the arm with llm-compressor (--with llm-compressor), which knows the model's code",
    )
