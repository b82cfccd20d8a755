"""Erasure between real runs: the text is gone from what Spark and MLflow wrote, and no run takes the member again."""

from jobs import scope_members
from jobs.audit import audit_label
from jobs.erasure.forget_member import forget_member
from jobs.settings import Settings
from tests.spark.conftest import PROFILE_TEXTS
from tests.text_search import files_with
from tests.world import World

SECRET = "Zanzibar"  # only ann's profile has it


def test_an_erased_member_is_not_labelled_again_while_the_source_has_the_profile(
    published: World, registry: Settings
) -> None:
    world, home, source = published, published.settings.home, published.settings.tables / "profiles"
    parts = {part for path in files_with(home, SECRET) for part in path.split("/")}
    assert {"texts", "member_rounds", "staging"} <= parts
    bobs = world.rows("labels", where="member_id = 'bob'")

    forget_member(world.settings, "ann")

    assert files_with(home, SECRET, besides=(source,)) == [] == files_with(registry.home, SECRET)
    assert world.rows("labels", where="member_id = 'bob'") == bobs
    assert audit_label(world.settings, "ann", "q-nursing")["state"] == "erased"
    again = scope_members.run(world.spark, world.settings, scope_members.Params(run_id=world.pin("second")))
    assert (again["reasons"], again["members_removed"]) == ({"unchanged": 3}, 0)
    world.put_profiles(PROFILE_TEXTS, version=2)  # a new text is the erased member's all the same
    daily = scope_members.Params(run_id=world.pin("third", "daily_incremental"))
    assert scope_members.run(world.spark, world.settings, daily)["members"] == 0
