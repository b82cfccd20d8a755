"""The committed stubs are those of the proto."""

from pathlib import Path

from mis_scoring.serving.generate_stubs import CHECKOUT, PROTO, STUBS, generate_stubs


def test_generating_the_stubs_again_gives_the_same_files(tmp_path: Path) -> None:
    (tmp_path / PROTO.parent).mkdir(parents=True)
    generate_stubs(tmp_path)
    for stub in STUBS:
        assert (tmp_path / stub).read_text() == (CHECKOUT / stub).read_text(), f"{stub}: generate the stubs again"
