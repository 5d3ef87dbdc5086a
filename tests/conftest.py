"""Hypothesis profiles, golden pages' option, and the reasons for which tests are skipped."""

import importlib.util
import os
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # bare `pytest` does not put it there; `tests.strategies` needs it
    sys.path.insert(0, str(ROOT))

pytest_plugins = ["pytester"]
MOST_WORKERS = 8
"""Processes of a whole run at most; each holds some 400 MB."""

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
for name, examples in (("dev", 25), ("ci", 60), ("nightly", 2000)):
    settings.register_profile(
        name, max_examples=examples, derandomize=name != "nightly", deadline=None, database=None,
        suppress_health_check=QUIET, print_blob=False,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
    )  # fmt: skip
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the golden pages (refused under CI)"
    )


def pytest_configure(config):
    if config.getoption("--update-golden") and os.environ.get("CI"):
        raise pytest.UsageError("--update-golden is refused where CI is set")


def pytest_collection_modifyitems(items):
    reasons = {"gpu": cache(no_gpu), "compile": cache(no_compiler)}
    for item in items:
        for marker, reason in reasons.items():
            if item.get_closest_marker(marker) is not None and reason() is not None:
                item.add_marker(pytest.mark.skip(reason=f"{marker}: {reason()}"))


def no_gpu():
    """Why no kernel can run here, None if one can."""
    from schedgen.running import cuda_reason

    return cuda_reason()


def no_compiler():
    """Why nothing can be compiled for sm_90a here, None if it can."""
    from schedgen.build import ToolchainMissing
    from schedgen.build.toolchain import find_toolchain

    if importlib.util.find_spec("tilus") is None:
        return "the tilus extra is not installed"
    try:
        find_toolchain()
    except ToolchainMissing as error:
        return str(error)
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """A whole run takes every core; what is named runs in this process, one after the other."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return  # a worker, or started by one: it must not have workers of its own
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    cores = os.cpu_count() or 1
    can = config.pluginmanager.hasplugin("xdist") and not config.option.usepdb and cores > 1
    if can and whole and config.option.numprocesses is None:
        config.option.numprocesses = min(cores, MOST_WORKERS)
        config.option.dist = "worksteal"
