"""Names as they stand in printed traces, each with the work that an engineer says it is."""

import pytest

from whichbits.analyze.kernels.names import KINDS, Basis, Work, _rows, work_of

FP8_SM90 = (
    "void cutlass::device_kernel<vllm::cutlass_3x_gemm_sm90_fp8<cutlass::float_e4m3_t, cutlass::bfloat16_t, "
    "vllm::c3x::ScaledEpilogue, cute::tuple<cute::C<64>, cute::C<128>, cute::C<128> > >::GemmKernel>(...)"
)
KNOWN = {
    FP8_SM90: ("gemm", "cutlass fp8"),
    "void marlin::Marlin<1125899906909960l, 1125899906907892224l>(int4 const*)": ("gemm", "marlin"),
    "void marlin_moe_wna16::Marlin<1125899906909960l, 562949953487106l>(x)": ("gemm", "marlin, experts"),
    "void cutlass::device_kernel<machete::MacheteKernelTemplate<cutlass::half_t> >(x)": ("gemm", "machete"),
    "void cutlass::Kernel2<cutlass_80_tensorop_i16832gemm_s8_256x128_64x3_tn_align16>(x)": ("gemm", "cutlass int8"),
    "void cutlass::Kernel<vllm::enable_sm80_to_sm89<Gemm<signed char, signed char> > >(x)": ("gemm", "cutlass int8"),
    "nvjet_tst_64x24_64x16_4x1_v_bz_splitK_bias_TNT": ("gemm", "cublas 16 bit"),
    "nvjet_sm90_tst_64x8_64x16_4x2_h_bz_bias_TNT": ("gemm", "cublas 16 bit"),
    "nvjet_qqtst_128x128_128x6_2x1_v_bz_TNN": ("gemm", "cublas fp8"),
    "ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x6_tn": ("gemm", "cublas 16 bit"),
    "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize32x32x64": ("gemm", "cublas 16 bit"),
    "ampere_sgemm_32x128_tn": ("gemm", "cublas fp32"),
    "sm90_xmma_gemm_e4m3e4m3_e4m3f32_f32_tn_n_tilesize64": ("gemm", "cublas fp8"),
    "void cublasLt::epilogue::impl::globalKernel<8, 32, float>(x)": ("gemm", "cublas, type unknown"),
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(x)": (
        "gemm",
        "cublas 16 bit",
    ),
    "void cutlass::Kernel2<Gemm<cutlass::half_t, unsigned char> >(x)": ("gemm", "cutlass 16 bit"),
    "void vllm::convert_fp8_kernel<unsigned char, unsigned short>(x)": ("other", "unknown"),
    "void gemv2T_kernel_val<int, int, __nv_bfloat16, float>(x)": ("gemm", "cublas 16 bit"),
    "void cublasLt::splitKreduce_kernel<32, 16, int, float>(x)": ("gemm", "cublas 16 bit"),
    "fused_moe_kernel": ("gemm", "experts, triton"),
    "void vllm::gptq::gemm_half_q_half_gptq_4bit_kernel<true, 4>(x)": ("gemm", "exllama"),
    "awq_gemm_kernel": ("gemm", "awq"),
    "awq_dequantize_kernel": ("quantise", "weights to 16 bit"),
    "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::X<bf16> > > >": (
        "attention",
        "flash attention",
    ),
    "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128> >(x)": ("attention", "flash attention"),
    "kernel_unified_attention": ("attention", "triton"),
    "void flashinfer::BatchDecodeWithPagedKVCacheKernel<x>(y)": ("attention", "decode"),
    "void flashinfer::BatchPrefillWithPagedKVCacheKernel<x>(y)": ("attention", "prefill"),
    "void vllm::paged_attention_v1_kernel<unsigned short, unsigned short, 128>(x)": ("attention", "decode"),
    "void vllm::dynamic_per_token_scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3fn>(x)": (
        "quantise",
        "activations to fp8",
    ),
    "void per_token_group_quant_8bit_kernel<c10::BFloat16, __nv_fp8_e4m3, false>(x)": (
        "quantise",
        "activations to fp8",
    ),
    "void vllm::dynamic_scaled_int8_quant_kernel<c10::Half, float>(x)": ("quantise", "activations to int8"),
    "void vllm::rms_norm_per_block_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn>(x)": (
        "quantise",
        "fused with norm or activation",
    ),
    "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(x)": ("norm_activation", "norm"),
    "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, true>(x)": (
        "norm_activation",
        "activation",
    ),
    "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(x)": ("norm_activation", "rope"),
    "triton_poi_fused_mul_silu_slice_1": ("norm_activation", "fused by torch.compile"),
    "triton_red_fused_add_cutlass_scaled_mm_rms_norm_2": ("norm_activation", "fused by torch.compile"),
    "triton_poi_fused_dynamic_per_token_scaled_fp8_quant_mul_silu_slice_1": ("quantise", "fused by torch.compile"),
    "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char, (vllm::Fp8KVCacheDataType)1>(x)": (
        "kv_cache_write",
        "vllm",
    ),
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": ("communication", "nccl"),
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)": ("communication", "custom all-reduce"),
    "_topk_topp_kernel": ("sampling", "sampling"),
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float> > >(x)": (
        "sampling",
        "argmax, softmax, sort",
    ),
    "Memcpy HtoD (Pinned -> Device)": ("copy", "memory copies and fills"),
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, x>(y)": (
        "copy",
        "memory copies and fills",
    ),
    "void at::native::vectorized_gather_kernel<16, long>(x)": ("copy", "gather and scatter"),
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, x>(y)": (
        "elementwise",
        "torch",
    ),
    "void zorp::frobnicate<float>(float*)": ("other", "unknown"),
}


@pytest.mark.parametrize(("name", "expected"), KNOWN.items())
def test_a_name_says_its_work(name: str, expected: tuple[str, str]) -> None:
    work = work_of(name, "kernels")

    assert (work.kind, work.family) == expected


def test_every_row_has_a_kind_that_is_known() -> None:
    tables: tuple[Basis, ...] = ("kernels", "operations")
    works: list[Work] = [work for basis in tables for _, work in _rows(basis)]

    assert {work.kind for work in works} <= set(KINDS) - {"other"}
