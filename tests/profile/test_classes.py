"""Names of kernels by class: every pattern is for its example, and finds names of other libraries."""

from __future__ import annotations

import pytest

from experiments.charting.lanes import STYLES
from experiments.profile.classes import class_of, drawn_as, patterns, sorts
from experiments.profile.steps import hints


def test_every_pattern_is_the_first_that_finds_its_example() -> None:
    for one in patterns():
        assert one.class_name in sorts()
        first = next(other for other in patterns() if other.pattern.search(one.example))
        assert first is one, f"{one.example} is taken by {first.pattern.pattern}"


def test_every_class_is_drawn_in_a_style_that_there_is() -> None:
    assert set(drawn_as().values()) <= set(STYLES)


def test_every_hint_of_a_step_is_the_first_that_finds_its_example() -> None:
    for pattern, example in hints():
        assert next(other for other, _ in hints() if other.search(example)) is pattern


@pytest.mark.parametrize(
    ("name", "class_name"),
    [
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "matrix product"),
        ("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_tn_align8>", "matrix product"),
        ("void gemv2T_kernel_val<int, int, __nv_bfloat16, float, 128>", "matrix product"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>", "matrix product"),
        ("ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_stages_64x5_tn", "matrix product"),
        ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "matrix product"),
        ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 32>>", "attention"),
        ("void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>>>", "attention"),
        ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel)", "attention"),
        ("void vllm::paged_attention_v2_kernel<__nv_bfloat16, 128, 16>", "attention"),
        ("void cudnn::bn_fw_tr_1C11_singleread_specialized<256, 32>", "norm"),
        ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>", "norm"),
        ("void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>", "norm"),
        ("triton_poi_fused_add_mul_silu_5", "elementwise"),
        ("void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>", "elementwise"),
        ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::OpaqueType<2u>>", "elementwise"),
        ("void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>>", "elementwise"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", "reduction and softmax"),
        ("void (anonymous namespace)::cunn_SoftMaxForward<8, float, float, float>", "reduction and softmax"),
        ("void at::native::indexing_backward_kernel_stride_1<float>", "gather and scatter"),
        ("Memcpy DtoH (Device -> Pageable)", "copy"),
        ("[CUDA memcpy DtoD]", "copy"),
        ("Memset (Device)", "memset"),
        ("ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)", "communication"),
        ("void trtllm::lamport_style_one_shot_all_reduce_norm_kernel<8>", "communication"),
        ("my_own_kernel", "other"),
    ],
)  # fmt: skip
def test_names_of_well_known_kernels(name: str, class_name: str) -> None:
    assert class_of(name) == class_name
