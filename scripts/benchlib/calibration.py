# SPDX-License-Identifier: Apache-2.0
"""`scripts/bench calibration`: the model beside what was published of cards, links and hosts.

The rows are tests/perf/calibration/published.ini, whose head explains them; the measurements are
tests/perf/calibration, one process for each configuration. A row of tag R or C is a judge unless
its tolerance says "info"; what the model lacks is listed as such.
"""

import concurrent.futures
import configparser
import dataclasses
import json
import os
import re
import subprocess

from . import core

PUBLISHED = core.ROOT / "tests" / "perf" / "calibration" / "published.ini"
CASE_SECONDS = 600
QUIET = os.environ | {"SYSTEMC_DISABLE_COPYRIGHT_MESSAGE": "1"}
NAME = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
JUDGES = ("R", "C")


@dataclasses.dataclass
class Result:
    """A row of the table. `verdict`: ok, MISSED, info, not applicable, not modelled."""

    what: str
    source: str
    verdict: str
    published: str = ""
    model: str = ""
    deviation: str = ""
    tolerance: str = ""
    note: str = ""


def read_rows(path=PUBLISHED):
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",),
                                       comment_prefixes=("#",))
    parser.read_string(path.read_text(encoding="utf-8"))
    return [(name, parser[name]) for name in parser.sections()]


def evaluate(expression, values):
    """A number from an expression over CASE.QUANTITY; of our own file, so no stranger's words."""
    filled = NAME.sub(lambda match: repr(values[match.group()]), expression)
    if not re.fullmatch(r"[-+*/(), .0-9einfa]*(?:(?:max|min)[-+*/(), .0-9einfa]*)*", filled):
        raise ValueError(f"measure = {expression}")
    return eval(filled, {"__builtins__": {}}, {"max": max, "min": min})


def last_digit(text):
    """Half of the unit of the last digit: what rounding may hide."""
    digits = len(text.partition(".")[2])
    return 0.5 * 10 ** -digits * 1.0001


def keeps(tolerance, published_text, value):
    published = float(published_text)
    words = tolerance.split()
    if words[0] == "exact":
        return abs(value - published) <= (last_digit(published_text) if "." in published_text
                                          else 1e-6 * max(1, abs(published)))
    if words[0] in ("band", "shape"):
        return float(words[1]) <= value <= float(words[2])
    if words[0].startswith("+-"):
        return abs(value - published) <= float(words[0][2:])
    if words[1:] == ["%"]:
        return abs(value - published) <= float(words[0]) / 100 * abs(published)
    raise ValueError(f"tolerance = {tolerance}")


def number(value):
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.4g}"


def judge(row, values):
    what, source = row["what"], f"{row['source']} [{row['tag']}]"
    for key, verdict in (("not_applicable", "not applicable"), ("not_modelled", "not modelled")):
        if key in row:
            return Result(what, source, verdict, note=row[key])
    value = evaluate(row["measure"], values)
    published = float(row["published"])
    tolerance = row["tolerance"]
    deviation = f"{100 * (value / published - 1):+.1f} %" if published else f"{value:+.3g}"
    if tolerance == "info" or row["tag"] not in JUDGES:
        verdict = "info"
    else:
        verdict = "ok" if keeps(tolerance, row["published"], value) else "MISSED"
    known = row.get("known", "") if verdict == "MISSED" else ""
    return Result(what, source, verdict, f"{row['published']} {row['unit']}", number(value),
                  deviation, tolerance, known)


def cases_of(rows):
    found = set()
    for _, row in rows:
        found |= {match.partition(".")[0] for match in NAME.findall(row.get("measure", ""))}
    return sorted(found)


def run_case(program, case, overrides):
    done = subprocess.run([str(program), case, *overrides], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=CASE_SECONDS, check=False,
                          env=QUIET)
    if done.returncode:
        raise SystemExit(f"bench: bench_calibration {case}: {(done.stderr or done.stdout)[-2000:]}")
    return {f"{case}.{key}": value for key, value in json.loads(done.stdout).items()}


def measure_all(program, rows, overrides=()):
    values = {}
    workers = min(4, os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for part in pool.map(lambda case: run_case(program, case, overrides), cases_of(rows)):
            values |= part
    return values


def show(results):
    cells = [("calibration", "source", "published", "model", "deviation", "tolerance", "", "")]
    cells += [(r.what, r.source, r.published, r.model, r.deviation, r.tolerance, r.verdict, r.note)
              for r in results]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    right = (2, 3, 4)
    for row in cells:
        line = [text.rjust(widths[i]) if i in right else text.ljust(widths[i])
                for i, text in enumerate(row)]
        print("  ".join(line).rstrip())


def fitted_parameters():
    """"file: name = value": what was chosen so that these rows come out."""
    found = []
    places = sorted((core.ROOT / "model" / "generations").glob("*/timing.ini"))
    places += sorted((core.ROOT / "pcie" / "host" / "profiles").glob("*.ini"))
    for path in places:
        owner = path.parent.name if path.name == "timing.ini" else path.stem
        section = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("["):
                section = line.strip("[] ")
            match = re.match(r"(\w+)\s*=\s*(\S+)\s*# fitted: (.*)", line)
            if match:
                found.append(f"{owner}: {section}.{match[1]} = {match[2]} ({match[3]})")
    return found


def run(_options):
    folder = core.build(["bench_calibration"])
    rows = read_rows()
    values = measure_all(folder / "tests" / "bench_calibration", rows)
    results = [judge(row, values) for _, row in rows]
    show(results)
    print("\nFitted, for all rows together:")
    for line in fitted_parameters():
        print("  " + line)
    count = {verdict: sum(r.verdict == verdict for r in results)
             for verdict in ("ok", "MISSED", "info", "not modelled", "not applicable")}
    judged = count["ok"] + count["MISSED"]
    print(f"\ncalibration: {judged} judged, {count['ok']} within tolerance, "
          f"{count['MISSED']} missed; {count['info']} for information, "
          f"{count['not modelled']} not modelled, {count['not applicable']} not applicable")
    return 1 if count["MISSED"] else 0
