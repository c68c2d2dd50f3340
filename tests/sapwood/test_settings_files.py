"""Settings from the files that a host names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapwood import BadSettings, BranchSummarySettings, Model, Refused, RetryPolicy, Settings, load_settings
from sapwood.settings_files import MOST_BYTES

PI = """{
  "lastChangelogVersion": "1.6.0",
  "defaultProvider": "anthropic",
  "defaultModel": "claude-sonnet-4-5",
  "defaultThinkingLevel": "high",
  "modelThinkingLevels": {"anthropic/claude-sonnet-4-5": "low"},
  "thinkingBudgets": {"minimal": 512, "high": 20000},
  "enabledModels": ["anthropic/*", "openrouter/*"],
  "theme": "dark",
  "transport": "auto",
  "httpIdleTimeoutMs": "disabled",
  "queueMode": "all",
  "followUpMode": "one-at-a-time",
  "hideThinkingBlock": false,
  "doubleEscapeAction": "tree",
  "defaultTools": ["+grep", "-write"],
  "packages": ["npm:something", {"source": "git:other", "skills": []}],
  "extensions": [],
  "terminal": {"showImages": true, "images": null},
  "images": {"autoResize": true, "blockImages": false},
  "warnings": {"anthropicExtraUsage": false},
  "retry": {
    "enabled": true,
    "maxRetries": 5,
    "baseDelayMs": 1000,
    "maxAgentDelayMs": 30000,
    "provider": {"timeoutMs": 600000, "maxRetries": 0, "maxRetryDelayMs": 60000}
  },
  "compaction": {
    "enabled": true,
    "reserveTokens": 20000,
    "keepRecentTokens": 30000,
    "modelOverrides": {
      "anthropic/claude-sonnet-4-5": {"reserveTokens": 400000},
      "openrouter/anthropic/claude-sonnet-4-5": {"keepRecentTokens": 10000}
    }
  },
  "branchSummary": {"reserveTokens": 32768, "skipPrompt": true}
}
"""

Write = Callable[..., Path]


@pytest.fixture(name="write")
def _write(tmp_path: Path) -> Write:
    def write(text: str | bytes, name: str = "settings.json") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def budget(settings: Settings, key: str) -> tuple[int, int]:
    provider, _, name = key.partition("/")
    found = settings.compaction.of(Model(provider=provider, id=name, context_window=1_000_000))
    return found.reserve_tokens, found.keep_recent_tokens


def test_without_a_file_it_is_all_as_by_default() -> None:
    assert load_settings() == Settings()


def test_a_settings_file_of_pi_is_taken_as_it_is(write: Write) -> None:
    settings = load_settings(write(PI))

    assert (settings.steering_mode, settings.follow_up_mode) == ("all", "one-at-a-time")
    assert settings.retry == RetryPolicy(enabled=True, max_retries=5, base_delay_ms=1_000, max_delay_ms=30_000)
    assert settings.branch_summary == BranchSummarySettings(enabled=False, reserve_tokens=32_768, manner="pi")
    assert budget(settings, "anthropic/claude-sonnet-4-5") == (400_000, 30_000)
    assert budget(settings, "openrouter/anthropic/claude-sonnet-4-5") == (20_000, 10_000)
    assert budget(settings, "anthropic/Claude-sonnet-4-5") == (20_000, 30_000)
    assert settings.summary_model is None


def test_toml_says_the_same_by_the_same_names(write: Write) -> None:
    text = """
followUpMode = "all"
since = 2026-11-30

[compaction]
reserveTokens = 0x10

[compaction.modelOverrides."a/b/c"]
keepRecentTokens = 1_000

[branchSummary]
enabled = true
manner = "omp"
"""
    settings = load_settings(str(write(text, "a.TOML")))

    assert settings.follow_up_mode == "all"
    assert settings.branch_summary == BranchSummarySettings(enabled=True, manner="omp")
    assert budget(settings, "a/b/c") == (16, 1_000)
    assert load_settings(write("", "empty.toml")) == Settings()


def test_a_models_own_value_stands_over_the_ordinary_one_of_a_later_file(write: Write) -> None:
    home = write('{"compaction": {"reserveTokens": 1, "modelOverrides": {"a/b": {"reserveTokens": 2}}}}', "home.json")
    project = write("[compaction]\nreserveTokens = 3", "project.toml")
    corrected = write('{"compaction": {"modelOverrides": {"a/b": {"reserveTokens": 4}}}}', "corrected.json")

    assert budget(load_settings(home, project), "a/b") == (2, 20_000)
    assert budget(load_settings(home, project), "a/c") == (3, 20_000)
    assert budget(load_settings(project, home), "a/c") == (1, 20_000)
    assert budget(load_settings(home, project, corrected), "a/b") == (4, 20_000)


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        (
            '{"compaction": {"reserveTokens": -1}}',
            "compaction.reserveTokens",
            "Invalid compaction.reserveTokens setting: -1. Expected a non-negative safe integer.",
        ),
        (
            '{"compaction": {"modelOverrides": {"a/b": 5}}}',
            'compaction.modelOverrides["a/b"]',
            'Invalid compaction.modelOverrides["a/b"] setting: 5. Expected an object.',
        ),
        (
            '{"compaction": {"modelOverrides": {"a/b": {"reserveTokens": -2}}}}',
            'compaction.modelOverrides["a/b"].reserveTokens',
            'Invalid compaction.modelOverrides["a/b"].reserveTokens setting: -2. Expected a non-negative safe integer.',
        ),
        (
            '{"compaction": {"keepRecentTokens": null}}',
            "compaction.keepRecentTokens",
            "Invalid compaction.keepRecentTokens setting: null. Expected a non-negative safe integer.",
        ),
        (
            '{"compaction": {"reserveTokens": 1e3}}',
            "compaction.reserveTokens",
            "Invalid compaction.reserveTokens setting: 1000.0. Expected a non-negative safe integer.",
        ),
        (
            '{"compaction": {"reserveTokens": 9007199254740992}}',
            "compaction.reserveTokens",
            "Invalid compaction.reserveTokens setting: 9007199254740992. Expected a non-negative safe integer.",
        ),
        (
            '{"compaction": {"keepRecentToken": 5}}',
            "compaction.keepRecentToken",
            "Unknown setting compaction.keepRecentToken: did you mean 'keepRecentTokens'?",
        ),
        ("[]", None, "Invalid settings: []. Expected an object."),
        ("null", None, "Invalid settings: null. Expected an object."),
        ('"x"', None, "Invalid settings: 'x'. Expected an object."),
    ],
)
def test_what_is_no_setting_is_told_with_its_file_and_its_key(
    text: str, key: str | None, message: str, write: Write
) -> None:
    path = write(text)

    with pytest.raises(BadSettings) as caught:
        load_settings(path)

    assert str(caught.value) == f"{path}: {message}"
    assert (caught.value.path, caught.value.key, caught.value.message) == (str(path), key, message)
    assert (caught.value.line, caught.value.column, caught.value.reason) == (None, None, "bad-input")


def test_each_file_must_be_right_by_itself(write: Write) -> None:
    """Pi looks at what is merged, and there only at what the present model goes by."""
    wrong = write('{"compaction": {"reserveTokens": -1}}', "wrong.json")
    right = write('{"compaction": {"reserveTokens": 1, "modelOverrides": {"a/b": {"reserveTokens": 2}}}}', "right.json")
    other = write('{"compaction": {"modelOverrides": {"c/d": {"keepRecentTokens": "5"}}}}', "other.json")

    for given in ((wrong, right), (right, wrong)):
        with pytest.raises(BadSettings, match=r"wrong\.json: Invalid compaction\.reserveTokens setting: -1\."):
            load_settings(*given)
    with pytest.raises(BadSettings, match=r"other\.json: .*\[\"c/d\"\]\.keepRecentTokens setting: '5'\."):
        load_settings(right, other)


@pytest.mark.parametrize(
    ("name", "text", "where", "told"),
    [
        ("a.json", "", ":1:1", "this is not JSON: Expecting value"),
        ("a.json", '{\n  "a" 1\n}', ":2:7", "this is not JSON: Expecting ':' delimiter"),
        ("a.json", "{} {}", ":1:4", "this is not JSON: Extra data"),
        ("a.json", '{"a": NaN}', "", "this is not JSON: it has no NaN"),
        ("a.json", '{"a": -Infinity}', "", "this is not JSON: it has no -Infinity"),
        ("a.json", f'{{"a": {"9" * 5_000}}}', "", "this is not JSON: a number has more digits than can be read"),
        ("a.json", "[" * 100_000, "", "it is nested too deeply"),
        ("a.json", "\ufeff{}", ":1:1", "begins with a byte order mark: save it as UTF-8 without one"),
        ("a.json", b'{\n"a": "\xff"}', ":2", "this is not UTF-8 text"),
        ("a.toml", b"a = 1\n\n\xff", ":3", "this is not UTF-8 text"),
        ("a.toml", "\ufeffa = 1", ":1:1", "begins with a byte order mark: save it as UTF-8 without one"),
        ("a.toml", "a = 1\nb 2", ":2:3", "this is not TOML: Expected '=' after a key in a key/value pair"),
        ("a.toml", "a = 1\na = 2\n", ":2:6", "this is not TOML: Cannot overwrite a value"),
        ("a.toml", "a = ", "", "this is not TOML: Invalid value (at end of document)"),
        ("a.toml", f"a = {'9' * 5_000}", "", "this is not TOML: a number has more digits than can be read"),
        ("a.toml", "a = " + "[" * 100_000, "", "it is nested too deeply"),
        ("a.yaml", "a: 1", "", "a settings file is JSON or TOML: its name must end in .json or .toml"),
        ("settings", "{}", "", "a settings file is JSON or TOML: its name must end in .json or .toml"),
    ],
    ids=range(18),
)
def test_what_is_no_settings_file_is_told_with_its_place(
    name: str, text: str | bytes, where: str, told: str, write: Write
) -> None:
    path = write(text, name)

    with pytest.raises(BadSettings) as caught:
        load_settings(path)

    line, column = ([int(part) for part in where.split(":")[1:]] + [None, None])[:2]
    assert str(caught.value) == f"{path}{where}: {told}"
    assert (caught.value.line, caught.value.column, caught.value.key) == (line, column, None)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "link.json").symlink_to("nowhere.json")
    os.mkfifo(tmp_path / "pipe.json")
    for name, told in [
        ("none.json", "cannot be read: no such file"),
        ("folder.json", "cannot be read: it is a folder, not a file"),
        ("link.json", "cannot be read: it is a link to nowhere.json, which is missing"),
        ("pipe.json", "cannot be read: it is no regular file, but a pipe or a device"),
        ("a\0.json", "cannot be read: no file can have this name"),
    ]:
        with pytest.raises(BadSettings) as caught:
            load_settings(tmp_path / name)
        assert str(caught.value) == f"{tmp_path / name}: {told}"


def test_a_file_that_cannot_be_opened_is_told(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    path = write("{}")
    monkeypatch.setattr("sapwood.store.disk.RealDisk.open_read", closed)

    with pytest.raises(BadSettings, match=r"settings\.json: cannot be read: permission denied$"):
        load_settings(path)


def test_a_megabyte_is_read_and_no_more(write: Write) -> None:
    assert load_settings(write("{}" + " " * (MOST_BYTES - 2))) == Settings()

    with pytest.raises(BadSettings, match=r"has more than 1,048,576 bytes: these are no settings$"):
        load_settings(write("{}" + " " * (MOST_BYTES - 1)))


@pytest.mark.parametrize("wrong", [None, 5, b"a.json", {"compaction": {}}])
def test_what_is_no_path_is_refused(wrong: Any) -> None:
    with pytest.raises(Refused, match=r"^a settings file is named by a str or a pathlib\.Path, not by"):
        load_settings(wrong)


def test_nothing_else_is_read(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of Pi's at home or in the project, and no variable."""
    for folder in (".pi/agent", ".pi"):
        (tmp_path / folder).mkdir(exist_ok=True, parents=True)
        (tmp_path / folder / "settings.json").write_text('{"steeringMode": "all"}', encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / ".pi" / "agent"))
    monkeypatch.chdir(tmp_path)

    assert load_settings() == Settings()
    assert load_settings(write("{}", "mine.json")) == Settings()
    with pytest.raises(BadSettings, match=r"^~/settings\.json: cannot be read: no such file"):
        load_settings("~/settings.json")
