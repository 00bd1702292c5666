"""Every text that a person sees in the Workbench, by key, in one place: another language is another table."""

from __future__ import annotations

WORDS = {
    "app.title": "jig Workbench",
    "app.title.page": "{page} · {project} · jig",
    "app.title.bare": "{page} · jig",
    "guard.host": "This server is not reached by that address. Open the one that <code>jig workbench</code> printed.",
    "guard.origin": "Another site asked for this, and it is not given to others.",
    "guard.missing": "To get in, open the address that <code>jig workbench</code> printed when it was started: it ends "
    "in <code>?token=…</code>. The browser then remembers until it is closed.",
    "guard.wrong": "That token is not, or no longer, the right one: each start has its own. Open the address that "
    "<code>jig workbench</code> printed last.",
    "guard.welcome": "One moment …",
    "serve.open": "jig Workbench: {url}",
    "serve.stop": "Ctrl-C ends it; runs go on.",
    "frame.skip": "Skip to the content",
    "frame.navigation": "Pages",
    "frame.no_project": "No project is open",
    "frame.menu": "Show or hide the navigation",
    "frame.jobs": "Jobs",
    "frame.jobs.toggle": "Show or hide the jobs",
    "frame.run_bar": "Run",
    "frame.dark": "Dark or light",
    "frame.help": "Keyboard shortcuts",
    "frame.help.title": "Keyboard shortcuts",
    "frame.help.close": "Close",
    "frame.help.note": "They work wherever no text is being typed.",
    "frame.go": "Go to {page}",
    "page.projects": "Projects",
    "page.files": "Files",
    "page.targets": "Targets",
    "page.runs": "Runs",
    "page.history": "History",
    "page.prompt": "Prompt",
    "page.notebooks": "Notebooks",
    "trouble.hint": "hint:",
    "projects.empty.title": "Start here",
    "projects.empty": "A project is a folder with your scripts and a few small files that say where they run. Create "
    "one from a template, or open a folder that you have.",
    "projects.open.title": "Open a folder",
    "projects.open.label": "Folder of the project",
    "projects.open": "Open",
    "projects.recent": "Recent projects",
    "projects.recent.now": "open",
    "projects.recent.gone": "the folder is gone",
    "projects.recent.open": "Open the project {name}",
    "projects.recent.forget": "Take {name} off this list",
    "projects.new.title": "Create a project",
    "projects.new.choose": "Create a project from the template {name}",
    "projects.new.dialog": "New project from {name}",
    "projects.new.label": "Folder to make",
    "projects.new.help": "Made new; it may also be there already, when it is empty.",
    "projects.new.create": "Create",
    "projects.new.cancel": "Cancel",
}


def say(key: str, **values: object) -> str:
    """The text of this key, with the values in their places; KeyError for one that is not in the catalogue."""
    return WORDS[key].format(**values) if values else WORDS[key]
