"""What vLLM's lines say, 0.4 to 0.33: facts by the names of the groups; sizes printed as GB mean GiB."""

from whichbits.serve.logs.reading import wording

_NUMBER = r"(?<![\d,.])-?\d[\d,]{0,30}(?:\.\d{1,30})?"


def _gib(name: str) -> str:
    return rf"(?P<{name}>{_NUMBER}) ?Gi?B"


def _seconds(name: str) -> str:
    return rf"(?P<{name}>{_NUMBER}) ?s"


WORKER = (
    wording("Loading weights took", f"Loading weights took {_seconds('weights_load_seconds')}"),
    wording(
        "odel",
        rf"(?:Model loading|Loading model weights) took {_gib('model_memory_gib')}"
        rf"(?:(?: memory)? and {_seconds('model_load_seconds')})?",
    ),
    wording("Available KV cache memory", f"Available KV cache memory: {_gib('kv_cache_memory_gib')}"),
    wording("memory for KV Cache as", rf"reserved {_gib('kv_cache_memory_gib')} memory for KV Cache as specified"),
    wording("for KV cache on node", r"Explicitly set \((?P<kv_cache_memory_gib>[\d.]+)/[\d.]+\) GiB for KV cache"),
    wording("VLLM_CPU_KVCACHE_SPACE", r"is not set, using (?P<kv_cache_memory_gib>\d+) by default"),
    wording("reserved for KV Cache is", rf"memory reserved for KV Cache is {_gib('kv_cache_memory_gib')}"),
    wording("model weights take", f"model weights take {_gib('weights_memory_gib')}"),
    wording("non_torch_memory takes", f"non_torch_memory takes {_gib('non_torch_memory_gib')}"),
    wording("activation peak memory", f"PyTorch activation peak memory takes {_gib('activation_peak_gib')}"),
    wording(
        "instance can use total_gpu_memory",
        rf"total_gpu_memory \({_gib('total_gpu_memory_gib')}\) x gpu_memory_utilization "
        rf"\((?P<gpu_memory_utilization>[\d.]+)\) = {_gib('requested_memory_gib')}",
    ),
    wording(
        "Memory profiling results:",
        rf"total_gpu_memory={_gib('total_gpu_memory_gib')}.*?non_torch_memory={_gib('non_torch_memory_gib')}"
        rf".*?kv_cache_size={_gib('kv_cache_memory_gib')} gpu_memory_utilization=(?P<gpu_memory_utilization>[\d.]+\d)",
    ),
    wording("Memory profiling takes", f"Memory profiling takes {_seconds('memory_profiling_seconds')}"),
    wording(
        "Graph capturing finished",
        rf"Graph capturing finished in {_seconds('cuda_graph_seconds')}\w*, took {_gib('cuda_graph_gib')}",
    ),
    wording("Estimated CUDA graph memory", f"Estimated CUDA graph memory: {_gib('cuda_graph_estimated_gib')}"),
    wording(
        "CUDA graph pool memory",
        rf"{_gib('cuda_graph_gib')} \(actual\), {_gib('cuda_graph_estimated_gib')} \(estimated",
    ),
    wording("torch.compile t", f"torch.compile (?:takes|took) {_seconds('compile_seconds')} in total"),
    wording(
        "warmup run together took",
        f"torch.compile and initial profiling/warmup run together took {_seconds('compile_and_warmup_seconds')}",
    ),
    wording("warmup run took", f"Initial profiling/warmup run took {_seconds('warmup_seconds')}"),
    wording("downloading weights for", rf"Time spent downloading weights for \S+: {_seconds('download_seconds')}"),
)
"""Said by each worker of itself: a rank's own figures."""

MEMORY_SUMMARY = (
    wording(
        "on startup. Desired GPU memory utilization",
        rf"Free memory on device[^(]*\((?P<free_memory_gib>[\d.]+)/{_gib('total_memory_gib')}\) on startup\. "
        rf"Desired GPU memory utilization is \((?P<gpu_memory_utilization>[\d.]+), {_gib('requested_memory_gib')}\)",
    ),
    wording("Actual usage is", f"Actual usage is.*?{_gib('consumed_memory_gib')} for consumed memory"),
    wording("Actual usage is", f"Actual usage is.*?{_gib('weights_memory_gib')} for weight"),
    wording("Actual usage is", f"Actual usage is.*?{_gib('activation_peak_gib')} for peak activation"),
    wording("Actual usage is", f"Actual usage is.*?{_gib('non_torch_memory_gib')} for non-torch memory"),
    wording("Actual usage is", f"Actual usage is.*?{_gib('cuda_graph_gib')} for CUDAGraph memory"),
    wording("Current kv cache memory in use", f"kv cache memory in use is {_gib('kv_cache_memory_gib')}"),
    wording("Current kv cache memory in use", r"kv cache memory in use is (?P<kv_cache_memory_bytes>\d+) bytes"),
)
"""One line of each worker with all its memory; its first words are also those of a fatal error."""

POOL = (
    wording("KV cache size:", r"KV cache size: (?P<tokens>[\d,]+) tokens"),
    wording(
        "Maximum concurrency for",
        r"Maximum concurrency for (?P<length>[\d,]+) tokens per request: (?P<concurrency>[\d,.]+)x",
    ),
    wording(" blocks: ", r"# (?!CPU)\w+ blocks: (?P<gpu_blocks>\d+)(?:, # CPU blocks: (?P<cpu_blocks>\d+))?"),
)
"""The pool of KV blocks of one engine; up to 0.11 printed once for each worker."""

ENGINE = (
    wording("init engine", rf"init engine \(.*?\) took {_seconds('init_engine_seconds')}"),
    wording(
        "(compilation:", rf"init engine \(.*?\) took [\d.]+ s(?:econds)? \(compilation: {_seconds('compile_seconds')}"
    ),
)

SAID = (
    wording("asting torch.", r"(?:Downcasting|Upcasting|Casting) torch\.\w+ to torch\.(?P<dtype>\w+)"),
    wording("Resolved architecture:", r"Resolved architecture: (?P<architecture>\w+)"),
    wording("Using max model len", r"Using max model len (?P<max_model_len>\d+)"),
    wording("Auto-fit max_model_len", r"Auto-fit max_model_len: reduced from \d+ to (?P<max_model_len>\d+)"),
    wording("Starting to load model", r"Starting to load model (?P<model>\S+?)\.\.\."),
    wording("model ", r"[▀▄█] +model +(?P<model>\S+)$"),
    wording("Automatically detected platform", r"Automatically detected platform (?P<platform>\w+)\."),
    wording("backend on CPU", device="cpu"),
    wording("CPU KV cache size", device="cpu"),
    wording("Chunked prefill is enabled", enable_chunked_prefill=True),
    wording(
        "Chunked prefill is enabled with", r"enabled with max_num_batched_tokens=(?P<max_num_batched_tokens>\d+)[.,]"
    ),
    wording("nabling prefix caching by default", enable_prefix_caching=True),
    wording("isabling prefix caching", enable_prefix_caching=False),
    wording(
        "quantization is not fully optimized yet",
        r"(?<![\w-])(?P<quantization>\w[\w-]*+) quantization is not fully optimized yet",
    ),
    wording(
        "is not supported for the current GPU", r"quantization method (?P<quantization>\S+) is not supported for the"
    ),
    wording("explicitly, so forcing", r"explicitly, so forcing (?P<quantization>\w+)\."),
    wording("is convertible to", r"model is convertible to (?P<quantization>\w+) during runtime"),
    wording("to store kv cache", r"Using (?P<kv_cache_dtype>fp8\w*) data type to store kv cache"),
    wording("Enforce eager set", enforce_eager=True),
    wording("Cudagraph is disabled under eager mode", enforce_eager=True),
    wording("KV cache layout", r"Using (?P<kv_cache_layout>[A-Z]+) KV cache layout"),
    wording("attention block size", r"Setting attention block size to (?P<attention_block_size>\d+) tokens to ensure"),
    wording("Checkpoint size:", f"Checkpoint size: {_gib('checkpoint_size_gib')}"),
    wording("device_name=", r"device_name=(?P<device_name>[^,\s]+?)(?:,|\.json)"),
    wording("MoE backend", r"Using '?(?P<moe_backend>[\w-]+(?: [\w-]+)?)'? (?P<moe_quant>\w+) MoE backend"),
    wording(" kernels for ", r"Using (?P<moe_backend>\w+) kernels for (?P<moe_quant>\w+?)MoEMethod"),
    wording(" MoE", r"Using (?P<moe_backend>\w+) backend for (?P<moe_quant>\w+) MoE"),
    wording("FlashAttention version", r"Using FlashAttention version (?P<flash_attention_version>\d)"),
    wording("Application startup complete", ready=True),
)
"""Said once for the whole deployment."""

VERSION = (
    wording("LLM engine (v", r"Initializing an? (?:V\d )?LLM engine \(v(?P<version>[^)\s]+)\)"),
    wording("API server version", r"vLLM API server version (?P<version>\d[\w.+-]*)"),
    wording("version", r"[▀▄█] +version {1,2}v?(?P<version>\d[\w.+-]*)$"),
)
"""Where the version stands, the surest place first; the third is the banner."""

KERNEL = (
    wording("Kernel for ", r"(?:Using|Selected) (?P<kernel>\w+Kernel) for (?P<layer>\w++)(?!-)"),
    wording(" for ", r"Using (?:\w+\.)?(?P<kernel>[\w-]+) for (?P<layer>(?:NV|MX)FP\d GEMM|mixed-precision linear)"),
)
"""The kernels of quantized linear layers: the method's name is not the kernel's."""

CONSOLE = (
    wording("Avg prompt throughput", r"Avg prompt throughput: (?P<peak_logged_prompt_tps>\d[\d.]*) tokens/s"),
    wording(
        "Avg generation throughput", r"Avg generation throughput: (?P<peak_logged_generation_tps>\d[\d.]*) tokens/s"
    ),
    wording("Prefix cache hit rate", r"Prefix cache hit rate: (?:GPU: )?(?P<last_prefix_hit_rate_percent>\d[\d.]*)%"),
)
"""The line of statistics that a running server prints every ten seconds."""

LOAD = wording(
    "KV cache usage",
    r"(?:Waiting|Pending): (?P<waiting>\d{1,9}) reqs, GPU KV cache usage: (?P<usage>\d{1,3}(?:\.\d+)?)%",
)
"""In the same line: requests that wait, and the share of KV blocks in use."""

GRAPH_COUNTS = wording("Profiling CUDA graph memory", r"Profiling CUDA graph memory: (?P<counts>.*)")

WORLD = wording("in world size", r"rank \d+ in world size (?P<world_size>\d{1,6}) is assigned as DP rank")
