"""The SARIF log has the shape that the standard gives it (OASIS SARIF 2.1.0)."""

import json
from pathlib import Path

import pytest

import schedgen as sg
from schedgen.diagnostics.catalog import CATALOG
from tests.command_line import schedgen

BAD = Path("tests/known_bad")
LOG = {"$schema": str, "version": str, "runs": list}
RUN = {"tool": dict, "columnKind": str, "artifacts": list, "results": list, "invocations": list}
DRIVER = {"name": str, "version": str, "semanticVersion": str, "rules": list}
RULE = {"id": str, "name": str, "shortDescription": dict, "fullDescription": dict, "help": dict,
        "defaultConfiguration": dict}  # fmt: skip
RESULT = {"ruleId": str, "ruleIndex": int, "level": str, "message": dict, "locations": list,
          "relatedLocations": list, "codeFlows": list, "fixes": list}  # fmt: skip
OPTIONAL = {"codeFlows", "fixes"}
LOCATION = {"id": int, "physicalLocation": dict, "message": dict}


def has_shape(value, shape, optional=frozenset()):
    """No key that the standard does not name here, each of its type, all that must be there."""
    assert set(value) <= set(shape), sorted(set(value) - set(shape))
    assert set(shape) - set(value) <= set(optional)
    for key, item in value.items():
        assert type(item) is shape[key], key


def is_location(value, lines):
    has_shape(value, LOCATION, {"id", "message"})
    physical = value["physicalLocation"]
    assert set(physical) <= {"artifactLocation", "region"}
    assert physical["artifactLocation"]["index"] == 0
    region = physical.get("region", {"startLine": 1, "startColumn": 1})
    assert 1 <= region["startLine"] <= lines
    assert region["startColumn"] >= 1


def log_of(name, code=1):
    file = BAD / f"{name}.sched"
    result = schedgen("check", file, "--format", "sarif")
    assert (result.code, result.err) == (code, "")
    return json.loads(result.out), file.read_text(encoding="utf-8")


NAMES = ["sg203_wait_two", "sg207_no_peeled_commit", "sg211_operands_swapped", "sg308_lost_release",
         "sg501_five_stages"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_log_has_the_shape_of_the_standard(name):
    log, text = log_of(name)
    has_shape(log, LOG)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    has_shape(run, RUN)
    has_shape(run["tool"]["driver"], DRIVER)
    rules = run["tool"]["driver"]["rules"]
    for rule in rules:
        has_shape(rule, RULE)
        assert rule["help"]["text"].startswith(f"{rule['id']} {CATALOG[rule['id']].name}: ")
        assert "### Fix" in rule["help"]["markdown"]
    assert run["results"]
    for result in run["results"]:
        has_shape(result, RESULT, OPTIONAL)
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        for location in (*result["locations"], *result["relatedLocations"]):
            is_location(location, text.count("\n"))
        for flow in result.get("codeFlows", []):
            for thread in flow["threadFlows"]:
                orders = [step["executionOrder"] for step in thread["locations"]]
                assert orders == sorted(orders)
                for step in thread["locations"]:
                    is_location(step["location"], text.count("\n"))


def test_the_witness_is_one_code_flow_over_all_replicas():
    log, _ = log_of("sg203_wait_two")
    (flow,) = log["runs"][0]["results"][0]["codeFlows"]
    assert {t["id"] for t in flow["threadFlows"]} >= {"producer[0]", "consumer[0]"}
    orders = sorted(s["executionOrder"] for t in flow["threadFlows"] for s in t["locations"])
    assert orders == list(range(1, len(orders) + 1))
    witness = sg.check(sg.load(BAD / "sg203_wait_two.sched")).findings[0].witness
    assert len(orders) == len(witness)


@pytest.mark.parametrize("name", ["sg203_wait_two", "sg308_lost_release", "sg207_no_peeled_commit"])
def test_replacements_make_the_proved_text(name):
    log, text = log_of(name)
    (fix,) = log["runs"][0]["results"][0]["fixes"]
    (change,) = fix["artifactChanges"]
    lines = text.splitlines(keepends=True)
    for replacement in reversed(change["replacements"]):
        region = replacement["deletedRegion"]
        assert (region["startColumn"], region["endColumn"]) == (1, 1)
        new = replacement["insertedContent"]["text"].splitlines(keepends=True)
        lines[region["startLine"] - 1 : region["endLine"] - 1] = new
    assert sg.check(sg.parse("".join(lines))).outcome is sg.Outcome.PROVED


def test_what_is_right_has_no_result():
    result = schedgen("check", "hopper_matmul_v5", "--format", "sarif")
    run = json.loads(result.out)["runs"][0]
    assert (result.code, run["results"], run["tool"]["driver"]["rules"]) == (0, [], [])
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_what_cannot_be_said_is_a_notification():
    result = schedgen("check", "hopper_matmul_v4", "--k", "9000", "--format", "sarif")
    (invocation,) = json.loads(result.out)["runs"][0]["invocations"]
    assert (result.code, invocation["executionSuccessful"]) == (3, False)
    assert "budget" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_a_text_that_is_none_is_a_result_too():
    result = schedgen("check", BAD / "sg110_no_arrivals.sched", "--format", "sarif")
    run = json.loads(result.out)["runs"][0]
    assert result.code == 2
    assert result.err.startswith("SG110 number-out-of-range: ")
    assert [r["ruleId"] for r in run["results"]] == ["SG110"]
    is_location(run["results"][0]["locations"][0], 99)
