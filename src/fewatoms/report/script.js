"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  // Numbers as the page has them without a script: four digits, powers of ten where they are far from 1.
  const short = (value) => {
    const size = Math.abs(value), near = Number(value.toPrecision(4));
    if (size >= 9999.5 && size < 1e7) return value.toFixed(0);
    if (near === 0 || (Math.abs(near) >= 1e-4 && size < 9999.5)) return String(near);
    return near.toExponential().replace(/([+-])(\d)$/, "$10$2");
  };
  const told = (value, head) => value === null ? "" : head === "contribution" ? (100 * value).toFixed(1) + "%" : short(value);
  const element = (kind, text) => { const e = document.createElement(kind); e.textContent = text; return e; };
  const named = (text) => { const cell = document.createElement("td"); cell.className = "words"; cell.append(element("bdi", text)); return cell; };

  // Tables: the buttons in their heads sort the rows; a second press turns the order round.
  const sorted = (head, down) => {
    const table = head.closest("table"), place = head.cellIndex, words = head.dataset.sort === "text";
    const key = (row) => { const cell = row.cells[place]; return words ? cell.textContent : cell.dataset.key === undefined || cell.dataset.key === "" ? NaN : Number(cell.dataset.key); };
    const compare = (a, b) => words ? a.localeCompare(b, undefined, { numeric: true }) : Number.isNaN(a) ? Number.isNaN(b) ? 0 : 1 : Number.isNaN(b) ? -1 : down ? b - a : a - b;
    const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]).sort((a, b) => (words && down ? -1 : 1) * compare(a[0], b[0]));
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.tBodies[0].append(...rows.map((pair) => pair[1]));
  };
  for (const head of document.querySelectorAll("th[data-sort]")) {
    head.firstElementChild.addEventListener("click", () => {
      const first = head.dataset.sort === "number" ? "descending" : "ascending";
      const before = head.getAttribute("aria-sort");
      sorted(head, (before === null ? first : before === "ascending" ? "descending" : "ascending") === "descending");
    });
  }

  // Sliders: each has something to show for every place; here is where they are shown and heard.
  const sliding = (box, show) => {
    const range = box.querySelector("input"), output = box.querySelector("output"), values = JSON.parse(range.dataset.values);
    const turn = () => {
      const at = Number(range.value);
      output.textContent = values[at];
      range.setAttribute("aria-valuetext", values[at]);
      show(at);
    };
    range.addEventListener("input", turn);
    box.hidden = false;
    turn();
  };

  // Steps: one of several things that stand below each other, such as frames.
  for (const box of document.querySelectorAll("[data-steps]")) {
    const steps = [...box.querySelectorAll(":scope > .step")];
    for (const step of steps) { const title = step.querySelector("h3"); if (title) title.hidden = true; }
    sliding(box.querySelector(".slider"), (at) => steps.forEach((step, i) => { step.hidden = i !== at; }));
  }

  // A path: the marks in its pictures and the table of its atoms follow the slider.
  const bar = (value) => {
    const cell = document.createElement("td"), svg = document.createElementNS(SVG, "svg");
    const rect = document.createElementNS(SVG, "rect"), line = document.createElementNS(SVG, "line");
    const width = value === null ? 0 : 50 * Math.abs(value);
    for (const [key, v] of Object.entries({ class: "bar", viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" })) svg.setAttribute(key, v);
    for (const [key, v] of Object.entries({ class: value < 0 ? "minus" : "plus", x: value < 0 ? 50 - width : 50, y: 1, width, height: 10 })) rect.setAttribute(key, v);
    for (const [key, v] of Object.entries({ class: "zero", x1: 50, x2: 50, y1: 0, y2: 12 })) line.setAttribute(key, v);
    svg.append(rect, line);
    cell.className = "bars";
    cell.append(svg);
    return cell;
  };
  for (const box of document.querySelectorAll("[data-path]")) {
    const known = JSON.parse(document.getElementById(box.dataset.path + "-data").textContent);
    const body = box.querySelector("table").tBodies[0], heads = box.querySelector("table").tHead.rows[0].cells;
    const caption = box.querySelector("caption"), figures = [...box.querySelectorAll("[data-figure]")];
    sliding(box.querySelector(".slider"), (at) => {
      const one = known.answers[at];
      body.replaceChildren(...one.rows.map((row) => {
        const line = document.createElement("tr");
        line.append(named(known.names[row[0]]), bar(row[1]));
        row.slice(2).forEach((value, i) => { const cell = element("td", told(value, known.heads[i])); cell.dataset.key = value ?? ""; line.append(cell); });
        return line;
      }));
      caption.textContent = one.caption;
      for (const place of figures) place.textContent = one.figures[place.dataset.figure];
      for (const mark of box.querySelectorAll("[data-marks]")) { const x = JSON.parse(mark.dataset.marks)[at]; mark.setAttribute("transform", `translate(${x[0]} ${x[1]})`); }
      const order = [...heads].find((head) => head.hasAttribute("aria-sort"));
      if (order) sorted(order, order.getAttribute("aria-sort") === "descending");
    });
  }
})();
