"""The style sheet of a report: the program's colours, light and dark, and print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.widgets.theme import DARK, LIGHT

if TYPE_CHECKING:
    from isoscope.widgets.theme import Tokens

_NAMES = (
    "window",
    "panel",
    "raised",
    "border",
    "text",
    "dim",
    "faint",
    "accent",
    "error",
    "warning",
    "ok",
)

_LAYOUT = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--window); color: var(--text);
  font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.05rem; font-weight: 600; color: var(--dim); margin: 0 0 .35rem; }
h2 { font-size: 1.35rem; line-height: 1.35; margin: 0 0 .35rem; font-weight: 600;
  overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 2rem 0 .6rem; font-weight: 600; }
h4 { font-size: .95rem; margin: 0; font-weight: 600; overflow-wrap: anywhere; }
p { margin: .35rem 0; }
a { color: var(--accent); }
code, .mono { font-family: ui-monospace, "DejaVu Sans Mono", Consolas, monospace;
  font-size: .88em; overflow-wrap: anywhere; }
.dim { color: var(--dim); }
.file { margin: 0 0 2.75rem; }
.file > header { padding-bottom: .9rem; border-bottom: 1px solid var(--border); }
.path { font-size: .85rem; color: var(--dim); overflow-wrap: anywhere; }
.finding { background: var(--panel); border: 1px solid var(--border);
  border-left: 4px solid var(--tone); border-radius: 6px; padding: .8rem 1rem 1rem;
  margin: .8rem 0; break-inside: avoid; }
.error { --tone: var(--error-colour); } .warning { --tone: var(--warning-colour); }
.note { --tone: var(--accent); }
.finding > header { display: flex; flex-wrap: wrap; gap: .15rem .7rem;
  align-items: baseline; }
.tag { color: var(--tone); font-size: .74rem; font-weight: 700; letter-spacing: .05em;
  text-transform: uppercase; }
.where { font-size: .85rem; color: var(--dim); margin-left: auto; }
.remedy { margin-top: .55rem; }
.remedy b { font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; margin: .4rem 0; }
th { text-align: left; color: var(--dim); font-weight: 600; white-space: nowrap; }
th, td { padding: .28rem .8rem .28rem 0; border-bottom: 1px solid var(--border);
  vertical-align: top; overflow-wrap: anywhere; }
td:first-child, th:first-child { white-space: nowrap; width: 1%; }
details { margin-top: .5rem; font-size: .9rem; }
summary { cursor: pointer; color: var(--dim); }
.plot { display: block; width: 100%; height: auto; margin: .7rem 0 0; }
.plot .grid { stroke: var(--border); stroke-width: 1; }
.plot text { fill: var(--dim); font-size: 11px; }
.plot .mark { fill: var(--text); font-weight: 600; paint-order: stroke;
  stroke: var(--panel); stroke-width: 3px; }
.curve { fill: none; stroke: var(--line); stroke-width: 2; stroke-linejoin: round; }
.dot { fill: var(--line); stroke: var(--panel); stroke-width: .75; }
.ring { fill: none; stroke: var(--text); stroke-width: 1.6; }
.plot .shade { fill: var(--error-colour); opacity: .09; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1.1rem;
  margin: .2rem 0 0; padding: 0; font-size: .82rem; color: var(--dim); }
.legend li { display: flex; align-items: center; gap: .4rem; }
.legend svg.sample { width: 26px; height: 14px; flex: none; }
.legend i.shade { width: 22px; height: 12px; background: var(--error-colour);
  opacity: .2; border-radius: 2px; }
.clean { color: var(--ok-colour); font-weight: 600; }
figure { margin: 0; } nav { margin-bottom: 2rem; }
nav ul { padding-left: 1.1rem; } nav li { margin: .2rem 0; }
footer { margin-top: 3rem; padding-top: .8rem; border-top: 1px solid var(--border);
  font-size: .88rem; color: var(--dim); }
@media print {
  main { max-width: none; padding: 0; }
  details > :not(summary) { display: block; }
  body { font-size: 11pt; }
  a { color: inherit; text-decoration: none; }
}
"""


def style_sheet() -> str:
    """CSS for both themes; the reader's system chooses, and paper is light."""
    light, dark = _colours(LIGHT), _colours(DARK)
    return (
        f":root {{ color-scheme: light dark; {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f"{_environments()}\n{_LAYOUT}"
    )


def _colours(theme: Tokens) -> str:
    parts = []
    for name in _NAMES:
        key = f"{name}-colour" if name in ("error", "warning", "ok") else name
        parts.append(f"--{key}: {getattr(theme, name)};")
    parts += [f"--env-{k}: {c};" for k, c in enumerate(theme.environments)]
    return " ".join(parts)


def _environments() -> str:
    rules = [
        f".env-{k} {{ --line: var(--env-{k}); }}"
        for k in range(len(LIGHT.environments))
    ]
    return " ".join([*rules, ".env-none { --line: var(--dim); }"])
