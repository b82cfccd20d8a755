"""The injection slice."""

from mis_scoring.evaluation.injection import INJECTIONS, with_injections
from mis_scoring.evaluation.members import EvaluationMember


def test_every_instruction_stands_once_before_and_once_after_a_profile() -> None:
    members = [
        EvaluationMember(member_id=str(i), profile_text="A profile.", candidates=(), supported=("a",))
        for i in range(2 * len(INJECTIONS))
    ]
    texts = [member.profile_text for member in with_injections(members)]
    expected = [f"A profile.\n{line}" for line in INJECTIONS] + [f"{line}\nA profile." for line in INJECTIONS]
    assert texts == expected


def test_answers_and_candidates_stay_what_they_are() -> None:
    member = EvaluationMember(member_id="m", profile_text="A profile.", candidates=(), supported=("a",))
    (changed,) = with_injections([member])
    assert (changed.member_id, changed.supported) == ("m", ("a",))
