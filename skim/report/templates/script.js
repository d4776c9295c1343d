"use strict";

// The page is complete without this script, which makes the table sortable and
// searchable.
(() => {
  const table = document.getElementById("top-table");
  const headers = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const search = document.getElementById("search");
  const status = document.getElementById("status");
  const unfold = document.getElementById("unfold");
  const collator = new Intl.Collator("en", { numeric: true });

  function key(row, column) {
    const cell = row.cells[column];
    return cell.dataset.key ?? cell.textContent.trim();
  }

  function compare(a, b) {
    const difference = Number(a) - Number(b);
    return Number.isNaN(difference) ? collator.compare(a, b) : difference;
  }

  function sort(header) {
    const column = headers.indexOf(header);
    const first = header.dataset.first ?? "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = header.getAttribute("aria-sort") === first ? other : first;
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...body.rows];
    rows.sort((a, b) => sign * compare(key(a, column), key(b, column)));
    body.append(...rows);
    for (const each of headers) each.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", order);
    status.textContent = `Sorted by ${header.textContent.trim()}, ${order}.`;
  }

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/);
    if (search.value) showAll();
    let shown = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    status.textContent = `${shown} of ${body.rows.length} rows shown.`;
  }

  function showAll() {
    table.classList.remove("folded");
    unfold.hidden = true;
  }

  for (const header of headers) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sort(header));
    header.append(button);
  }
  search.addEventListener("input", filter);
  document.getElementById("tools").hidden = false;
  if (body.rows.length > 12) {
    table.classList.add("folded");
    unfold.hidden = false;
    unfold.addEventListener("click", () => {
      const next = body.rows[10];
      showAll();
      next.tabIndex = -1;
      next.focus();
    });
  }
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
})();
