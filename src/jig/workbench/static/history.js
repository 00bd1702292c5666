// What the table of runs needs in the browser: it asks for a page of rows at a time, and cells are only ever text.
window.jigHistory = {
  async rows(params) {
    const { context, startRow, endRow, sortModel } = params;
    const sort = sortModel.map((one) => [one.colId, one.sort === "desc"]);
    const ask = JSON.stringify({ ...context, sort, start: startRow, end: endRow });
    try {
      const answer = await fetch("/history/rows?" + new URLSearchParams({ ask }));
      if (!answer.ok) throw new Error(answer.statusText);
      const { rows, count } = await answer.json();
      params.successCallback(rows, count);
    } catch {
      params.failCallback();
    }
  },
  place: (id) => "/runs/" + encodeURIComponent(id),
  link(params) {
    if (!params.data) return "";
    const link = document.createElement("a");
    link.textContent = params.value;
    link.href = jigHistory.place(params.data.id);
    return link;
  },
  open(event) {
    const at = event.event;
    if (!event.data || event.column.getColId() === "ag-Grid-SelectionColumn" || at.target.closest("a")) return;
    if (at.type !== "keydown" || at.key === "Enter") location.assign(jigHistory.place(event.data.id));
  },
  kind: (params) => (params.value !== "" && params.value != null && isFinite(params.value) ? "jig-number" : ""),
  state: (params) => "jig-word jig-word-" + String(params.value ?? "").toLowerCase().replace(/[^a-z]/g, ""),
};
