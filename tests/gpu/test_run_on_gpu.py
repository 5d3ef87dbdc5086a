"""V4 and V5 on a Hopper GPU; skipped with a reason where there is none (see conftest)."""

import pytest

import schedgen as sg

pytestmark = pytest.mark.gpu

SHAPES = [(256, 512, 0), (129, 264, 8), (256, 512, 64), (384, 512, 576), (1000, 1000, 1000)]


@pytest.mark.parametrize("name", ["hopper_matmul_v4", "hopper_matmul_v5"])
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_product_is_right(name, m, n, k):
    result = sg.run(sg.load(name), m=m, n=n, k=k, device="cuda", seed=1)

    assert result.ok, result


def test_bench_measures(tmp_path):
    """Two kernels and a peer: right, timed, kept."""
    import json

    from tests.command_line import schedgen

    file = tmp_path / "results.json"
    result = schedgen(
        "bench", "hopper_matmul_v4", "hopper_matmul_v5", "--peer", "torch", "--rounds", 2,
        "--shape", "1024x1024x1024", "-o", file,
    )  # fmt: skip
    assert result.code == 0, result
    value = json.loads(file.read_text())
    assert value["complete"]
    rows = value["shapes"][0]["rows"]
    assert [row["check"]["state"] for row in rows] == ["right"] * 3
    assert all(time > 0 for row in rows for time in row["burst"]["rounds_ms"])
