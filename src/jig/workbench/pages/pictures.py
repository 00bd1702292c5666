"""A small drawing for each sample project, in the colours of the page."""

from __future__ import annotations

_HEAD = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 160 72" fill="none" stroke-linecap="round">'
_CURVE = '<path d="M92 20v36h52" stroke="currentColor" stroke-width="2" opacity=".35"/>'
_DRAWN = {
    "blank": (
        '<rect x="58" y="10" width="44" height="52" rx="4" stroke="currentColor" stroke-width="2" opacity=".45"/>'
        '<path d="M67 24h18M67 33h26M67 42h14" stroke="currentColor" stroke-width="2" opacity=".45"/>'
        '<path d="M84 50l6-6 5 4 6-8" stroke="var(--jig-accent)" stroke-width="3"/>'
    ),
    "digits": (
        '<g fill="currentColor" opacity=".75"><path d="M34 14h20v8H34zM54 22h8v12h-8zM42 34h12v6H42zM54 40h8v12h-8z'
        'M34 52h20v8H34z"/></g><g stroke="currentColor" opacity=".18"><path d="M18 10h56v52H18zM32 10v52M46 10v52M60 10'
        'v52M18 23h56M18 36h56M18 49h56"/></g>'
        + _CURVE
        + '<path d="M94 26c8 20 16 24 48 26" stroke="var(--jig-accent)" '
        'stroke-width="3"/>'
    ),
    "digits-ddp": (
        '<g stroke="currentColor" stroke-width="2" opacity=".45"><rect x="18" y="14" width="20" height="18" rx="3"/>'
        '<rect x="50" y="14" width="20" height="18" rx="3"/><rect x="18" y="42" width="20" height="18" rx="3"/>'
        '<rect x="50" y="42" width="20" height="18" rx="3"/></g><path d="M38 23h12M38 51h12M28 32v10M60 32v10" '
        'stroke="var(--jig-accent)" stroke-width="2" stroke-dasharray="2 4"/>'
        + _CURVE
        + '<path d="M94 26c8 20 16 24 48 26" stroke="var(--jig-accent)" stroke-width="3"/>'
    ),
    "spark-ml": (
        '<g fill="currentColor" opacity=".5"><circle cx="26" cy="44" r="3.5"/><circle cx="36" cy="54" r="3.5"/>'
        '<circle cx="40" cy="42" r="3.5"/><circle cx="24" cy="56" r="3.5"/></g><g fill="var(--jig-accent)">'
        '<circle cx="52" cy="20" r="3.5"/><circle cx="62" cy="30" r="3.5"/><circle cx="66" cy="16" r="3.5"/>'
        '<circle cx="50" cy="32" r="3.5"/></g><path d="M22 22l46 34" stroke="currentColor" stroke-width="2" '
        'stroke-dasharray="5 5"/>' + _CURVE + '<path d="M94 52c10-2 14-24 48-28" stroke="var(--jig-accent)" '
        'stroke-width="3"/>'
    ),
    "spark-wordcount": (
        '<g stroke="currentColor" stroke-width="3" opacity=".45"><path d="M18 16h14M38 16h20M18 28h22M46 28h12M18 40h10'
        'M34 40h24M18 52h18M42 52h16"/></g><path d="M66 36h16m-5-5l5 5-5 5" stroke="currentColor" stroke-width="2" '
        'opacity=".6"/><g fill="var(--jig-accent)"><rect x="92" y="14" width="50" height="9" rx="2"/><rect x="92" '
        'y="28" width="36" height="9" rx="2" opacity=".8"/><rect x="92" y="42" width="24" height="9" rx="2" '
        'opacity=".6"/><rect x="92" y="56" width="14" height="9" rx="2" opacity=".4"/></g>'
    ),
}


def picture(template: str) -> str:
    """The drawing as SVG; a plain sheet for a sample that has none of its own."""
    return _HEAD + _DRAWN.get(template, _DRAWN["blank"]) + "</svg>"
