// Clicks the element whose data-key is what was typed: one key, or two within a second. Not where text is typed.
(() => {
  let first = "", until = 0;
  const typing = (e) => e.closest?.("input, textarea, select, [contenteditable=''], [contenteditable=true], .xterm, .cm-editor");
  const find = (key) => [...document.querySelectorAll("[data-key]")].find((e) => e.dataset.key === key);
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s" && find("Ctrl+s")) {
      if (!event.defaultPrevented) find("Ctrl+s").click(); // the editor has done so itself
      return event.preventDefault();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target)) return;
    if (document.querySelector(".q-dialog") || event.key.length !== 1) return;
    const two = Date.now() < until ? `${first} ${event.key}` : "";
    const found = (two && find(two)) || find(event.key);
    [first, until] = found ? ["", 0] : [event.key, Date.now() + 1000];
    if (!found) return;
    event.preventDefault();
    found.click();
  });
})();

// What the framework's own page leaves out for who cannot see it.
document.documentElement.lang = "en";
document.addEventListener("DOMContentLoaded", () => new MutationObserver(() =>
  document.querySelectorAll("body > .q-loading-bar:not([aria-hidden])").forEach((bar) => bar.setAttribute("aria-hidden", "true")),
).observe(document.body, { childList: true }));
