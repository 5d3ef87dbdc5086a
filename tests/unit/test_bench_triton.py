"""The Triton peer compiles for sm_90a as it is meant; needs triton, no GPU."""

import pytest

triton = pytest.importorskip("triton", reason="the triton extra is not installed")


def compiled():
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from schedgen.bench import triton_matmul as peer

    descriptors = {"a": (peer.TILE_M, peer.TILE_K), "b": (peer.TILE_N, peer.TILE_K),
                   "c": (peer.TILE_M, peer.TILE_N)}  # fmt: skip
    signature = {name: f"tensordesc<fp16[{r},{c}]>" for name, (r, c) in descriptors.items()}
    signature |= dict.fromkeys(("m", "n", "k"), "i32")
    constants = {"tile_m": peer.TILE_M, "tile_n": peer.TILE_N, "tile_k": peer.TILE_K,
                 "band": peer.BAND, "programs": 132}  # fmt: skip
    source = ASTSource(
        fn=peer.persistent_matmul, signature=signature | dict.fromkeys(constants, "constexpr"),
        constexprs=constants,
    )  # fmt: skip
    options = {"num_stages": peer.STAGES, "num_warps": peer.WARPS}
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


def test_the_peer_is_pipelined_across_tiles(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    kernel = compiled()
    text = kernel.asm["ttgir"]
    assert kernel.metadata.shared <= 232448
    assert "warp_group_dot_wait" in text
    assert "pendings = 1" in text  # one wgmma group stays in flight over the steps of K
    assert "async_tma_copy_global_to_local" in text
    assert "async_tma_copy_local_to_global" in text
    # Flattened: the store of a tile is a branch of the one loop that multiplies.
    loop = text[text.rindex("scf.for") :]
    assert "warp_group_dot " in loop
    assert "scf.if" in loop[: loop.index("async_tma_copy_local_to_global")]
