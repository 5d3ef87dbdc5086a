"""The kernel of docs/python.md."""

import schedgen as sg


def mine_v4():
    """V4 with tiles of 128 x 128."""
    s = sg.Builder(
        "mine_v4",
        problem="c[m, n] f16 = a[m, k] f16 * b[n, k] f16",
        tile=sg.Tile(m=128, n=128, k=64, raster=("n", 4)),
    )
    tma = s.ring("tma", stages=4, empty=2, full=1)
    A = tma.slot("A", slabs=2, dtype="f16", shape=(64, 64), tensor="a", rows=64 * sg.I)
    B = tma.slot("B", dtype="f16", shape=(128, 64), tensor="b", rows=0)
    acc = s.acc("acc", dtype="f32", shape=(64, 128), tensor="c", rows=64 * sg.SELF)
    with s.role("producer", warps=1) as p:
        with p.loop("k", 0, sg.K) as k:
            p.acquire(tma.empty)
            p.expect(tma.full, bytes=32768)
            for slot in (A[0], A[1], B):
                p.load(slot, k)
            p.advance(tma)
        with p.loop("_", 0, tma.stages):
            p.acquire(tma.empty)
            p.advance(tma)
    with s.role("consumer", replicas=2, warps=4) as c:
        with c.loop("k", 0, sg.K) as k:
            c.acquire(tma.full)
            c.fence()
            c.mma(acc, A[sg.SELF], B, k)
            c.commit()
            c.wait(0)
            c.release(tma.empty)
            c.advance(tma)
        c.store(acc, s.out)
    return s.build()
