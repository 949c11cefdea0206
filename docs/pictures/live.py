#!/usr/bin/env python3
"""Makes live.svg: the live screen of a real training run beside the game that it learned.

    docs/pictures/live.py [--bin build/release/bin] [--out docs/pictures/live.svg]

Trains configs/breakout.toml with four actors and bound 4 in a terminal of 100 x 30 characters,
keeps what the screen showed, then lets `starling record` play the trained net. Needs Python alone.
"""
import argparse
import base64
import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import tempfile
import termios
import time

COLUMNS, ROWS, SHOWN_ROWS = 100, 30, 25
CELL_W, CELL_H = 7.2, 15.0  # pixels of a character
SCREENS, TILES, SECONDS = 36, 100, 12.5  # shown screens and game frames, length of the loop
COLORS = {"31": "#ff7b72", "32": "#56d364", "33": "#e3b341", "36": "#56d4dd", "2": "#7d8590",
          "1": "#ffffff"}
INK, PAPER = "#d0d7de", "#0d1117"
RUN = ["--set", "actors.count=4", "--set", "staleness.bound=4", "--set", "run.seed=1"]


class Terminal:
    """The screen after the bytes it was sent; it knows the codes that monitor/console.cc writes."""

    def __init__(self):
        self.cells = [[(" ", "")] * COLUMNS for _ in range(ROWS)]
        self.x = self.y = 0
        self.ink = ""

    def feed(self, text):
        for code, char in re.findall(r"\x1b\[([\d;?]*[A-Za-z])|(.)", text, re.S):
            if code:
                self.code(code[:-1], code[-1])
            elif char == "\r":
                self.x = 0
            elif char == "\n":
                self.x = 0
                self.down()
            else:
                if self.x == COLUMNS:
                    self.x = 0
                    self.down()
                self.cells[self.y][self.x] = (char, self.ink)
                self.x += 1

    def down(self):
        self.y += 1
        if self.y == ROWS:
            self.y -= 1
            self.cells = self.cells[1:] + [[(" ", "")] * COLUMNS]

    def code(self, number, letter):
        if letter == "m":
            self.ink = "" if number in ("", "0") else number
        elif letter == "A":
            self.y = max(0, self.y - int(number or 1))
        elif letter in "KJ":
            self.cells[self.y][self.x:] = [(" ", "")] * (COLUMNS - self.x)
            if letter == "J":
                for y in range(self.y + 1, ROWS):
                    self.cells[y] = [(" ", "")] * COLUMNS


def watch(command):
    """Runs the command in a terminal; returns its screens, one for each change."""
    pid, terminal_fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
        os.environ.pop("NO_COLOR", None)
        time.sleep(0.2)  # until the parent has set the size
        os.execv(command[0], command)
    fcntl.ioctl(terminal_fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    terminal, screens, rest = Terminal(), [], b""
    while True:
        select.select([terminal_fd], [], [])
        try:
            data = os.read(terminal_fd, 1 << 16)
        except OSError:
            data = b""  # the program has ended
        if not data:
            break
        # The screen is drawn with one write; a torn character or code waits for its end.
        rest += data
        if re.search(rb"\x1b\[?[\d;?]*$", rest) or rest[-1] >= 0x80:
            try:
                rest.decode()
            except UnicodeDecodeError:
                continue
        terminal.feed(rest.decode(errors="replace"))
        rest = b""
        if any(" elapsed" in "".join(c for c, _ in row) for row in terminal.cells):
            screens.append([row[:] for row in terminal.cells])
    if os.waitpid(pid, 0)[1] != 0:
        raise SystemExit("the run failed:\n" + "\n".join(
            "".join(c for c, _ in row) for row in terminal.cells))
    return screens


def dots(char):
    """The dots (column of 2, row of 4) of a braille character, or nothing."""
    code = ord(char) - 0x2800
    places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)]
    return [place for bit, place in enumerate(places) if 0 < code < 256 and code >> bit & 1]


def boxes(char):
    """Rectangles (x, y, w, h in parts of a cell) of a character that fonts draw differently."""
    if "\u2581" <= char <= "\u2588":  # a bar of eighths from below
        height = (ord(char) - 0x2580) / 8
        return [(0, 1 - height, 1, height)]
    lines = {"─": [(0, 0.47, 1, 0.06)], "│": [(0.44, 0, 0.12, 1)], "┃": [(0.35, 0, 0.3, 1)],
             "└": [(0.44, 0, 0.12, 0.53), (0.44, 0.47, 0.56, 0.06)],
             "┤": [(0.44, 0, 0.12, 1), (0, 0.47, 0.5, 0.06)], "░": [(0, 0.3, 1, 0.1),
                                                                   (0, 0.6, 1, 0.1)]}
    return lines.get(char, [])


def draw_row(y, row):
    """One row as SVG: a text for each word, paths for the characters that are drawn."""
    words, filled, dotted, x = [], {}, {}, 0
    while x < COLUMNS:
        char, ink = row[x]
        fill = COLORS.get(ink, INK)
        end = x + 1
        if dots(char):
            dotted.setdefault(fill, []).extend(
                f"M{(x + (a + 0.5) / 2) * CELL_W:.0f} {(y + (b + 0.5) / 4) * CELL_H:.0f}h0"
                for a, b in dots(char))
        elif boxes(char):
            while end < COLUMNS and row[end] == row[x] and char not in "│┃└┤":
                end += 1
            filled.setdefault(fill, []).extend(
                f"M{(x + a) * CELL_W:.1f} {(y + b) * CELL_H:.1f}h{w * (end - x) * CELL_W:.1f}"
                f"v{h * CELL_H:.1f}h{-w * (end - x) * CELL_W:.1f}z" for a, b, w, h in boxes(char))
        elif char != " ":
            while (end < COLUMNS and row[end][1] == ink and row[end][0] != " "
                   and not dots(row[end][0]) and not boxes(row[end][0])):
                end += 1
            word = "".join(c for c, _ in row[x:end]).replace("&", "&amp;").replace("<", "&lt;")
            color = "" if fill == INK else f' fill="{fill}"'
            words.append(f'<text x="{x * CELL_W:.0f}" y="{(y + 0.76) * CELL_H:.0f}"{color} '
                         f'textLength="{(end - x) * CELL_W:.0f}">{word}</text>')
        x = end
    paths = [f'<path fill="{fill}" d="{"".join(d)}"/>' for fill, d in filled.items()]
    paths += [f'<path class="d" stroke="{fill}" d="{"".join(d)}"/>' for fill, d in dotted.items()]
    return "".join(words + paths)


def shown(first, last, count):
    """An animation that shows its parent from step `first` to before `last` of `count`."""
    if first == 0 and last == count:
        return ""
    times, values = [0.0], ["inline" if first == 0 else "none"]
    for at, value in ((first, "inline"), (last, "none")):
        if 0 < at < count:
            times.append(at / count)
            values.append(value)
    return (f'<animate attributeName="display" dur="{SECONDS}s" calcMode="discrete" '
            f'repeatCount="indefinite" values="{";".join(values)}" '
            f'keyTimes="{";".join(f"{t:.4g}" for t in times)}"/>')


def cropped(screen):
    """The rows from the title of the screen to its progress bar."""
    lines = ["".join(c for c, _ in row) for row in screen]
    first = next(y for y, line in enumerate(lines) if " elapsed" in line)
    return screen[first:first + SHOWN_ROWS]


def draw_screens(screens):
    """Each row is drawn once for every stretch of time in which it does not change."""
    parts = []
    for y in range(SHOWN_ROWS):
        first = 0
        for i in range(1, len(screens) + 1):
            if i < len(screens) and screens[i][y] == screens[first][y]:
                continue
            row = draw_row(y, screens[first][y])
            if row:
                parts.append(f"<g>{row}{shown(first, i, len(screens))}</g>")
            first = i
    return "\n".join(parts)


def draw_game(sheet, left, top, size):
    """The contact sheet of `starling record`, moved so that one tile at a time is seen."""
    width, height = struct.unpack(">II", sheet[16:24])
    side, gap = 10, 8  # tiles in a row, pixels around each
    step = (width - gap) // side
    tile = step - gap
    places = [(gap + i % side * step, gap + i // side * step) for i in range(TILES)]

    def moved(name, values):
        return (f'<animate attributeName="{name}" dur="{SECONDS}s" calcMode="discrete" '
                f'repeatCount="indefinite" values="{";".join(f"{-v:g}" for v in values)}"/>')

    data = base64.b64encode(sheet).decode()
    return (f'<svg x="{left}" y="{top}" width="{size}" height="{size}" '
            f'viewBox="0 0 {tile:g} {tile:g}"><image width="{width}" height="{height}" '
            f'style="image-rendering:pixelated" href="data:image/png;base64,{data}">'
            f'{moved("x", [x for x, _ in places])}{moved("y", [y for _, y in places])}'
            f"</image></svg>")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("docs/pictures/live.svg"))
    options = parser.parse_args()
    starling = str(options.bin.resolve() / "starling")
    with tempfile.TemporaryDirectory() as folder:
        run, sheet = folder + "/breakout", folder + "/sheet.png"
        screens = watch([starling, "train", "configs/breakout.toml", "--run-dir", run, *RUN])
        subprocess.run([starling, "record", run, "--out", sheet, "--steps", str(TILES), "--tiles",
                        str(TILES), "--scale", "16", "--seed", "2"], check=True)
        sheet = pathlib.Path(sheet).read_bytes()
    chosen = [cropped(screens[i * (len(screens) - 1) // (SCREENS - 1)]) for i in range(SCREENS)]
    width, height, size, edge = COLUMNS * CELL_W, SHOWN_ROWS * CELL_H, 300, 14
    text = (f'<svg xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="0 0 {width + size + 3 * edge:g} {height + 2 * edge:g}" '
            f'font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" '
            f'font-size="12">\n<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>\n'
            f"<style>.d{{stroke-width:2.4;stroke-linecap:square}}</style>\n"
            f'<g transform="translate({edge} {edge})" fill="{INK}">\n{draw_screens(chosen)}\n</g>\n'
            f'{draw_game(sheet, width + 2 * edge, edge + (height - size) / 2, size)}\n</svg>\n')
    options.out.write_text(text)
    print(f"{options.out}: {len(text) / 1000:.0f} kB of {len(screens)} screens")


main()
