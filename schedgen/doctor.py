"""What this machine can do: the tools and packages that are there, and what to install."""

from __future__ import annotations

import importlib.util
import platform
import re
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass

import click

from schedgen.ir.problems import IllFormed
from schedgen.options import FORMAT, print_json
from schedgen.plugins import conflict, kernel_of_plugin, offers, pass_of

EXTRA = "python3 -m pip install '.[tilus]' in schedgen's folder"


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something that is there or not: ``found`` says what, or why not; ``install`` the way out."""

    name: str
    ok: bool
    found: str
    install: str | None


@dataclass(frozen=True, kw_only=True)
class Ability:
    """Something that schedgen does, and the facts that it lacks here (by name)."""

    name: str
    lacks: tuple[str, ...]


def facts() -> tuple[Fact, ...]:
    """All that building and running look for, in the order in which they need it."""
    return (*_packages(), *_tools(), _gpu(), *_plugins())


ABILITIES = {
    "check, opt, diff, trace, limits, predict, emit, run on the abstract machine": (),
    "build": ("tilus", "nvcc", "host compiler", "nvdisasm"),
    "run and bench on a GPU": ("tilus", "torch", "nvcc", "host compiler", "GPU"),
    "schedgen.testing.strategies": ("hypothesis",),
}
"""What schedgen does, with the facts that it needs."""


def abilities(found: tuple[Fact, ...]) -> tuple[Ability, ...]:
    """What works here."""
    missing = {fact.name for fact in found if not fact.ok}
    return tuple(
        Ability(name=name, lacks=tuple(n for n in needs if n in missing))
        for name, needs in ABILITIES.items()
    )


# --- Packages


def _packages() -> tuple[Fact, ...]:
    names = ("tilus", "apache-tvm-ffi", "cuda-bindings", "torch")
    pins = _pins()
    return (
        *(_package(name, pins.get(name, ""), EXTRA) for name in names),
        _package("hypothesis", "", "python3 -m pip install '.[testing]' in schedgen's folder"),
    )


def _pins() -> dict[str, str]:
    """What the extra asks for, as the installed package declares it: ``==0.2.0`` for tilus."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("schedgen") or []
    except PackageNotFoundError:  # used from its folder
        return {}
    matches = (re.match(r"([\w.-]+)(?:\[.*?\])?\s*([^;]*?)\s*;.*tilus", line) for line in lines)
    return {found[1]: found[2] for found in matches if found}


def _package(name: str, pin: str, install: str) -> Fact:
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version(name)
    except PackageNotFoundError:
        return Fact(name=name, ok=False, found="is not installed", install=install)
    if not _is_inside(found, pin):
        return Fact(name=name, ok=False, found=f"{found} is not {pin}", install=install)
    return Fact(name=name, ok=True, found=found, install=None)


def _is_inside(version: str, pin: str) -> bool:
    """Whether a version is one that the pin allows; True where nothing here can tell."""
    if not pin or importlib.util.find_spec("packaging") is None:
        return True
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(pin).contains(version, prereleases=True)


# --- Tools and the GPU


def _tools() -> tuple[Fact, ...]:
    from schedgen.build.toolchain import (
        Tool,
        ToolchainMissing,
        find_host_compiler,
        find_nvcc,
        find_nvdisasm,
    )

    def looked(name: str, find: Callable[[], Tool]) -> Fact:
        try:
            tool = find()
        except ToolchainMissing as error:
            why, _, way = str(error).rpartition(": ")
            return Fact(name=name, ok=False, found=why, install=way)
        source = "wheel" if "site-packages" in tool.path else "PATH"
        return Fact(
            name=name, ok=True, found=f"{tool.version}, {tool.path} ({source})", install=None
        )

    return (
        looked("nvcc", find_nvcc),
        looked("host compiler", find_host_compiler),
        looked("nvdisasm", lambda: find_nvdisasm(find_nvcc())),
    )


def _gpu() -> Fact:
    from schedgen.running import cuda_reason

    try:
        reason = cuda_reason()
    except (ImportError, OSError, RuntimeError) as error:  # a torch that does not fit this machine
        reason = f"torch cannot be used ({error})"
    if reason is not None:
        if "extra" in reason:  # torch cannot be asked
            reason = f"{_driver_says()}; {reason}"
        way = (
            "a Hopper GPU (H100, H200) and its driver; without one `run` uses the abstract machine"
        )
        return Fact(name="GPU", ok=False, found=reason, install=way)
    import torch

    return Fact(name="GPU", ok=True, found=torch.cuda.get_device_name(), install=None)


def _driver_says() -> str:
    """The cards that the driver names, where nothing is there to ask but its own tool."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return "nvidia-smi names no card"
    return ", ".join(dict.fromkeys(done.stdout.split("\n")[:-1])) or "nvidia-smi names no card"


def _plugins() -> tuple[Fact, ...]:
    """Those of other distributions, each tried."""
    found: list[Fact] = []
    for group in ("schedgen.passes", "schedgen.kernels"):
        among = offers(group)
        for offer in among:
            why, way = "", None
            try:
                fault = conflict(offer, among)
                if fault is not None:
                    raise fault
                _ = pass_of(offer) if group == "schedgen.passes" else kernel_of_plugin(offer.name)
            except IllFormed as error:
                why, _, way = error.message.rpartition("; ")
            found.append(Fact(name=offer.what, ok=not why, found=why or "usable", install=way))
    return tuple(found)


# --- The command


def doctor_text(found: tuple[Fact, ...]) -> str:
    """A line for each fact, the way out under what is missing, then what works."""
    from schedgen import __version__

    width = max(len(fact.name) for fact in found)
    lines = [f"schedgen {__version__}, Python {platform.python_version()}, {platform.system()}"]
    for fact in found:
        lines.append(f"  {'ok     ' if fact.ok else 'missing'}  {fact.name:<{width}}  {fact.found}")
        if fact.install is not None:
            lines.append(f"           {'':<{width}}  install: {fact.install}")
    for ability in abilities(found):
        lacks = f" (lacks {', '.join(ability.lacks)})" if ability.lacks else ""
        lines.append(f"{'cannot' if ability.lacks else 'can'}: {ability.name}{lacks}")
    return "\n".join(lines)


@click.command()
@FORMAT
def doctor(style: str) -> None:
    """Say what this machine can do (GPU, nvcc, tilus and its pins), and what to install."""
    from schedgen import __version__

    found = facts()
    if style == "text":
        click.echo(doctor_text(found))
        return
    value = {
        "version": __version__,
        "python": platform.python_version(),
        "facts": [asdict(fact) for fact in found],
        "abilities": [{**asdict(a), "works": not a.lacks} for a in abilities(found)],
    }
    print_json(value)
