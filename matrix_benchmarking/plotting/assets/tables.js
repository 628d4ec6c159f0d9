"use strict";
// Tables of a page: sorted by a click on a header, the settings of a row as one cell where it is narrow, saved as CSV;
// and the buttons that copy what stands before them, in tables and elsewhere.
window.matbenchTables = (() => {
  const NOT_SET = "(not set)";
  const order = new Intl.Collator(undefined, { numeric: true });

  function cellValue(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.sort !== undefined) return Number(cell.dataset.sort);
    const text = cell.textContent.trim();
    return text !== "" && !Number.isNaN(Number(text)) ? Number(text) : text;
  }

  function compare(first, second) {
    if (typeof first === "number" && typeof second === "number") return first - second;
    if (typeof first !== typeof second) return typeof first === "number" ? -1 : 1;
    return order.compare(first, second);
  }

  function sort(table, header) {
    const descending = header.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    rows.sort((a, b) => compare(cellValue(a, header.cellIndex), cellValue(b, header.cellIndex)) * (descending ? -1 : 1));
    body.append(...rows);
  }

  function makeSortable(table) {
    if (table.tBodies[0].rows.length < 2) return;
    for (const header of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sort(table, header));
    }
  }

  // Where it is narrow, one cell has all settings of a row: what was measured is seen without scrolling.
  function joinSettings(table) {
    const names = [...table.tHead.querySelectorAll(".setting")].map((header) => header.textContent);
    for (const row of names.length ? table.rows : []) {
      const settings = [...row.querySelectorAll(".setting")];
      const cell = row.cells[0].cloneNode();
      const said = settings
        .map(({ textContent: text }, at) => (/^[\d.]*$/.test(text) ? `${names[at]} ${text}` : text))
        .filter((text) => text !== NOT_SET);
      cell.textContent = cell.tagName === "TH" && names.length > 2 ? "Settings" : said.join(" · ");
      cell.className = "joined";
      settings.at(-1).after(cell);
    }
  }

  const fitted = new WeakMap(); // the width of the place that a table was fitted to
  const places = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const { clientWidth: width, firstElementChild: table } = target;
      if (!table || fitted.get(table) === width) continue; // another answer has none, or not yet
      fitted.set(table, width);
      table.classList.remove("tight", "tighter");
      for (const look of ["tight", "tighter"]) if (table.offsetWidth > width) table.classList.add(look);
    }
  });

  function makeReady(table) {
    joinSettings(table);
    makeSortable(table);
    table.classList.add("ready");
    places.observe(table.parentElement);
  }

  // What a spreadsheet would take for a formula gets a ' before it; a number, and a share, stay what they are.
  function noFormula(value) {
    const isFormula = typeof value === "string" && /^[=+\-@\t\r\n]/.test(value);
    return isFormula && !/^[+-]?[\d.,]+(e[+-]?\d+)?\s*[%×]?$/i.test(value) ? `'${value}` : value;
  }

  // A cell that shows one number is exported as that; all others as they are shown: an interval has two, a share a sign.
  const ONE_NUMBER = /^[<+−-]?[\d.,]+(e[+−-]?\d+)?(\s(?!to |→)[^%×→]*)?$/i;
  const exported = (number, text) => noFormula(Number.isFinite(number) && ONE_NUMBER.test(text) ? number : text);

  function textOf(cell) {
    const plain = cell.cloneNode(true);
    plain.querySelectorAll("[data-copy]").forEach((button) => button.remove());
    return plain.textContent.trim();
  }

  function csv(table) {
    const same = JSON.parse(table.dataset.same || "[]"); // columns that are said once above the others
    const kept = (row) => [...row.cells].filter((cell) => !cell.classList.contains("joined"));
    const ofCell = (cell) => exported(cell.dataset.sort === undefined ? NaN : Number(cell.dataset.sort), textOf(cell));
    const heading = (cell) => {
      const [title, unit] = [...cell.querySelectorAll("span")].map((part) => part.textContent);
      return unit ? `${title} (${unit})` : title;
    };
    const head = [...kept(table.tHead.rows[0]).map(heading), ...same.map(([name]) => name)];
    const body = [...table.tBodies[0].rows].map((row) => [...kept(row).map(ofCell), ...same.map(([, text]) => noFormula(text))]);
    const quoted = (value) => `"${String(value).replaceAll('"', '""')}"`;
    return [head.map(noFormula), ...body].map((row) => row.map(quoted).join(",")).join("\r\n");
  }

  const slug = (text) => text.split(/[,:(·]/)[0].toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");

  function save(table) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", csv(table)], { type: "text/csv" }));
    link.download = `${slug(table.caption.firstChild.textContent) || "table"}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-copy]");
    if (!button) return;
    getSelection().selectAllChildren(button.previousElementSibling);
    document.execCommand("copy"); // the clipboard's own interface is there for secure addresses alone
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  return { compare, exported, makeReady, noFormula, save, slug };
})();
