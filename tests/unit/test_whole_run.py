"""A whole run of the tests takes every core; nothing else starts processes."""

from types import SimpleNamespace

import pytest

from tests import conftest


def asked(monkeypatch, *, source, worker, cores):
    """The processes that the hook asks pytest-xdist for."""
    monkeypatch.setattr(conftest.os, "cpu_count", lambda: cores)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    if worker:
        monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    option = SimpleNamespace(numprocesses=None, dist="no", usepdb=False)
    plugins = SimpleNamespace(hasplugin=lambda name: name == "xdist")
    config = SimpleNamespace(args_source=source, option=option, pluginmanager=plugins)
    conftest.pytest_cmdline_main(config)
    return option.numprocesses


WHOLE = pytest.Config.ArgsSource.TESTPATHS
NAMED = pytest.Config.ArgsSource.INVOCATION_DIR


def test_a_whole_run_takes_every_core(monkeypatch):
    assert asked(monkeypatch, source=WHOLE, worker=False, cores=2) == 2
    assert asked(monkeypatch, source=WHOLE, worker=False, cores=64) == conftest.MOST_WORKERS


@pytest.mark.parametrize(
    ("source", "worker", "cores"),
    [(WHOLE, True, 2), (NAMED, False, 2), (WHOLE, False, 1)],
    ids=["a worker", "what is named", "one core"],
)
def test_others_start_no_processes(monkeypatch, source, worker, cores):
    assert asked(monkeypatch, source=source, worker=worker, cores=cores) is None
