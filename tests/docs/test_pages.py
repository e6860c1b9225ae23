"""Code on the pages runs, or says why it does not."""

import doctest
import re
import tomllib

import doc_pages as pages
import pytest

TEXTS = {page: page.read_text(encoding="utf-8") for page in pages.PAGES}
RUNNING = [
    pytest.param(page, id=pages.name_of(page))
    for page, text in TEXTS.items()
    if any(block.runs for block in pages.blocks(text))
]
ALL = [(page, block) for page, text in TEXTS.items() for block in pages.blocks(text)]
TESTED = "".join(file.read_text("utf-8") for file in (pages.ROOT / "tests/docs").glob("test_*.py"))
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def where(page, block):
    return f"{pages.name_of(page)}, line {block.line}"


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING)
def test_python_runs(page, tmp_path, monkeypatch):
    """The blocks of a page go on from each other, as a reader pastes them."""
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in pages.blocks(TEXTS[page]):
        if not block.runs:
            continue
        if block.language == "pycon":
            run_dialogue(page, block, names)
        else:
            code = "\n" * (block.line - 1) + block.code  # an error names the line of the page
            exec(compile(code, pages.name_of(page), "exec"), names)
            for name, shape in re.findall(r"^(\w+) = .*  # \[([\d, ]+)\]$", block.code, re.M):
                assert str(names[name].shape) == f"({shape})", f"{where(page, block)}: {name}"


def run_dialogue(page, block, names):
    """Runs what stands behind `>>>` and compares what it gives."""
    parser, said = doctest.DocTestParser(), []
    test = parser.get_doctest(block.code, names, where(page, block), str(page), block.line - 1)
    test.globs = names  # not a copy: the next block goes on
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    assert test.examples, f"{where(page, block)}: there is nothing behind a >>>"
    runner.run(test, out=said.append, clear_globs=False)
    assert not runner.failures, "".join(said)


def test_what_does_not_run_says_why():
    for page, block in ALL:
        if block.is_exempt:
            reasons = [mark for mark in block.marks if mark != "no-run"]
            assert len(reasons) == 1 and reasons[0] in pages.NEEDS, (
                f"{where(page, block)}: write `no-run` and one of {', '.join(pages.NEEDS)}."
            )


def test_parts_of_scripts_are_those_of_the_scripts():
    for page, block in ALL:
        if block.script is not None:
            script = pages.ROOT / "docs" / block.script
            whole, part = (on_one_line(code) for code in (script.read_text("utf-8"), block.code))
            assert part in whole, f"{where(page, block)}: that is not what {block.script} says"
            assert f'"{script.stem}"' in TESTED, f"{block.script} is run by no test"


def on_one_line(code):
    """Code without what a formatter may change where it stands elsewhere."""
    return re.sub(r",(?=[)\]}])", "", re.sub(r"\s", "", code))


def test_scripts_that_commands_name_exist():
    for page, block in ALL:
        if block.language in ("bash", "sh"):
            for script in re.findall(
                r"python ((?:docs|apps|benchmarks|tests)/\S+\.py)", block.code
            ):
                assert (pages.ROOT / script).is_file(), f"{where(page, block)}: {script}"


def test_extras_that_pages_name_exist():
    project = tomllib.loads((pages.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    known = set(project["optional-dependencies"])
    for page, text in TEXTS.items():
        for extras in re.findall(r'-e "?\.\[([\w,]+)\]', text):
            assert set(extras.split(",")) <= known, pages.name_of(page)


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ("pycon\n>>> 1 + 1\n3\n", r"Expected:\s+3\s+Got:\s+2"),
        ("pycon\n>>> a\n", "name 'a' is not defined"),
        ("pycon\n1 + 1\n", "nothing behind a >>>"),
    ],
)
def test_a_dialogue_that_is_wrong_is_found(block, fault):
    page = pages.ROOT / "README.md"
    (found,) = pages.blocks(f"```{block}```\n")
    with pytest.raises(AssertionError, match=fault):
        run_dialogue(page, found, {})
