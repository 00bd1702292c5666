"""Completion of the keys that a project file may hold, at the beginning of a line."""

from __future__ import annotations

import json

from nicegui import ui

from jig.workbench.files import checks
from jig.workbench.words import say

SCRIPT = """(async () => {
  const CM = await import("nicegui-codemirror"), element = getElement(%d);
  const editor = await element.editorPromise;
  window.jigKeys = %s;
  if (editor.jigCompletes) return;
  editor.jigCompletes = true;
  const source = (context) => {
    const word = context.matchBefore(/^[A-Za-z]+/);
    if (!word || !window.jigKeys.length) return null;
    return {from: word.from, options: window.jigKeys.map((key) => ({label: key, apply: key + ": ", type: "property"}))};
  };
  const more = [CM.EditorState.languageData.of(() => [{autocomplete: source}]),
    CM.EditorView.contentAttributes.of({"aria-label": %s})];
  editor.dispatch({effects: CM.StateEffect.appendConfig.of(more)});
})()"""


def offer(editor: ui.codemirror, path: str) -> None:
    """Let the editor offer the keys of the file at this path; of a file that is not jig's, none."""
    known = checks.KEYS.get(checks.kind(path) or "", ())
    ui.run_javascript(SCRIPT % (editor.id, json.dumps(known), json.dumps(say("editor.text"))))
