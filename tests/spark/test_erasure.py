"""Erasure between real runs: the text is gone from what Spark and MLflow wrote, and no run takes the member again."""

from jobs.audit import audit_label
from jobs.erasure.forget_member import forget_member
from jobs.settings import Settings
from tests.spark.conftest import CATALOG_TEXTS, PROFILE_TEXTS
from tests.text_search import files_with
from tests.world import World

SECRET = "Zanzibarian"


def test_an_erased_member_is_not_labelled_again_while_the_source_has_the_profile(
    world: World, registry: Settings
) -> None:
    home, source = world.settings.home, world.settings.tables / "profiles"
    world.put_profiles(PROFILE_TEXTS | {"ann": f"{SECRET} nursing. I worked in baking for {SECRET} years."})
    world.put_catalog(CATALOG_TEXTS)
    world.refresh("first")
    assert {"texts", "member_rounds", "staging"} & {
        part for path in files_with(home, SECRET) for part in path.split("/")
    }
    bobs = world.rows("labels", where="member_id = 'bob'")

    forget_member(world.settings, "ann")

    assert files_with(home, SECRET, besides=(source,)) == [] == files_with(registry.home, SECRET)
    assert world.rows("labels", where="member_id = 'bob'") == bobs
    world.refresh("second")
    assert world.plan["reasons"] == {"unchanged": 3} and {member for member, _ in world.labels()} == {"bob", "dan"}
    assert files_with(home, SECRET, besides=(source,)) == []
    assert audit_label(world.settings, "ann", "q-nursing")["state"] == "erased"
    world.put_profiles(PROFILE_TEXTS, version=2)  # a new text is the erased member's all the same
    world.refresh("third", kind="daily_incremental")
    assert "ann" not in {member for member, _ in world.labels()} and world.plan["members"] == 0
