"""A job reaches files in its own directory, and in places that the command line names, and nothing else."""

from pathlib import Path

import pytest

from panjoin.errors import ParameterError
from panjoin.job.places import Places
from tests.job.files import changed, job, problems


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "jobs" / "data").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    return Places.of(tmp_path / "jobs" / "a.toml", [str(tmp_path / "elsewhere"), "s3a://bucket/in"])


def test_relative_paths_are_seen_from_the_job_file(places: Places, tmp_path: Path):
    assert places.resolved("data/new") == f"{tmp_path}/jobs/data/new"
    assert places.resolved(f"{tmp_path}/jobs/data") == f"{tmp_path}/jobs/data"
    assert places.resolved(f"file://{tmp_path}/jobs/a%20b") == f"{tmp_path}/jobs/a b"


def test_places_that_the_command_line_names_are_open(places: Places, tmp_path: Path):
    assert places.resolved(f"{tmp_path}/elsewhere/x") == f"{tmp_path}/elsewhere/x"
    assert places.resolved("s3a://bucket/in/2026") == "s3a://bucket/in/2026"


@pytest.mark.parametrize(
    "written",
    [
        "..", "../elsewhere-2", "data/../../x", "data/..", "{a,../..}/x", "data/[.][.]/x", "data/\\.\\./x",
        "%2e%2e/x", "file:../x", "file:%2e%2e/x", "/etc/passwd", "//etc/passwd", "file:/etc/passwd", "file:///etc/passwd",
        "FILE:/etc/passwd", "s3a://bucket/input", "s3a://other/in", "s3a://bucket/in/../x", "hdfs:///x", "http://x/y", "", " ", "a\0b",
    ],
)  # fmt: skip
def test_what_lies_elsewhere_is_refused(places: Places, written: str):
    with pytest.raises(ParameterError, match=r"lies outside of the job's directory|goes up with|is no path"):
        places.resolved(written)


def test_a_symbolic_link_that_leads_out_is_refused(places: Places, tmp_path: Path):
    (tmp_path / "jobs" / "link").symlink_to(tmp_path)
    with pytest.raises(ParameterError, match=r"lies outside of the job's directory"):
        places.resolved("link/secret")


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ({"left__path": "path = '../orders'"}, "job.toml:4: left.path: '../orders' goes up with '..'"),
        ({"sink__path": "path = '/tmp/out'"}, "job.toml:19: sink.path: '/tmp/out' lies outside"),
        ({"more": "[run]\ncheckpoint = 'file:/tmp/c'"}, "job.toml:21: run.checkpoint: 'file:/tmp/c' lies outside"),
        ({"more": "[run]\nresident = '~/../../x'"}, "job.toml:21: run.resident: '~/../../x' goes up"),
        ({"left__options": "options = { sourceArchiveDir = '/tmp' }"}, "job.toml:7: left.options.sourceArchiveDir: '/tmp' lies"),
        ({"left__options": "options = { PATH = 'x' }"}, "left.options.PATH: 'PATH' is a key of its own here"),
        ({"sink__options": "options = { checkpointLocation = 'x' }"}, "write checkpoint = '...' in [run]"),
        ({"more": "[run]\ncheckpoint = 'out'"}, "run.checkpoint: is the sink's own directory"),
    ],
)  # fmt: skip
def test_every_path_of_a_job_is_confined(line, place):
    (said,) = problems(changed(**line))
    assert place in said


def test_paths_of_a_job_are_absolute():
    made = job(changed())
    assert made.sources[0].path == "/home/somebody/jobs/orders"
    assert made.run.checkpoint == "/home/somebody/jobs/job-checkpoint"
    assert job(changed(sink__path="path = '/srv/out'"), allowed=("/srv",)).sink.path == "/srv/out"
