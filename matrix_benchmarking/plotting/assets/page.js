"use strict";
// Draws the page's figures in the colours of its style, those far below when they are seen.
(() => {
  const figures = new Map();
  const drawn = new Set();
  const DRAWN_AT_ONCE = 12;
  const config = JSON.parse((document.getElementById("figure-config") || { textContent: "{}" }).textContent);

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    return { text: of("--text"), muted: of("--muted"), line: of("--line"), page: of("--page") };
  }

  function themed(layout) {
    const { text, muted, line, page } = colours();
    // The page's own background, not none: a saved figure is read elsewhere.
    const themedLayout = { ...layout, font: { ...layout.font, color: text }, paper_bgcolor: page };
    themedLayout.hoverlabel = { ...layout.hoverlabel, bgcolor: page, bordercolor: muted, font: { color: text } };
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis\d*$/.test(name)) {
        themedLayout[name] = { ...layout[name], gridcolor: line, linecolor: muted, tickcolor: muted };
      }
    }
    return themedLayout;
  }

  function draw(element, figure) {
    return Plotly.react(element, figure.data, themed(figure.layout), config);
  }

  function save(element, name, format) {
    const { offsetWidth: width, offsetHeight: height } = element;
    return Plotly.downloadImage(element, { format, filename: name, width, height, scale: format === "png" ? 2 : 1 });
  }

  function addSaveButtons(element) {
    const region = element.parentElement;
    const group = document.createElement("p");
    group.className = "save";
    group.append("Save as ");
    for (const format of ["svg", "png"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = format.toUpperCase();
      button.setAttribute("aria-label", `Save the figure ${region.getAttribute("aria-label")} as ${button.textContent}`);
      button.addEventListener("click", () => save(element, region.dataset.name, format));
      group.append(button, " ");
    }
    region.after(group);
  }

  function show(element) {
    drawn.add(element);
    draw(element, figures.get(element));
  }

  const seen = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      if (!isIntersecting || drawn.has(target)) continue;
      seen.unobserve(target);
      show(target);
    }
  }, { rootMargin: "1000px" });

  function drawFirst() {
    for (const element of figures.keys()) {
      if (drawn.size < DRAWN_AT_ONCE) show(element);
      else seen.observe(element);
    }
  }

  function redraw() {
    drawn.forEach(show);
  }

  function readFigures() {
    for (const source of document.querySelectorAll("script[data-figure]")) {
      const element = document.getElementById(source.dataset.figure);
      if (typeof Plotly === "undefined") {
        element.textContent = "This figure needs plotly.min.js, which lies beside this page where it was written.";
        element.style.height = "auto";
      } else {
        figures.set(element, JSON.parse(source.textContent));
        addSaveButtons(element);
      }
    }
  }

  function print(printing) {
    document.documentElement.classList.toggle("printing", printing);
    for (const details of document.querySelectorAll("details:not(.apart)")) { // what stands apart stays as it is
      if (printing) details.dataset.wasOpen = details.open;
      details.open = printing || details.dataset.wasOpen === "true";
    }
    if (printing) for (const element of figures.keys()) drawn.add(element);
    redraw();
    for (const element of figures.keys()) {
      const { width } = element.parentElement.getBoundingClientRect();
      if (width) Plotly.relayout(element, printing ? { width } : { width: null, autosize: true });
    }
  }

  readFigures();
  drawFirst();
  document.querySelectorAll("table.sortable").forEach(matbenchTables.makeReady);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
})();
