"""What is read of the API's objects: Service, EndpointSlice, Pod; everything else that they hold is skipped."""

from msgspec import Struct, field


class _ApiObject(Struct, frozen=True, rename="camel", kw_only=True):
    """The API writes its names in camel case, and null for an empty list."""


class Metadata(_ApiObject, frozen=True):
    """Names of an object; ``uid`` tells it from a later one of the same name."""

    name: str = ""
    uid: str = ""


class ServicePort(_ApiObject, frozen=True):
    """One port of a Service; an only port may have no name."""

    port: int
    name: str | None = None
    target_port: int | str | None = None
    node_port: int | None = None


class ServiceSpec(_ApiObject, frozen=True):
    """Whom a Service leads to, and from where."""

    ports: list[ServicePort] | None = None
    selector: dict[str, str] | None = None
    cluster_ip: str | None = field(default=None, name="clusterIP")


class Ingress(_ApiObject, frozen=True):
    """One address of a load balancer."""

    ip: str | None = None
    hostname: str | None = None


class LoadBalancer(_ApiObject, frozen=True):
    """The addresses that a load balancer got."""

    ingress: list[Ingress] | None = None


class ServiceStatus(_ApiObject, frozen=True):
    """What became of a Service."""

    load_balancer: LoadBalancer = LoadBalancer()


class Service(_ApiObject, frozen=True):
    """A Service."""

    spec: ServiceSpec
    status: ServiceStatus = ServiceStatus()


class Conditions(_ApiObject, frozen=True):
    """State of an endpoint; a ``ready`` that is not given means ready."""

    ready: bool | None = None


class Reference(_ApiObject, frozen=True):
    """The object that an endpoint stands for."""

    kind: str = ""
    name: str = ""


class SliceEndpoint(_ApiObject, frozen=True):
    """One pod of a slice."""

    conditions: Conditions = Conditions()
    target_ref: Reference | None = None


class SlicePort(_ApiObject, frozen=True):
    """A port of a Service, resolved to the number that its pods listen at."""

    name: str | None = None
    port: int | None = None


class EndpointSlice(_ApiObject, frozen=True):
    """Some of a Service's endpoints."""

    endpoints: list[SliceEndpoint] | None = None
    ports: list[SlicePort] | None = None


class EndpointSlices(_ApiObject, frozen=True):
    """A list of slices."""

    items: list[EndpointSlice]


class Variable(_ApiObject, frozen=True):
    """A variable of a container; ``value`` is absent where it comes from a Secret or the like."""

    name: str
    value: str | None = None


class ContainerPort(_ApiObject, frozen=True):
    """A port that a container declares."""

    container_port: int
    name: str | None = None


class Resources(_ApiObject, frozen=True):
    """What a container asks of its node."""

    limits: dict[str, str | int] | None = None


class Container(_ApiObject, frozen=True):
    """A container as its pod orders it."""

    name: str
    image: str = ""
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[Variable] | None = None
    ports: list[ContainerPort] | None = None
    resources: Resources = Resources()


class PodSpec(_ApiObject, frozen=True):
    """What a pod orders, and the node that it landed on."""

    containers: list[Container]
    node_name: str | None = None


class Waiting(_ApiObject, frozen=True):
    """Why a container does not run."""

    reason: str = ""
    message: str = ""


class Terminated(_ApiObject, frozen=True):
    """How a container ended."""

    exit_code: int
    reason: str = ""


class ContainerState(_ApiObject, frozen=True):
    """One of its fields is set."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(_ApiObject, frozen=True):
    """What became of a container."""

    name: str
    image_id: str = field(default="", name="imageID")
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodCondition(_ApiObject, frozen=True):
    """One condition of a pod, such as PodScheduled."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class PodStatus(_ApiObject, frozen=True):
    """What became of a pod."""

    phase: str = ""
    pod_ip: str | None = field(default=None, name="podIP")
    host_ip: str | None = field(default=None, name="hostIP")
    conditions: list[PodCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None


class PodObject(_ApiObject, frozen=True):
    """A pod as the API tells it."""

    metadata: Metadata
    spec: PodSpec
    status: PodStatus = PodStatus()


class PodObjects(_ApiObject, frozen=True):
    """A list of pods."""

    items: list[PodObject]
