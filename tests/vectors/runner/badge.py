"""A score as a static image for a page."""

#: The width of a character, and the space beside a text.
CHARACTER, SPACE = 7, 10


def svg(suite, right, count):
    """Returns an image that says how many answers are right."""
    said = {f"safetensors suite {suite}": "#555", f"{right:,} of {count:,}": "#2c7a3f" if right == count else "#9a6700"}
    parts, width = "", 0
    for text, colour in said.items():
        length = len(text) * CHARACTER
        parts += f'<rect x="{width}" width="{length + SPACE}" height="20" fill="{colour}"/>'
        parts += f'<text x="{width + SPACE // 2}" y="14" textLength="{length}" fill="#fff">{text}</text>'
        width += length + SPACE
    style = 'font-family="Verdana,sans-serif" font-size="11" role="img"'
    title = f"<title>{': '.join(said)}</title>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" {style}>{title}{parts}</svg>\n'
