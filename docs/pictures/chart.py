"""A chart as SVG: axes, lines, bands and a name at the end of each line."""
import pathlib

LEFT, TOP, BOTTOM = 46, 26, 240


class Chart:
    """The area of the curves goes from LEFT to `right` and from TOP (y = y_top) to BOTTOM (0)."""

    def __init__(self, title, y_top, right=540):
        self.right, self.y_top = right, y_top
        self.parts = [
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 290" '
            'font-family="sans-serif" font-size="12">',
            '<rect width="640" height="290" fill="#fff"/>',
        ]
        self.text(LEFT, 16, title, "#222", "start")

    def y(self, value):
        return BOTTOM - (BOTTOM - TOP) * min(value, self.y_top) / self.y_top

    def text(self, x, y, words, color, anchor="middle"):
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{words}</text>'
        )

    def grid(self, values):
        for value in values:
            y = self.y(value)
            self.parts.append(f'<path d="M{LEFT} {y:.1f}H{self.right}" stroke="#ddd"/>')
            self.text(LEFT - 6, y + 4, value, "#555", "end")

    def x_axis(self, label, ticks):
        """ticks: [(x, words)]"""
        for x, words in ticks:
            self.text(x, BOTTOM + 18, words, "#555")
        self.text((LEFT + self.right) / 2, BOTTOM + 38, label, "#555")

    def line(self, points, color):
        """points: [(x, value)]"""
        path = "L".join(f"{x:.1f} {self.y(value):.1f}" for x, value in points)
        self.parts.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="2"/>')

    def dot(self, x, value, color):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{self.y(value):.1f}" r="3.5" fill="{color}"/>')

    def band(self, lows, highs, color):
        """lows, highs: [(x, value)]"""
        edge = "L".join(f"{x:.1f} {self.y(value):.1f}" for x, value in [*lows, *reversed(highs)])
        self.parts.append(f'<path d="M{edge}Z" fill="{color}" opacity="0.15"/>')

    def write(self, name):
        path = pathlib.Path("docs/pictures") / name
        path.write_text("\n".join([*self.parts, "</svg>"]) + "\n")
