"""Writes the tables and draws the pictures of these pages, for `cargo xtask measure speed formats --write`.

    pages.py MEASURED.json

The file is the output of `cargo xtask measure speed formats --json`, or of one of the two.
"""

import json
import math
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "report", "font.size": 9})
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
COLOURS = {"ours": "#1a7f37", "reference": "#bc4c00", "floor": "#818b98", "other": "#54aeff"}

NANOSECONDS = "nanoseconds for each tensor; less is better"
MICROSECONDS = "microseconds; less is better"
GIGABYTES = "GB/s; more is better"
GAIN = "times as fast as the reference; more is better, and the line is the limit"

# Each picture: the name of its file and of the table, its title, the beginnings of the names of the cases in the
# table, the cases that it shows, and the unit of its bars.
PICTURES = [
    ("check", "Check a header of 1,000 tensors", ["check, "], lambda case: " 1000 tensors, " in case["what"], NANOSECONDS),
    ("sizes", "Check headers of any size in chunks of 4 KiB", [],
     lambda case: case["what"].startswith("check, ") and case["what"].endswith("4 KiB chunks"), GAIN),
    ("open", "Open a model for lookups", ["open with index, ", "open as a view, "],
     lambda case: "in memory" in case["what"] and "spaced" not in case["what"], GAIN),
    ("cold", "The first open of a process", ["open cold, "], lambda case: ", model, " in case["what"], MICROSECONDS),
    ("lookup", "Look tensors up, and list them", ["look up ", "list "], lambda case: "1000 " in case["what"], NANOSECONDS),
    ("stream", "A large tensor from a file", ["stream ", "open a map", "open a file"], lambda case: "bytes" in case, GIGABYTES),
    ("elements", "A tensor in memory, read as f32", ["F32 ", "F16 ", "BF16 ", "I8 ", "F8_E4M3 "],
     lambda case: "64 KiB" in case["what"] or "64 MiB" in case["what"], GIGABYTES),
    ("slices", "Parts of a matrix in memory", ["slice "], lambda case: True, GIGABYTES),
    ("write", "Write a file to memory", ["write ", "read a vector of "], lambda case: "tensors" in case, NANOSECONDS),
]

# The tables of formats, and the titles of those that have a picture.
PLACES = {"memory": "from and to memory", "in place": None, "file": "from and to a file in memory", "durable": None}


def number(value):
    """Formats without decimals if the number is whole or large, else with three significant digits; commas between thousands."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def time(nanos):
    unit, size = next((unit, size) for unit, size in (("ms", 1e6), ("µs", 1e3), ("ns", 1)) if nanos >= size or size == 1)
    return f"{number(nanos / size)} {unit}"


def write_table(page, name, table):
    text = (HERE / page).read_text()
    marks = re.compile(rf"(^<!-- table {name}:.*\n)[\s\S]*?(^<!-- end of table {name} -->)", re.MULTILINE)
    text, count = marks.subn(lambda marks: f"{marks[1]}\n{table.strip()}\n\n{marks[2]}", text)
    if count != 1:
        sys.exit(f"{page} has the table {name} {count} times, not once")
    (HERE / page).write_text(text)


def draw(name, title, about, groups, is_logarithmic):
    """Draws horizontal bars: groups of (name, [(kind, label, value, words after it, limit or None)])."""
    rows, ticks, at = [], [], 0.0
    for heading, bars in groups:
        if heading:
            ticks.append((at, heading, True))
            at += 1
        for bar in bars:
            rows.append((at, *bar))
            ticks.append((at, bar[1], False))
            at += 1
        at += 0.4
    figure, axes = plt.subplots(figsize=(9, 0.9 + 0.22 * at))
    axes.barh([row[0] for row in rows], [row[3] for row in rows], color=[COLOURS[row[1]] for row in rows])
    for place, _, _, value, words, limit in rows:
        axes.annotate(words, (value, place), (3, 0), textcoords="offset points", va="center", fontsize=8)
        if limit is not None:
            axes.plot([limit, limit], [place - 0.5, place + 0.5], color="#cf222e")
    axes.set_yticks([tick[0] for tick in ticks], [tick[1] for tick in ticks])
    for label, (_, _, is_heading) in zip(axes.get_yticklabels(), ticks):
        label.set_fontweight("bold" if is_heading else "normal")
    if is_logarithmic:
        axes.set_xscale("log")
    axes.margins(x=0.15, y=0.01)
    axes.invert_yaxis()
    axes.set_title(title, loc="left", fontweight="bold")
    axes.set_xlabel(about)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def speed(measured):
    cases, least = measured["cases"], measured["least"]
    for case in cases:
        count = sum(case["what"].startswith(tuple(beginnings)) for _, _, beginnings, _, _ in PICTURES if beginnings)
        if count != 1:
            sys.exit(f"\"{case['what']}\" must be in one table, but is in {count}")
    for name, title, beginnings, is_shown, about in PICTURES:
        told = [case for case in cases if not beginnings or case["what"].startswith(tuple(beginnings))]
        if beginnings:
            head = "| what | ours | reference | ours is faster | floors |\n|---|---|---|---|---|\n"
            write_table("README.md", name, head + "".join(map(line_of_case, told)))
        groups = [group(case, about, least.get(case["what"])) for case in told if is_shown(case)]
        draw(name, title, about, groups, about in (NANOSECONDS, MICROSECONDS))


def line_of_case(case):
    times = dict(case["times"])
    ours, reference = times.pop("ours"), times.pop("reference", None)
    beside = f"{time(reference)} | {number(reference / ours)}x" if reference else "– | –"
    floors = ", ".join(f"{name} {time(nanos)}" for name, nanos in times.items())
    return f"| {case['what']} | {time(ours)} | {beside} | {floors} |\n"


def group(case, about, limit):
    times = dict(case["times"])
    if about is GAIN:
        gain = times["reference"] / times["ours"]
        return "", [("ours", case["what"], gain, number(gain), limit)]
    amount = case.get("tensors") or case.get("bytes")
    value = {
        NANOSECONDS: lambda nanos: nanos / amount,
        MICROSECONDS: lambda nanos: nanos / 1e3,
        GIGABYTES: lambda nanos: amount / nanos,
    }[about]
    kind = {"ours": "ours", "reference": "reference"}
    return case["what"], [(kind.get(name, "floor"), name, value(nanos), number(value(nanos)), None) for name, nanos in case["times"]]


def formats(measured):
    for place, title in PLACES.items():
        figures = [figure for figure in measured["formats"] if figure["where"] == place]
        floor = next(figure for figure in figures if figure["whose"] == "floor")

        def by(key):
            return sorted(figures, key=lambda figure: (figure is not floor, figure[key]))

        head = ("| format | bytes of the file | writing, µs | times the floor | reading, µs | times the floor | how it is read |\n"
                "|---|--:|--:|--:|--:|--:|---|\n")
        write_table("formats.md", place, head + "".join(line_of_format(figure, floor) for figure in by("read_ns")))
        if title:
            bars = lambda key: [
                (figure["whose"], title_of(figure), figure[key], f"{number(figure[key])} ({number(figure[key] / floor[key])}x)", None)
                for figure in by(key)
            ]
            about = "nanoseconds; in brackets, how many times those of the raw bytes; less is better"
            groups = [("Reading", bars("read_ns")), ("Writing", bars("write_ns"))]
            draw(f"formats-{place}", f"A vector of 10,000 f32, {title}", about, groups, True)


def title_of(figure):
    return f"embedded-safetensors: {figure['name']}" if figure["whose"] == "ours" else figure["name"]


def line_of_format(figure, floor):
    title = title_of(figure)
    cells = [f"**{title}**" if figure["whose"] == "ours" else title, number(figure["bytes"])]
    for key in ("write_ns", "read_ns"):
        cells += [number(figure[key] / 1000), number(figure[key] / floor[key])]
    return f"| {' | '.join([*cells, figure['how']])} |\n"


if __name__ == "__main__":
    measured = json.loads(Path(sys.argv[1]).read_text())
    if "speed" in measured:
        speed(measured["speed"])
    if "formats" in measured:
        formats(measured["formats"])
