"""Scrapes during cells: readable by common tools, and whole up to the moment of a kill, wherever it fell."""

import gzip
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from whichbits.errors import BadInput
from whichbits.record.gzip_members import read_members
from whichbits.record.scrapes import Scrape, append_scrape, drop_torn_lines, during_path, each_scrape, read_scrapes

TEXT = "x_total 1\n" * 40


def during(cell: int, time_ns: int = 0) -> Scrape:
    return Scrape("a/b", "0", cell, "during", time_ns, TEXT)


def member(scrape: Scrape) -> bytes:
    return gzip.compress(msgspec.json.encode(scrape) + b"\n", 1)


def write(folder: Path, content: bytes) -> Path:
    path = during_path(folder, "a/b", "0")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def test_cut_anywhere_what_was_whole_is_read_and_what_follows_as_well(tmp_path: Path) -> None:
    """Three members cut at every length: whole ones stay, the torn one goes, and a fourth can be appended."""
    scrapes = [during(cell) for cell in range(4)]
    members = [member(scrape) for scrape in scrapes]
    content = b"".join(members[:3])
    ends = [sum(map(len, members[:count])) for count in range(4)]

    for length in range(len(content) + 1):
        path = write(tmp_path, content[:length])
        whole = sum(end <= length for end in ends) - 1
        assert read_scrapes(tmp_path) == scrapes[:whole]

        drop_torn_lines(tmp_path)
        assert path.stat().st_size == ends[whole]
        path.write_bytes(path.read_bytes() + members[3])
        assert read_scrapes(tmp_path) == [*scrapes[:whole], scrapes[3]]


@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_members_end_where_they_end_whatever_the_reader_takes_at_once(tmp_path: Path, shift: int) -> None:
    """A member that ends just before, at and behind the 65536 bytes of one read; stored, so that sizes are known."""
    overhead = len(gzip.compress(b"x" * 60000, 0)) - 60000
    contents = [b"x" * (65536 + shift - overhead), b"second", b"y" * 200_000]
    path = tmp_path / "members.gz"
    path.write_bytes(b"".join(gzip.compress(content, 0) for content in contents))

    found = list(read_members(path))

    assert found[0].end == 65536 + shift
    assert [one.content for one in found] == contents
    assert found[-1].end == path.stat().st_size


def test_pythons_gzip_reads_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, member(during(1)) + member(during(2)))

    with gzip.open(path) as lines:
        assert [msgspec.json.decode(line)["cell"] for line in lines] == [1, 2]


@pytest.mark.skipif(shutil.which("zcat") is None, reason="there is no zcat")
def test_zcat_reads_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, member(during(1)) + member(during(2)))

    lines = subprocess.run(["zcat", path], check=True, capture_output=True).stdout.splitlines()
    assert [msgspec.json.decode(line)["cell"] for line in lines] == [1, 2]


def test_phases_are_told_apart(tmp_path: Path) -> None:
    around = [Scrape("a/b", "0", 0, "before", 1, TEXT), Scrape("a/b", "0", 0, "after", 3, TEXT)]
    for scrape in around:
        append_scrape(tmp_path, scrape)
    write(tmp_path, member(during(0, time_ns=2)))

    assert read_scrapes(tmp_path, "before", "after") == around
    assert list(each_scrape(tmp_path, "during")) == [during(0, time_ns=2)]
    assert sorted(read_scrapes(tmp_path), key=lambda scrape: scrape.time_ns) == [
        around[0],
        during(0, time_ns=2),
        around[1],
    ]


def test_what_is_not_gzip_is_one_clear_error_and_is_left_alone(tmp_path: Path) -> None:
    path = write(tmp_path, member(during(0)) + b"not gzip at all")
    before = path.read_bytes()

    for action in (read_scrapes, drop_torn_lines):
        with pytest.raises(BadInput, match=r"during\.jsonl\.gz has a part that is not gzip") as refusal:
            action(tmp_path)
        assert refusal.value.code == "run_broken"
    assert path.read_bytes() == before


def test_summaries_do_not_open_what_happened_during_cells(tmp_path: Path) -> None:
    """There is far more of it than of anything else; even where it is damaged, the rest is read."""
    append_scrape(tmp_path, Scrape("a/b", "0", 0, "before", 1, TEXT))
    write(tmp_path, b"damaged")

    assert len(list(each_scrape(tmp_path, "before", "after"))) == 1
