from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geb_assets.errors import GebError
from geb_assets.parameters import SECTIONS, Association, Clips, effective, section_of
from geb_assets.stages import STAGES
from resources.profiles import EMBEDDED


def test_later_layers_win_and_other_sections_do_not_reach_in() -> None:
    profile = {"association": {"theta_cons": 0.7, "theta_match": 0.8}, "clips": {"sample_fps": 5.0}}
    override = {"association": {"theta_match": 0.9}}
    found = effective("association", profile, override)
    assert isinstance(found, Association)
    assert (found.theta_cons, found.theta_match, found.references) == (0.7, 0.9, 10)


def test_the_paper_s_defaults() -> None:
    association = Association()
    assert (association.theta_cons, association.theta_match) == (0.60, 0.75)
    assert association.references == 10
    assert (Clips().clip_seconds, Clips().sample_fps) == (30, 10.0)


def test_every_stage_has_a_section_of_its_own() -> None:
    assert sorted(section_of(stage.asset) for stage in STAGES) == sorted(SECTIONS)


def test_the_profile_s_own_values_are_valid() -> None:
    for section in EMBEDDED.parameters:
        effective(section, EMBEDDED.parameters)


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        ("association", {"theta_mach": 0.9}, "no parameter 'association.theta_mach'; section"),
        ("association", {"theta_match": 1.5}, r"association.theta_match: .*\(got 1.5\)"),
        ("association", {"theta_match": "high"}, "association.theta_match: .*number"),
        ("association", {"theta_match": math.nan}, "association.theta_match"),
        ("association", {"theta_cons": 0.75}, "theta_cons=0.75 has to be below theta_match=0.75"),
        ("clips", {"clip_seconds": 7}, "clip_seconds=7 does not divide an hour"),
        ("clips", {"sample_fps": 0}, "clips.sample_fps"),
        ("observations", {"regroup_rule": "worst"}, "observations.regroup_rule"),
        ("observations", {"overlay_regions": [[0, 0, 1]]}, "observations.overlay_regions"),
        ("tracks", {"buffer_s": -1}, "tracks.buffer_s"),
        ("nothing", {}, "no parameter section 'nothing'; there are clips, "),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    section: str, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(GebError, match=message) as caught:
        effective(section, {section: values})
    assert "\n" not in str(caught.value)


@given(cons=st.floats(-1, 1), match=st.floats(-1, 1))
def test_the_thresholds_are_ordered_or_refused(cons: float, match: float) -> None:
    layer = {"association": {"theta_cons": cons, "theta_match": match}}
    if cons < match:
        effective("association", layer)
    else:
        with pytest.raises(GebError):
            effective("association", layer)


def test_a_section_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Association().theta_match = 0.9  # type: ignore[misc]


def test_a_truth_value_is_no_number() -> None:
    with pytest.raises(GebError, match=r"association\.theta_match: .*not true or false"):
        effective("association", {"association": {"theta_match": True}})
