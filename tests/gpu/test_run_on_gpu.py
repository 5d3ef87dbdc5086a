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
