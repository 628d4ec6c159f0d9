"use strict";
// The application's script: the address is its state; links change it, and so do fields, drags and clicks on figures.
(() => {
  const dash = (window.dash_clientside = window.dash_clientside || {});
  const noUpdate = () => window.dash_clientside.no_update;
  const isInternal = (href) => typeof href === "string" && href.startsWith("?");
  let counter = 0;
  const send = (event) => window.dash_clientside.set_props("event", { data: { ...event, n: (counter += 1) } });
  let last = null; // what was asked for last
  // What belongs to an address is asked for at once: from the address alone Dash would come to it later.
  const go = (search) => {
    if (last && last.search !== search) window.dash_clientside.set_props("request", { data: asked(search, last.version) });
    window.dash_clientside.set_props("address", { search });
  };

  // What somebody opened on this page, by heading and summary: it stays open when the page is put together anew.
  const unfolded = new Set();
  const titleOf = (details) => [
    details.closest("section")?.querySelector("h2, h3"), details.querySelector(":scope > summary"),
  ].map((each) => each?.textContent).join("\n");
  document.addEventListener("click", ({ target }) => {
    const details = target.closest("#content details > summary")?.parentElement;
    if (details) details.open ? unfolded.delete(titleOf(details)) : unfolded.add(titleOf(details));
  });

  // -- what Dash calls ------------------------------------------------------------------------------------------------

  const NEAR_PX = 200; // what is so near to what is seen is made as well, but not waited for

  function inView(element, margin = 0) {
    const { top, bottom, height } = element.getBoundingClientRect();
    return height > 0 && bottom > -margin && top < innerHeight + margin;
  }

  function pageOf(search) {
    const query = new URLSearchParams(search);
    return ["show", "run", "beside", "artifact"].map((name) => query.get(name) || "").join("\n");
  }

  function asked(search, version) {
    const same = last && pageOf(last.search) === pageOf(search);
    const parts = same ? [...document.querySelectorAll("#content .part")].filter((part) => inView(part)) : [];
    if (last && !same) scrollToContent();
    if (!same) unfolded.clear();
    if (last && (last.search !== search || newer !== null)) window.dash_clientside.set_props("notice", { children: "" });
    if (last && last.search !== search) left = form();
    newer = null;
    return (last = { search, version, parts: parts.map((part) => Number(part.dataset.part)) });
  }

  dash.matbench = {
    request(search, version, before) {
      // The first request is made before the server was asked for its version, which is then that of what is shown.
      const shown = document.querySelector("[data-version]");
      if (before && before.version == null && before.search === (search || "")) {
        if (shown && shown.dataset.version === String(version)) {
          last = { ...before, version };
          return noUpdate();
        }
      }
      last = last || before;
      const isSame = last && last.search === (search || "");
      if (isSame && last.version !== version && isWriting()) {
        newer = version;
        window.dash_clientside.set_props("notice", { children: NEWER });
        return noUpdate();
      }
      return isSame && last.version === version ? noUpdate() : asked(search || "", version);
    },
    fields(values, ids) {
      const named = {};
      ids.forEach((id, place) => {
        if (String(values[place] ?? "") !== id.shown) named[id.name] = values[place];
      });
      return Object.keys(named).length ? { do: "fields", values: named, n: (counter += 1) } : noUpdate();
    },
    clicked(clicks) {
      const { triggered } = window.dash_clientside.callback_context;
      const click = (triggered || []).map((one) => one.value).find((value) => value && value.points);
      const data = click && click.points[0].customdata;
      const run = Array.isArray(data) ? data[0] : data;
      return typeof run === "string" && run ? { do: "open", run, n: (counter += 1) } : noUpdate();
    },
    // A line that can be dragged stands for the limit.
    dragged(layouts) {
      const { triggered } = window.dash_clientside.callback_context;
      const moved = (triggered || []).map((one) => one.value && one.value["shapes[0].x0"]).find(Number.isFinite);
      if (moved === undefined) return noUpdate();
      return { do: "fields", values: { "cfg.limit": String(Number(moved.toPrecision(3))) }, n: (counter += 1) };
    },
    title(title) {
      const name = document.title.split(" – ").slice(-2).join(" – ");
      document.title = title ? `${title} – ${name}` : name;
    },
  };

  // Elements that nobody but this script deals with: Dash would take longer for each of them.
  const drawn = (tree) =>
    typeof tree === "string" ? tree : window.React.createElement(tree[0], properties(tree), ...tree[2].map(drawn));
  // A table is changed by its own script afterwards: another answer's is another table, not this one with other cells.
  const properties = (tree) => (tree[0] === "table" ? { ...tree[1], key: tables.get(tree) || named(tree) } : tree[1]);
  const tables = new WeakMap();
  const named = (tree) => tables.set(tree, `table-${(counter += 1)}`).get(tree);
  const Markup = ({ trees }) => window.React.createElement(window.React.Fragment, null, ...trees.map(drawn));

  let grids = null; // what draws them, asked for when there is one
  const GRIDS = "_dash-component-suites/dash_ag_grid/dash_ag_grid.min.js";
  const gridsLoaded = () => (grids ||= new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = GRIDS;
    script.addEventListener("load", resolve);
    document.head.append(script);
  }));
  const Grid = (props) => {
    const [isLoaded, setLoaded] = window.React.useState(Boolean(window.dash_ag_grid));
    window.React.useEffect(() => { if (!isLoaded) gridsLoaded().then(() => setLoaded(true)); }, []);
    return isLoaded ? window.React.createElement(window.dash_ag_grid.AgGrid, props) : null;
  };
  window.matbench = { Markup, Grid };

  function scrollToContent() {
    const content = document.getElementById("content");
    if (content && content.getBoundingClientRect().top < 0) content.scrollIntoView();
  }

  // -- what a person writes: to alarms, and a view that is kept --------------------------------------------------------

  const NEWER = "There is something newer, which is shown once you have written, or closed what you opened to write.";
  const SENT_MS = 5000; // so long what comes is taken for what was written
  let newer = null; // the version of what came while somebody wrote, who would lose what is in the fields
  let sent = -SENT_MS;
  let left = null; // a form of the page before, which is there until the next one is
  const form = () => document.querySelector("details[open] > .deal");
  const isWriting = () => performance.now() - sent > SENT_MS && form() !== null && form() !== left;
  document.addEventListener("toggle", () => {
    if (newer === null || isWriting()) return;
    window.dash_clientside.set_props("request", { data: asked(last.search, newer) });
  }, true);

  const noted = () => document.querySelector("#notice > .note");
  let written = null; // the form whose answer is awaited: a new note closes it, and what was wrong leaves it open
  function closeWritten() {
    if (!written || [null, written.before].includes(noted())) return;
    unfolded.delete(titleOf(written.details));
    written.details.open = false;
    written = null;
  }

  function write(button) {
    const { token } = document.getElementById("token").dataset;
    sent = performance.now();
    if (button.dataset.keep !== undefined) {
      const name = button.parentElement.querySelector("input").value.trim();
      return send({ do: "keep", name, block: button.dataset.keep, token });
    }
    const form = button.closest(".deal");
    written = { details: form.parentElement, before: noted() };
    window.dash_clientside.set_props("notice", { children: "" });
    const [reason, until] = ["reason", "until"].map((name) => form.querySelector(`input[name=${name}]`).value.trim());
    return send({ do: "deal", action: button.dataset.deal, ids: form.dataset.ids.split(","), reason, until, token });
  }

  // -- parts that are made when they are seen -------------------------------------------------------------------------

  const SETTLED_MS = 120; // a page that is being put together shows for a moment what will be far below

  function want(part) {
    const waiting = part.isConnected && part.querySelector(":scope > .waiting");
    if (!waiting || waiting.dataset.asked === part.dataset.time) return;
    if (!inView(part, NEAR_PX)) return void seen.observe(part);
    waiting.dataset.asked = part.dataset.time; // once for each time that the page was put together
    const id = { type: "wanted", of: part.dataset.of, index: Number(part.dataset.part) };
    window.dash_clientside.set_props(id, { data: (counter += 1) });
  }

  const seen = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      setTimeout(want, SETTLED_MS, target);
    }
  }, { rootMargin: `${NEAR_PX}px` });

  let opened = null;
  const watch = new MutationObserver(() => {
    closeWritten();
    for (const details of document.querySelectorAll("#content details:not([open])")) {
      if (unfolded.has(titleOf(details))) details.open = true;
    }
    if (document.querySelector("#content > *")) document.body.classList.add("drawn");
    const open = document.querySelector("#tabs .page-link[aria-current]");
    if (open && open !== opened) {
      const row = (opened = open).parentElement; // one that scrolls where it is narrow
      row.scrollLeft = open.offsetLeft - row.offsetLeft - 40;
    }
    for (const part of document.querySelectorAll("#content .part")) {
      if (part.querySelector(":scope > .waiting")) seen.observe(part);
    }
    for (const table of document.querySelectorAll("table.sortable:not(.ready)")) window.matbenchTables.makeReady(table);
    for (const grid of document.querySelectorAll(".grid")) if (!fitted.has(grid)) fit(grid);
  });

  // -- links, keys, fields, drags -------------------------------------------------------------------------------------

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (link && link.dataset.address) link.search = location.search; // of what is shown
    if (link && isInternal(link.getAttribute("href")) && !(event.ctrlKey || event.metaKey || event.shiftKey || event.button)) {
      event.preventDefault();
      go(link.getAttribute("href"));
      return;
    }
    const act = event.target.closest("button[data-deal], button[data-keep]");
    if (act) return void write(act);
    const button = event.target.closest("button[data-event], button[data-export-figure], button[data-export-grid], button[data-export-table]");
    if (!button) return;
    if (button.dataset.event === "write") window.dash_clientside.set_props("notice", { children: "Writing the report …" });
    if (button.dataset.event) send({ do: button.dataset.event });
    if (button.dataset.exportFigure) exportFigure(button);
    if (button.dataset.exportGrid) exportGrid(button.dataset.exportGrid);
    if (button.dataset.exportTable !== undefined) window.matbenchTables.save(button.closest("table"));
  });

  document.addEventListener("keydown", (event) => {
    const link = event.target.closest("a[role=checkbox], a[role=radio]");
    if (link && event.key === " ") {
      event.preventDefault();
      link.click();
    }
  });

  document.addEventListener("input", (event) => {
    const facet = event.target.type === "search" && event.target.closest(".facet");
    if (!facet) return;
    const wanted = event.target.value.toLowerCase();
    for (const option of facet.querySelectorAll(".option")) {
      option.hidden = !option.textContent.toLowerCase().includes(wanted);
    }
  });

  let dragged = null;
  document.addEventListener("dragstart", (event) => {
    dragged = event.target.closest && event.target.closest("li.facet");
    if (dragged) event.dataTransfer.effectAllowed = "move";
  });
  document.addEventListener("dragover", (event) => {
    const over = dragged && event.target.closest("li.facet");
    if (!over || over === dragged) return;
    event.preventDefault();
    for (const other of document.querySelectorAll("li.facet.over")) other.classList.remove("over");
    over.classList.add("over");
  });
  document.addEventListener("drop", (event) => {
    const over = dragged && event.target.closest("li.facet");
    if (!over || over === dragged) return;
    event.preventDefault();
    const names = [...document.querySelectorAll("li.facet")].map((facet) => facet.dataset.name);
    const [from, to] = [names.indexOf(dragged.dataset.name), names.indexOf(over.dataset.name)];
    names.splice(to, 0, names.splice(from, 1)[0]);
    send({ do: "order", names });
  });
  document.addEventListener("dragend", () => {
    for (const other of document.querySelectorAll("li.facet.over")) other.classList.remove("over");
    dragged = null;
  });

  // -- export ---------------------------------------------------------------------------------------------------------

  function exportFigure(button) {
    const plot = button.closest(".figure-box").querySelector(".js-plotly-plot");
    if (!plot) return;
    const style = getComputedStyle(document.documentElement);
    const page = style.getPropertyValue("--page").trim();
    const text = style.getPropertyValue("--text").trim();
    const layout = { ...plot.layout, paper_bgcolor: page, plot_bgcolor: page, font: { ...plot.layout.font, color: text } };
    const { width, height } = plot.getBoundingClientRect();
    const options = { format: button.dataset.exportFigure, filename: fileName(button), width, height };
    window.Plotly.downloadImage({ data: plot.data, layout, config: {} }, { ...options, scale: 2 });
  }

  function fileName(button) {
    const heading = button.closest("section") && button.closest("section").querySelector("h2, h3");
    const title = (heading || document.querySelector("h1") || { textContent: "figure" }).textContent;
    return window.matbenchTables.slug(title) || "figure";
  }

  function exportGrid(id) {
    const processCellCallback = ({ value, node, column }) => {
      const parts = node.data[`${column.getColDef().field}p`];
      const text = parts ? parts.map((part) => (typeof part === "object" ? part.text : part)).join("") : value;
      return window.matbenchTables.exported(value ?? NaN, String(text ?? ""));
    };
    const processHeaderCallback = ({ column }) => window.matbenchTables.noFormula(column.getColDef().headerName);
    const api = window.dash_ag_grid.getApi(id);
    const columnKeys = api.getColumns().filter((column) => column.getColId() !== "joined");
    const said = document.getElementById(id).closest(".grid-box").getAttribute("aria-label");
    api.exportDataAsCsv({ fileName: `${window.matbenchTables.slug(said) || id}.csv`, columnKeys, processCellCallback, processHeaderCallback });
  }

  // -- cells of grids -------------------------------------------------------------------------------------------------

  const cells = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
  cells.MatbenchCell = (props) => {
    const field = props.colDef.field;
    const parts = props.data[`${field}p`];
    const element = window.React.createElement;
    const content = parts === undefined ? [props.value] : parts;
    const shown = content.map((part, key) => {
      if (part === null || typeof part !== "object") return part;
      if (part.code) {
        const button = element("button", { key: "copy", className: "tool", "data-copy": "" }, "Copy");
        return [element("code", { key }, part.text), " ", button]; // a command, or what one is told of
      }
      return element("a", { key, href: part.href, title: part.title || undefined }, part.text);
    });
    return props.data[`${field}m`] ? element("strong", { className: "mark" }, ...shown) : element("span", null, ...shown);
  };
  const functions = (window.dashAgGridFunctions = window.dashAgGridFunctions || {});
  functions.matbenchCompare = (one, other) => {
    if (one === other) return 0;
    if (one === null || one === undefined) return 1;
    if (other === null || other === undefined) return -1;
    return window.matbenchTables.compare(one, other);
  };

  functions.matbenchJoined = ({ api, data }) => {
    const said = (definition) => {
      const parts = [data[`${definition.field}p`] ?? data[definition.field]].flat();
      const text = parts.map((part) => part?.text ?? part).join("");
      return /^[\d.]*$/.test(text) ? `${definition.headerName} ${text}` : text;
    };
    return settingsOf(api).map((column) => said(column.getColDef())).join(" · ");
  };
  const which = (api, what) => api.getColumns().filter((column) => column.getColDef().context?.[what]);
  const settingsOf = (api) => which(api, "setting");
  const narrow = matchMedia("(max-width: 40rem)");
  const fitted = new WeakSet();

  // Where it is narrow, settings are one column, and one column stays in view.
  function fit(grid) {
    fitted.add(grid);
    window.dash_ag_grid.getApiAsync(grid.id).then((api) => {
      const [settings, pinned] = [settingsOf(api), which(api, "pinned")];
      api.setColumnsVisible(settings, !narrow.matches);
      api.setColumnsVisible(["joined"], narrow.matches && settings.length > 0);
      const kept = settings.length ? [] : pinned.splice(0, 1);
      api.setColumnsPinned(pinned, narrow.matches ? null : "left");
      if (narrow.matches) api.setColumnWidths(kept.map((key) => ({ key, newWidth: Math.min(160, key.getActualWidth()) })));
    });
  }

  // -- print ----------------------------------------------------------------------------------------------------------

  const unprinted = document.createElement("p");
  unprinted.className = "unprinted note";
  unprinted.textContent = "Parts that nobody has scrolled to are not here; 'Write as static report' writes them all.";

  function print(printing) {
    document.documentElement.classList.toggle("printing", printing);
    if (printing && document.querySelector("#content .part > .waiting")) document.getElementById("main").append(unprinted);
    else unprinted.remove();
    for (const plot of document.querySelectorAll(".js-plotly-plot")) {
      const { width } = plot.parentElement.getBoundingClientRect();
      if (width) window.Plotly.relayout(plot, printing ? { width } : { width: null, autosize: true });
    }
  }
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));

  // -- a server that doesn't answer -----------------------------------------------------------------------------------

  const fetched = window.fetch;
  window.fetch = async (...request) => {
    const isUpdate = String(request[0]).includes("_dash-update-component");
    try {
      const answer = await fetched(...request);
      if (isUpdate) complain(answer.ok ? "" : "The application could not answer this; what is shown may be of before.");
      return answer;
    } catch (error) {
      if (isUpdate) complain("The application doesn't answer any more: what is shown is of before. Was it ended?");
      throw error;
    }
  };

  function complain(sentence) {
    let box = document.getElementById("unanswered");
    if (!box && !sentence) return;
    if (!box) {
      box = document.createElement("div");
      box.id = "unanswered";
      box.className = "problem";
      box.setAttribute("role", "alert");
      document.body.prepend(box);
    }
    box.textContent = sentence;
    box.hidden = !sentence;
  }

  // -- start ----------------------------------------------------------------------------------------------------------

  function start() {
    watch.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-time"] });
    const isFolded = matchMedia("(max-width: 60rem)");
    const fold = new MutationObserver(() => {
      const details = document.getElementById("sidebar-details");
      if (!details) return;
      fold.disconnect();
      details.open = !isFolded.matches;
      isFolded.addEventListener("change", () => { details.open = !isFolded.matches; });
    });
    fold.observe(document.body, { childList: true, subtree: true });
    narrow.addEventListener("change", () => document.querySelectorAll(".grid").forEach(fit));
  }
  if (document.body) start();
  else document.addEventListener("DOMContentLoaded", start);
})();
