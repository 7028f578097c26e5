"""Message sizes as users write them: '1,1K,64K', '1..16M', '64K..16M:4'.

SPDX-License-Identifier: BSD-3-Clause
"""

UNITS = {'': 1, 'B': 1, 'K': 1 << 10, 'KB': 1 << 10, 'M': 1 << 20, 'MB': 1 << 20,
         'G': 1 << 30, 'GB': 1 << 30}


def size_parse(text):
    """Bytes of '64K' (binary units)."""
    digits = text.strip().rstrip('kKmMgGbB')
    unit = text.strip()[len(digits):].upper()
    if not digits.isdigit() or unit not in UNITS:
        raise ValueError(f"'{text}' is no size: write 64K, 1M, 1..16M or 1..16M:4")
    return int(digits) * UNITS[unit]


def sizes_parse(text):
    """Bytes in ascending order; a range goes in powers of two, or of ':factor'."""
    sizes = set()
    for part in text.split(','):
        span, _, factor = part.partition(':')
        first, dots, last = span.partition('..')
        if not dots:
            sizes.add(size_parse(first))
            continue
        step = int(factor or 2)
        size, end = size_parse(first), size_parse(last)
        if step < 2 or size < 1 or end < size:
            raise ValueError(f"'{part}' is no range: write 1..16M or 1..16M:4")
        while size <= end:
            sizes.add(size)
            size *= step
    return sorted(sizes)


def size_text(size):
    for unit, factor in (('G', 1 << 30), ('M', 1 << 20), ('K', 1 << 10)):
        if size >= factor and size % factor == 0:
            return f'{size // factor}{unit}'
    return str(size)
