"""Measured tables from a folder: our columns or the database's, and what is wrong with a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.validation.samples import (
    all_reduce_samples,
    attention_samples,
    gemm_samples,
    nccl_samples,
    serving_samples,
)
from experiments.validation.tables import find_tables
from patterns.errors import UserError

GEMM = "gpu,library,gemm_dtype,m,n,k,latency_us\n"
ATTENTION = "gpu,library,phase,batch_size,isl,step,num_heads,num_key_value_heads,head_dim,kernel_source,latency_us\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return folder


def test_columns_of_our_own(tmp_path: Path) -> None:
    write(tmp_path, "gemm_ours.csv", GEMM + "h100_sxm,ours 1,bfloat16,1,2,3,4.5\nh200_sxm,trtllm 1,fp8,5,6,7,8\n")
    first, second = gemm_samples(find_tables(tmp_path), "trtllm")
    assert (first.gpu, first.library, first.dtype) == ("h100_sxm", "ours 1", "bf16")
    assert (first.m, first.n, first.k, first.latency_us) == (1, 2, 3, 4.5)
    assert (second.gpu, second.dtype) == ("h200", "fp8")


def test_of_the_databases_libraries_only_the_one_that_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "gemm.csv", GEMM + "".join(f"h100_sxm,{name},bfloat16,1,2,3,4\n" for name in ("vllm 1", "ours")))
    assert [one.library for one in gemm_samples(find_tables(tmp_path), "trtllm")] == ["ours"]
    assert len(gemm_samples(find_tables(tmp_path), "vllm")) == 2


def test_dtypes_that_the_model_does_not_have_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, "gemm.csv", GEMM + "h100_sxm,ours,nvfp4,1,2,3,4\n")
    assert gemm_samples(find_tables(tmp_path), "trtllm") == []


def test_the_databases_tree_gives_gpu_library_and_the_newest_version(tmp_path: Path) -> None:
    text = "gemm_dtype,m,n,k,latency\nbfloat16,1,2,3,{}\n"
    for version, latency in (("1.9.0rc2", 0.009), ("1.10.0rc1", 0.0105), ("1.10.0", 0.007)):
        write(tmp_path, f"data/b200_sxm/gemm/trtllm/{version}/gemm_perf.csv", text.format(latency))
    write(tmp_path, "data/b200_sxm/gemm/vllm/9.0/gemm_perf.csv", text.format(0.001))
    (sample,) = gemm_samples(find_tables(tmp_path), "trtllm")
    assert (sample.gpu, sample.library) == ("b200", "trtllm 1.10.0rc1")
    assert sample.latency_us == pytest.approx(10.5)


def test_attention_by_phase_without_windows_and_narrow_caches(tmp_path: Path) -> None:
    rows = (
        "h100_sxm,vllm 1,context,2,512,0,32,8,128,fa3,20\n"
        "h100_sxm,vllm 1,generation,4,1,127,16,2,64,fa3,9\n"
        "h100_sxm,trtllm 1,generation,4,1,127,16,2,64,x,9\n"
    )
    tables = find_tables(write(tmp_path, "attention.csv", ATTENTION + rows))
    (context,) = attention_samples(tables, "vllm", "context")
    (generation,) = attention_samples(tables, "vllm", "generation")
    assert (context.batch, context.isl, context.heads, context.kv_heads, context.head_dim) == (2, 512, 32, 8, 128)
    assert (generation.step, generation.kernel) == (127, "fa3")
    heading = (
        "batch_size,isl,step,num_heads,num_key_value_heads,head_dim,attn_dtype,kv_cache_dtype,window_size,latency\n"
    )
    kept = "1,64,0,8,8,64,bfloat16,bfloat16,0,0.5\n"
    others = "1,64,0,8,8,64,bfloat16,fp8,0,0.5\n1,64,0,8,8,64,bfloat16,bfloat16,128,0.5\n"
    place = "h100_sxm/attention/vllm/1/context_attention_perf.csv"
    tables = find_tables(write(tmp_path / "tree", place, heading + kept + others))
    assert [one.latency_us for one in attention_samples(tables, "vllm", "context")] == [500.0]


def test_an_all_reduce_of_the_database_counts_elements(tmp_path: Path) -> None:
    text = "allreduce_dtype,num_gpus,message_size,latency\nbfloat16,8,4096,0.005\nfp8,8,64,1\n"
    tables = find_tables(write(tmp_path, "h100_sxm/comm/trtllm/1/custom_allreduce_perf.csv", text))
    (sample,) = all_reduce_samples(tables, "trtllm")
    assert (sample.members, sample.elements, sample.latency_us) == (8, 4096, 5.0)


def test_of_nccls_table_only_all_reduces_in_sixteen_bits(tmp_path: Path) -> None:
    heading = "op_name,nccl_dtype,num_gpus,message_size,latency\n"
    rows = "all_reduce,half,8,512,0.016\nall_gather,half,8,512,0.01\nall_reduce,int8,8,512,0.01\n"
    tables = find_tables(write(tmp_path, "h100_sxm/comm/nccl/2.29.2/nccl_perf.csv", heading + rows))
    (sample,) = nccl_samples(tables)
    assert (sample.library, sample.members, sample.elements, sample.latency_us) == ("nccl 2.29.2", 8, 512, 16.0)


def test_servers_are_of_known_models_in_bf16(tmp_path: Path) -> None:
    texts = "id,system,backend,backend_version,model_path,precision,mode"
    heading = f"{texts},pp_size,tp_size,batch_size,isl,osl,silicon_tpot_ms\n"
    rows = "a,h200_sxm,trtllm,1.0,ours/8B,,agg,1,4,8,1024,128,7.5\nb,h200_sxm,trtllm,1.0,ours/8B,fp8,agg,1,4,8,1,1,1\n"
    others = "c,h200_sxm,trtllm,1.0,theirs,,agg,1,4,8,1,1,1\nd,h200_sxm,trtllm,1.0,ours/8B,,disagg,1,,,1,1,1\n"
    tables = find_tables(write(tmp_path, "silicon_sample.csv", heading + rows + others))
    (sample,) = serving_samples(tables, {"ours/8B": "llama"})
    assert (sample.gpu, sample.source, sample.model) == ("h200", "trtllm 1.0", "llama")
    assert (sample.members, sample.batch, sample.isl, sample.osl, sample.tpot_ms) == (4, 8, 1024, 128, 7.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu,library,gemm_dtype,m,n,latency_us\nh100_sxm,o,bfloat16,1,2,3\n", "has no column 'k'"),
        ("gpu,library,gemm_dtype,m,n,k\nh100_sxm,o,bfloat16,1,2,3\n", "has no column latency_us or latency"),
        (GEMM + "h100_sxm,o,bfloat16,1,two,3,4\n", "row 2: n must be a whole number of at least 1, is 'two'"),
        (GEMM + "h100_sxm,o,bfloat16,0,2,3,4\n", "row 2: m must be a whole number of at least 1, is '0'"),
        (GEMM + "h100_sxm,o,bfloat16,1,2,3,1e400\n", "row 2: latency_us must be more than 0 and finite, is '1e400'"),
        (GEMM + "h100_sxm,o,bfloat16,1,2,3,-4\n", "row 2: latency_us must be more than 0 and finite, is '-4'"),
        (GEMM + "h100_sxm,o,bfloat16,1,2,3\n", "row 2 has 6 cells under 7 headings"),
    ],
)
def test_what_is_wrong_with_a_table_is_told_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, "gemm.csv", text)
    with pytest.raises(UserError, match=r"gemm\.csv") as refused:
        gemm_samples(find_tables(tmp_path), "trtllm")
    assert message in str(refused.value)


def test_a_folder_that_is_not_there_or_holds_no_tables(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no folder"):
        find_tables(tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"holds no \.parquet and no \.csv"):
        find_tables(tmp_path)


def test_parquet_is_read_like_csv(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from importlib import import_module

    columns = {"gemm_dtype": ["bfloat16"], "m": [1], "n": [2], "k": [3], "latency": [0.25], "op_name": ["gemm"]}
    path = tmp_path / "h100_sxm" / "gemm" / "trtllm" / "1" / "gemm_perf.parquet"
    path.parent.mkdir(parents=True)
    import_module("pyarrow.parquet").write_table(pyarrow.table(columns), path)
    (sample,) = gemm_samples(find_tables(tmp_path), "trtllm")
    assert (sample.gpu, sample.library, sample.k, sample.latency_us) == ("h100_sxm", "trtllm 1", 3, 250.0)
