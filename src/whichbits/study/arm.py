"""One served variant of the model: what it claims, how its servers start, or where they already run."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt, field_validator, model_validator

from whichbits.study.address import plain_address
from whichbits.study.gpus import Gpus, insist_on_distinct
from whichbits.study.strict import Strict
from whichbits.study.variables import Variables

WeightFormat = Literal["fp32", "bf16", "fp16", "w8a8-fp8", "w8a8-int8", "w8a16", "w4a16", "w4a8-int8", "unknown"]
Address = Annotated[str, AfterValidator(plain_address)]
Balance = Literal["round_robin", "random", "least_outstanding", "connection_random", "prefix_hash"]


class EngineSettings(Strict):
    """What engines let people set, under vLLM's names; what is not given is left to the engine."""

    enforce_eager: bool | None = Field(default=None, description="No CUDA graphs and no torch.compile.")
    enable_prefix_caching: bool | None = Field(default=None, description="Reuse the KV cache of equal prefixes.")
    block_size: PositiveInt | None = Field(default=None, description="Tokens of a KV cache block.")
    gpu_memory_utilization: float | None = Field(
        default=None, gt=0, le=1, description="Share of the GPU's memory that a server may take."
    )
    kv_cache_gib: PositiveInt | PositiveFloat | None = Field(
        default=None,
        description="Memory of the KV cache, on each GPU of a replica; measured by the engine where it is not given.",
    )
    max_model_len: PositiveInt | None = Field(default=None, description="Most tokens of prompt and answer together.")
    max_num_seqs: PositiveInt | None = Field(default=None, description="Most requests in one step.")
    max_num_batched_tokens: PositiveInt | None = Field(default=None, description="Most tokens in one step.")
    dtype: str | None = Field(default=None, description="Type of activations and of unquantised weights.")
    quantization: str | None = Field(default=None, description="Method; engines find it in the checkpoint themselves.")
    kv_cache_dtype: str | None = Field(default=None, description="Type of the KV cache's numbers.")
    load_format: str | None = Field(default=None, description="How weights are read; `dummy` makes them up.")
    tensor_parallel_size: PositiveInt | None = Field(default=None, description="GPUs that share one replica.")

    def settings(self) -> dict[str, str | int | float | bool]:
        """Return the settings that are given, by name."""
        given = self.model_dump(include=set(EngineSettings.model_fields), exclude_none=True)
        return {name: given[name] for name in EngineSettings.model_fields if name in given}


class KubernetesService(Strict):
    """A Service whose pods serve the arm; kubectl reaches it, with the user's own rights."""

    service: str = Field(description="The Service's name.")
    namespace: str = Field(default="default", description="Where it lives.")
    port: PositiveInt = Field(default=8000, description="The Service's port.")
    url: Address | None = Field(
        default=None, description="Where traffic enters, if the Service's own address is not reachable from here."
    )
    context: str | None = Field(default=None, description="kubectl's context; its current one where this is not given.")
    image: str | None = Field(
        default=None, description="Image of the Deployment that `--print-manifests` writes; else its `--image`."
    )


class ServersThatRun(Strict):
    """Servers that somebody else started: whichbits drives and reads them, and never ends them."""

    urls: tuple[Address, ...] = Field(default=(), description="One address a replica, as http://host:port.")
    logs: tuple[str, ...] = Field(default=(), description="The replicas' logs, in the order of urls, if readable here.")
    kubernetes: KubernetesService | None = Field(default=None, description="A Service instead of urls.")
    api_key_variable: str | None = Field(
        default=None, description="Environment variable that holds the API key; the key itself is never recorded."
    )
    tokenizer_file: str | None = Field(
        default=None,
        description="A tokenizer.json that counts tokens if neither usage nor /tokenize does (`[tokenizers]`).",
    )
    ca_file: str | None = Field(
        default=None, description="PEM file of the authorities to trust instead of the system's; all are checked."
    )
    proxy: Address | None = Field(
        default=None,
        description="HTTP proxy that leads to the urls, as http://host:port; traffic then goes by aiohttp.",
    )
    use_environment_proxy: bool = Field(
        default=False,
        description="Take HTTP_PROXY, HTTPS_PROXY and NO_PROXY; else they are left alone, and it is told.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_url_is_a_list_of_one(cls, value: Any) -> Any:
        match value:
            case str():
                return {"urls": (value,)}
            case {"url": str() as url, **rest} if "urls" not in rest:
                return {**rest, "urls": (url,)}
            case _:
                return value

    @field_validator("urls", "logs", mode="before")
    @classmethod
    def _one_text_is_a_list_of_one(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if bool(self.urls) == (self.kubernetes is not None):
            message = "a target is either urls or a kubernetes service"
            raise ValueError(message)
        if self.kubernetes is not None and (self.ca_file or self.proxy or self.use_environment_proxy):
            message = "ca_file and proxies are for urls; kubectl has its own"
            raise ValueError(message)
        if self.logs and len(self.logs) != len(self.urls):
            message = "logs must be as many as urls, one a replica"
            raise ValueError(message)
        return self


class Arm(EngineSettings):
    """One served variant of the model."""

    weight_format: WeightFormat = Field(description="Bits of weights and of activations, as claimed, or `unknown`.")
    model: str = Field(description="A path, or a built-in model's name; every_arm may name it instead.")
    engine: str = Field(default="embedded", description="Which engine serves the arm.")
    python: str | None = Field(
        default=None, description="Interpreter that has the engine; whichbits' own where this is not given."
    )
    replicas: PositiveInt = Field(
        default=1, description="Servers to start; of a Kubernetes Service, pods to wait for until they are ready."
    )
    gpus: Gpus | None = Field(
        default=None, description="GPUs for the replicas in turn; fewer than they need are shared."
    )
    balance: Balance = Field(
        default="round_robin", description="Which replica gets a request; a Kubernetes Service is connection_random."
    )
    target: ServersThatRun | None = Field(default=None, description="Servers that already run; none are started.")
    served_model_name: str | None = Field(default=None, description="The name that requests carry.")
    price_per_hour: PositiveFloat | None = Field(
        default=None, description="Price of all the arm's replicas for an hour, in any one currency."
    )
    options: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="Engine options, in the engine's own words."
    )
    environment: Variables = Field(default_factory=dict, description="Environment of the server.")

    @model_validator(mode="after")
    def _no_gpu_twice_in_a_replica(self) -> Self:
        if self.gpus is not None:
            insist_on_distinct(self.gpus, self.replicas, self.tensor_parallel_size or 1)
        return self

    @model_validator(mode="after")
    def _who_starts_a_server_knows_its_format(self) -> Self:
        if self.weight_format == "unknown" and self.target is None and self.engine != "mock":
            message = "weight_format: unknown is for servers that run already; name the one that the arm starts with"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _either_started_or_running(self) -> Self:
        if self.target is None:
            return self
        if self.gpus is not None or self.python is not None:
            message = "gpus and python are for servers that whichbits starts; target names running ones"
            raise ValueError(message)
        if self.replicas > 1 and self.target.kubernetes is None:
            message = "replicas are for servers that whichbits starts; target names one url for each running one"
            raise ValueError(message)
        if (self.options or self.environment) and self.target.kubernetes is None:
            message = "options and environment are for servers that whichbits starts; those of target run already"
            raise ValueError(message)
        return self


class ArmDefaults(EngineSettings):
    """What every arm has unless it says otherwise; options and environment merge key by key.

    What only a start applies (python, gpus, replicas, options, environment) is not for arms whose ``target`` has urls.
    """

    engine: str | None = Field(default=None, description="Engine of arms that name none.")
    model: str | None = Field(default=None, description="Model of arms that name none.")
    python: str | None = Field(default=None, description="Interpreter of arms that name none.")
    replicas: PositiveInt | None = Field(default=None, description="Replicas of arms that give no number.")
    gpus: Gpus | None = Field(default=None, description="GPUs of arms that name none.")
    balance: Balance | None = Field(default=None, description="Balance of arms that name none.")
    served_model_name: str | None = Field(default=None, description="Name in requests to arms that give none.")
    price_per_hour: PositiveFloat | None = Field(default=None, description="Price of arms that give none.")
    options: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="Options that an arm may override one by one."
    )
    environment: Variables = Field(default_factory=dict, description="Variables that an arm may override one by one.")

    def under(self, arm: dict[str, Any]) -> dict[str, Any]:
        """Return ``arm`` as written, completed by these defaults."""
        started_only = _for_started_servers(arm.get("target"))
        own = self.model_dump(exclude_none=True, exclude={"options", "environment"} | started_only)
        merged = own | arm
        for key in {"options", "environment"} - started_only:
            if isinstance(value := arm.get(key, {}), dict):
                merged[key] = getattr(self, key) | value
        return merged


def _for_started_servers(target: Any) -> set[str]:
    """Return the defaults that mean nothing to an arm with this target; a Deployment for a Service has some of them."""
    match target:
        case None:
            return set()
        case {"kubernetes": dict()} | ServersThatRun(kubernetes=KubernetesService()):
            return {"python", "gpus"}
        case _:
            return {"python", "gpus", "replicas", "options", "environment"}
