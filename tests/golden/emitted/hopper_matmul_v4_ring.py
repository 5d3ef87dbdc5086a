# hopper_matmul_v4_ring: c[m, n] = a[m, k] * b[n, k]
# One block computes a tile of 128x256; K goes by in tiles of 64.
#
# Made by schedgen: hopper_matmul_v4 -p 'set-stages{n=4},rasterize{along=n,group=8},stage-epilogue{buffer=ring}'
# Verdict: proved for every K >= 0 (explicit to K = 19, repeat at 5)
# Regenerate: schedgen emit hopper_matmul_v4_ring

import tilus
from tilus import float16, float32, int32, uint32
from tilus.utils import cdiv


def use_hopper_tma_loads():
    """Make tilus 0.2.0 emit TMA loads that sm_90a understands.

    It always writes `.cta_group::1`, a Blackwell qualifier that ptxas rejects on Hopper.  The two
    functions that print the load are replaced by ones that leave it out below compute capability
    10.0.  Of the emitters, only this module may be imported here: importing them all registers one
    of them twice.
    """
    from tilus.backends.emitters.cuda import cp_async_tensor
    from tilus.target import get_current_target

    def repaired(print_load):
        def print_load_for_target(*args, cta_group=None, **kwargs):
            if get_current_target().properties.compute_capability < (10, 0):
                cta_group = None
            return print_load(*args, cta_group=cta_group, **kwargs)

        return print_load_for_target

    for name in (
        "cp_async_tensor_global_to_shared",
        "cp_async_tensor_global_to_cluster_shared",
    ):
        print_load = getattr(cp_async_tensor, name)
        if print_load.__name__ == name:  # not repaired yet
            setattr(cp_async_tensor, name, repaired(print_load))


if tilus.__version__ == "0.2.0":
    use_hopper_tma_loads()


class Ring(tilus.Class):
    """Stages of shared memory, each handed over by a full and an empty barrier.

    A thread runs one role, so the cursor (`stage`, `parity`) is that role's own.  It starts at
    stage 0 with parity 0, and `advance` alone moves it.
    """

    def __init__(self, stages: int, full: int, empty: int):
        self.stages: int = stages
        self.full = self.mbarrier.alloc([full for _ in range(stages)])
        self.empty = self.mbarrier.alloc([empty for _ in range(stages)])
        self.stage: uint32 = 0  # unsigned: its remainder is a mask
        self.parity: uint32 = 0

    def acquire_empty(self):
        # The other parity: the first turn over the stages waits for nobody.
        self.mbarrier.wait(
            self.empty[self.stage], phase=self.parity ^ 1, sem="acquire", scope="cta"
        )

    def acquire_full(self):
        self.mbarrier.wait(self.full[self.stage], phase=self.parity, sem="acquire", scope="cta")

    def expect_full(self, nbytes: int):
        with self.single_thread():
            self.mbarrier.arrive_and_expect_tx(
                self.full[self.stage], transaction_bytes=nbytes, sem="release", scope="cta"
            )

    def release_empty(self):
        with self.single_thread():
            self.mbarrier.arrive(self.empty[self.stage], sem="release", scope="cta")

    def advance(self):
        self.stage = (self.stage + 1) % self.stages
        self.parity = self.parity ^ (self.stage == 0)


class HopperMatmulV4Ring(tilus.Script):
    def output_tile(self, block: int32, m_tiles: int32, n_tiles: int32):
        """Bands of 8 tiles along n, each walked along m, n fastest."""
        band, place = self.fast_divmod(block, m_tiles * 8)
        first = band * 8
        width: int32 = min(8, n_tiles - first)
        return place // width, first + place % width

    def __call__(
        self,
        m_size: int32,
        n_size: int,
        k_size: int32,
        a_ptr: ~float16,
        b_ptr: ~float16,
        c_ptr: ~float16,
    ):
        m_tiles = cdiv(m_size, 128)
        n_tiles = cdiv(n_size, 256)
        k_tiles = cdiv(k_size, 64)
        self.attrs.blocks = m_tiles * n_tiles
        self.attrs.warps = 9

        m_tile, n_tile = self.output_tile(self.blockIdx.x, m_tiles, n_tiles)
        m_offset: int32 = m_tile * 128
        n_offset: int32 = n_tile * 256

        a = self.global_view(a_ptr, dtype=float16, shape=[m_size, k_size])
        b = self.global_view(b_ptr, dtype=float16, shape=[n_size, k_size])
        c = self.global_view(c_ptr, dtype=float16, shape=[m_size, n_size])

        tma = Ring(stages=4, full=1, empty=2)
        tma.A = self.shared_tensor(dtype=float16, shape=[4, 2, 64, 64])
        tma.B = self.shared_tensor(dtype=float16, shape=[4, 256, 64])
        done = self.mbarrier.alloc([2])
        out = self.reshape_shared(tma.B, [4, 4, 64, 64])  # the stages as slabs of 64 columns

        with self.thread_group(thread_begin=256, num_threads=32):  # producer
            for k in self.range(k_tiles, unroll=4):
                tma.acquire_empty()
                tma.expect_full(nbytes=49152)
                self.tma.global_to_shared(
                    src=a,
                    dst=tma.A[tma.stage, 0],
                    offsets=[m_offset, k * 64],
                    mbarrier=tma.full[tma.stage],
                )
                self.tma.global_to_shared(
                    src=a,
                    dst=tma.A[tma.stage, 1],
                    offsets=[m_offset + 64, k * 64],
                    mbarrier=tma.full[tma.stage],
                )
                self.tma.global_to_shared(
                    src=b,
                    dst=tma.B[tma.stage],
                    offsets=[n_offset, k * 64],
                    mbarrier=tma.full[tma.stage],
                )
                tma.advance()
            for _ in self.range(tma.stages):
                tma.acquire_empty()
                tma.advance()

        with self.thread_group(thread_begin=0, num_threads=128):  # consumer[0]
            acc_0 = self.register_tensor(dtype=float32, shape=[64, 256], init=0.0)
            for k in self.range(k_tiles, unroll=4):
                tma.acquire_full()
                self.wgmma.fence()
                self.wgmma.mma(tma.A[tma.stage, 0], tma.B[tma.stage].transpose(), acc_0)  # tile k
                self.wgmma.commit_group()
                self.wgmma.wait_group(0)
                tma.release_empty()
                tma.advance()
            with self.single_thread():
                self.mbarrier.arrive(done[0], sem="release", scope="cta")
            self.mbarrier.wait(done[0], phase=0, sem="acquire", scope="cta")
            self.store_shared(
                self.reshape_shared(out[0].permute((1, 0, 2)), [64, 256]),
                self.cast(acc_0, dtype=float16),
            )
            self.fence.proxy_async()
            self.sync()  # group[0]
            with self.single_warp():
                for slab in self.range(4, unroll="all"):
                    self.tma.shared_to_global(
                        src=out[0, slab], dst=c, offsets=[m_offset, n_offset + slab * 64]
                    )
                self.tma.commit_group()
                self.tma.wait_group(0, read=True)

        with self.thread_group(thread_begin=128, num_threads=128):  # consumer[1]
            acc_1 = self.register_tensor(dtype=float32, shape=[64, 256], init=0.0)
            for k in self.range(k_tiles, unroll=4):
                tma.acquire_full()
                self.wgmma.fence()
                self.wgmma.mma(tma.A[tma.stage, 1], tma.B[tma.stage].transpose(), acc_1)  # tile k
                self.wgmma.commit_group()
                self.wgmma.wait_group(0)
                tma.release_empty()
                tma.advance()
            with self.single_thread():
                self.mbarrier.arrive(done[0], sem="release", scope="cta")
            self.mbarrier.wait(done[0], phase=0, sem="acquire", scope="cta")
            self.store_shared(
                self.reshape_shared(out[1].permute((1, 0, 2)), [64, 256]),
                self.cast(acc_1, dtype=float16),
            )
            self.fence.proxy_async()
            self.sync()  # group[1]
            with self.single_warp():
                for slab in self.range(4, unroll="all"):
                    self.tma.shared_to_global(
                        src=out[1, slab], dst=c, offsets=[m_offset + 64, n_offset + slab * 64]
                    )
                self.tma.commit_group()
                self.tma.wait_group(0, read=True)
