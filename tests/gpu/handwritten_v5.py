# A kernel of V5's structure, written by hand: what the emitted V5 is measured against.
#
# Two consumer warp groups on a 128x256x64 tile, four stages, one wgmma group in flight, releases
# that lag by one.  It is written for speed at 8192^3 as a kernel author would: sizes of n and k are
# constants, loops count elements, the cursor of each side has its own names, and the raster avoids
# divisions where a band is full.  It is right for k >= 64 only.

import tilus
from tilus import float16, float32, int32, uint32
from tilus.utils import cdiv

STAGES = 4
BLOCK_M = 128
BLOCK_N = 256
BLOCK_K = 64
HALF_M = 64
BAND = 4


def drop_cta_group_on_hopper():
    """tilus 0.2.0 prints a Blackwell qualifier into every TMA load; leave it out."""
    from tilus.backends.emitters.cuda import cp_async_tensor

    def without(load):
        def hopper_load(*args, cta_group=None, **kwargs):
            return load(*args, cta_group=None, **kwargs)

        return hopper_load

    load = cp_async_tensor.cp_async_tensor_global_to_shared
    if load.__name__ == "cp_async_tensor_global_to_shared":
        cp_async_tensor.cp_async_tensor_global_to_shared = without(load)


if tilus.__version__ == "0.2.0":
    drop_cta_group_on_hopper()


class Handover(tilus.Class):
    """Filled and drained barriers, with a cursor for each side."""

    def __init__(self):
        self.drained = self.mbarrier.alloc([2 for _ in range(STAGES)])
        self.filled = self.mbarrier.alloc([1 for _ in range(STAGES)])
        self.fill: int32 = 0
        self.fill_phase: uint32 = self.mbarrier.producer_initial_phase
        self.use: int32 = 0
        self.use_phase: uint32 = self.mbarrier.consumer_initial_phase

    def await_drained(self):
        self.mbarrier.wait(
            self.drained[self.fill], phase=self.fill_phase, sem="relaxed", scope="cta"
        )

    def await_filled(self):
        self.mbarrier.wait(self.filled[self.use], phase=self.use_phase, sem="relaxed", scope="cta")

    def next_fill(self):
        self.fill = (self.fill + 1) % STAGES
        self.fill_phase = self.fill_phase ^ (self.fill == 0)

    def next_use(self):
        self.use = (self.use + 1) % STAGES
        self.use_phase = self.use_phase ^ (self.use == 0)

    def give_back_previous(self):
        with self.single_thread():
            self.mbarrier.arrive(self.drained[(self.use + (STAGES - 1)) % STAGES])


class HandwrittenV5(tilus.Script):
    def tile_of_block(self, block: int32, m_tiles: int32, n_tiles: int):
        band, rest = self.fast_divmod(block, m_tiles * BAND)
        column = band * BAND
        narrow = n_tiles % BAND if n_tiles % BAND > 0 else BAND
        m_tile: int32 = 0
        n_tile: int32 = 0
        if column + BAND <= n_tiles:
            m_tile, across = self.fast_divmod(rest, BAND)
            n_tile = column + across
        else:
            m_tile, across = self.fast_divmod(rest, narrow)
            n_tile = column + across
        return m_tile, n_tile

    def __call__(
        self,
        m_size: int32,
        n_size: int,
        k_size: int,
        a_ptr: ~float16,
        b_ptr: ~float16,
        c_ptr: ~float16,
    ):
        m_tiles = cdiv(m_size, BLOCK_M)
        n_tiles = cdiv(n_size, BLOCK_N)
        self.attrs.blocks = m_tiles * n_tiles
        self.attrs.warps = 9
        m_tile, n_tile = self.tile_of_block(self.blockIdx.x, m_tiles, n_tiles)
        row: int32 = m_tile * BLOCK_M
        column: int32 = n_tile * BLOCK_N

        ga = self.global_view(a_ptr, dtype=float16, shape=[m_size, k_size])
        gb = self.global_view(b_ptr, dtype=float16, shape=[n_size, k_size])
        gc = self.global_view(c_ptr, dtype=float16, shape=[m_size, n_size])
        sa = self.shared_tensor(dtype=float16, shape=[STAGES, 2, HALF_M, BLOCK_K])
        sb = self.shared_tensor(dtype=float16, shape=[STAGES, BLOCK_N, BLOCK_K])
        pipe = Handover()

        with self.thread_group(thread_begin=256, num_threads=32):
            for offset in self.range(0, k_size, BLOCK_K, unroll=STAGES):
                pipe.await_drained()
                with self.single_thread():
                    self.mbarrier.arrive_and_expect_tx(
                        pipe.filled[pipe.fill],
                        transaction_bytes=(BLOCK_M + BLOCK_N) * BLOCK_K * 2,
                    )
                self.tma.global_to_shared(
                    src=ga,
                    dst=sa[pipe.fill, 0],
                    offsets=[row, offset],
                    mbarrier=pipe.filled[pipe.fill],
                )
                self.tma.global_to_shared(
                    src=ga,
                    dst=sa[pipe.fill, 1],
                    offsets=[row + HALF_M, offset],
                    mbarrier=pipe.filled[pipe.fill],
                )
                self.tma.global_to_shared(
                    src=gb,
                    dst=sb[pipe.fill],
                    offsets=[column, offset],
                    mbarrier=pipe.filled[pipe.fill],
                )
                pipe.next_fill()

        with self.thread_group(thread_begin=0, num_threads=128):
            upper = self.register_tensor(dtype=float32, shape=[HALF_M, BLOCK_N], init=0.0)
            pipe.await_filled()
            self.wgmma.fence()
            self.wgmma.mma(sa[pipe.use, 0], sb[pipe.use].transpose(), upper)
            self.wgmma.commit_group()
            pipe.next_use()
            for _ in self.range(BLOCK_K, k_size, BLOCK_K, unroll=STAGES):
                pipe.await_filled()
                self.wgmma.fence()
                self.wgmma.mma(sa[pipe.use, 0], sb[pipe.use].transpose(), upper)
                self.wgmma.commit_group()
                self.wgmma.wait_group(1)
                pipe.give_back_previous()
                pipe.next_use()
            self.wgmma.wait_group(0)
            pipe.give_back_previous()
            self.store_global(gc, self.cast(upper, dtype=float16), offsets=[row, column])

        with self.thread_group(thread_begin=128, num_threads=128):
            lower = self.register_tensor(dtype=float32, shape=[HALF_M, BLOCK_N], init=0.0)
            pipe.await_filled()
            self.wgmma.fence()
            self.wgmma.mma(sa[pipe.use, 1], sb[pipe.use].transpose(), lower)
            self.wgmma.commit_group()
            pipe.next_use()
            for _ in self.range(BLOCK_K, k_size, BLOCK_K, unroll=STAGES):
                pipe.await_filled()
                self.wgmma.fence()
                self.wgmma.mma(sa[pipe.use, 1], sb[pipe.use].transpose(), lower)
                self.wgmma.commit_group()
                self.wgmma.wait_group(1)
                pipe.give_back_previous()
                pipe.next_use()
            self.wgmma.wait_group(0)
            pipe.give_back_previous()
            self.store_global(gc, self.cast(lower, dtype=float16), offsets=[row + HALF_M, column])
