"""Pages of HTML that need nothing else: no network, no other file, for light and dark screens."""

from __future__ import annotations

from html import escape

STYLE = """
:root { color-scheme: light dark; --text: #1b1f27; --soft: #5b6472; --page: #f7f7f5;
  --card: #ffffff; --line: #e1e4ea; --c1: #2563eb; --c2: #d9480f; --c3: #2b8a3e; --c4: #9c36b5;
  --c5: #0b7285; --c6: #b0276a; --good: #2b8a3e; --busy: #2563eb; --bad: #c92a2a; }
@media (prefers-color-scheme: dark) { :root { --text: #e7e9ee; --soft: #9aa4b2; --page: #13151a;
  --card: #1c1f26; --line: #333a45; --c1: #74a5ff; --c2: #ff9d5c; --c3: #69d17f; --c4: #d68bf0;
  --c5: #5cc8d8; --c6: #f285b5; --good: #69d17f; --busy: #74a5ff; --bad: #ff8787; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 2rem 1.25rem 4rem; color: var(--text);
  background: var(--page); line-height: 1.5;
  font-family: system-ui, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", sans-serif; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
.soft { color: var(--soft); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .7rem; }
table { border-collapse: collapse; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; }
thead th { color: var(--soft); font-weight: 500; border-bottom: 1px solid var(--line); }
tbody th { font-weight: 500; white-space: nowrap; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.scroll { overflow-x: auto; padding: .5rem 1rem; }
"""
"""Colours and types that pages share; `--c1` to `--c6` tell things apart."""


def html_page(title: str, body: str, style: str = "", script: str = "") -> str:
    """A page of HTML.

    Args:
        title: what a browser calls it, as plain text.
        body: HTML.
        style: CSS, after that of all pages.
        script: JavaScript, run when the body is there.

    >>> page = html_page("A & B", "<h1>Hello</h1>")
    >>> "<title>A &amp; B</title>" in page, page.count("http")
    (True, 0)
    """
    end = f"<script>{script}</script>\n" if script else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n"
        f"<body>\n{body}\n{end}</body>\n</html>\n"
    )
