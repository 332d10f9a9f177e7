"use strict";
// The page's behaviour: theme, copy, charts, the table of prompts. Text from outside is only ever written as text.
(function () {
  const find = (id) => document.getElementById(id);
  const read = (id) => JSON.parse(find(id).textContent);
  const figures = read("figures");
  const data = read("data");
  const root = document.documentElement;

  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }
  function isolated(tag, className, text) {  // its direction of writing stays its own
    const element = make(tag, className);
    element.append(make("bdi", "", text));
    return element;
  }
  const minus = (text) => text.replace("-", "−");
  const score = (value) => value.toFixed(4);
  function signed(value) {
    const text = (value > 0 ? "+" : "") + value.toFixed(4);
    return /^[+-]0\.0000$/.test(text) ? "0.0000" : minus(text);
  }

  // ---- theme
  const themes = ["auto", "light", "dark"];
  let theme = "auto";
  function remember(value) { try { localStorage.setItem("harness-theme", value); } catch (error) { /* not allowed here */ } }
  function recall() { try { return localStorage.getItem("harness-theme"); } catch (error) { return null; } }
  function setTheme(value) {
    theme = themes.includes(value) ? value : "auto";
    if (theme === "auto") root.removeAttribute("data-theme"); else root.setAttribute("data-theme", theme);
    const names = { auto: "as the system has them", light: "light", dark: "dark" };
    find("theme").textContent = "Colours: " + theme;
    find("theme").setAttribute("aria-label", "Colours: " + names[theme] + ". Press to change");
    paint();
  }
  find("theme").addEventListener("click", () => {
    const next = themes[(themes.indexOf(theme) + 1) % themes.length];
    remember(next);
    setTheme(next);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint());

  // ---- copy
  const target = find("target");
  if (target) {
    const shown = () => document.querySelector(".code[data-target]:not([hidden])");
    target.addEventListener("change", () => {
      for (const block of document.querySelectorAll(".code[data-target]")) block.hidden = block.dataset.target !== target.value;
      find("copied").textContent = "";
    });
    find("copy").addEventListener("click", async () => {
      const text = shown().textContent;
      let done = false;
      try { await navigator.clipboard.writeText(text); done = true; } catch (error) { done = copyBySelection(text); }
      find("copied").textContent = done ? "Copied" : "Copying is not allowed here: select the text and copy it";
    });
  }
  function copyBySelection(text) {
    const area = make("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    let done = false;
    try { done = document.execCommand("copy"); } catch (error) { done = false; }
    area.remove();
    return done;
  }

  // ---- charts
  let plotly = null;
  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }
  async function loadPlotly() {
    const script = make("script");
    script.textContent = await unpack(find("library").textContent);
    document.head.append(script);
    return window.Plotly;
  }
  const color = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  function themed(figure, narrow) {
    const layout = structuredClone(figure.layout);
    const axis = { gridcolor: color("--grid"), linecolor: color("--line"), tickcolor: color("--line") };
    layout.font = { color: color("--ink"), family: "system-ui, 'Liberation Sans', sans-serif", size: narrow ? 11 : 13 };
    layout.hoverlabel = { bgcolor: color("--card"), bordercolor: color("--line"), font: { color: color("--ink") }, align: "left" };
    for (const name of Object.keys(layout)) if (/^[xy]axis/.test(name)) Object.assign(layout[name], axis);
    layout.showlegend = false;  // the page has its own, which wraps and is read aloud
    layout.margin = narrow ? { l: 46, r: 8, t: 8, b: 46 } : { l: 64, r: 16, t: 10, b: 52 };
    return layout;
  }
  const shapes = {
    star: "M8 1l2 5h5l-4 3.4 1.6 5.2L8 11.4 3.4 14.6 5 9.4 1 6h5z", diamond: "M8 1l6 7-6 7-6-7z", square: "M3 3h10v10H3z",
    "triangle-up": "M8 2l7 12H1z", cross: "M6 2h4v4h4v4h-4v4H6v-4H2V6h4z", x: "M4 1.5l4 4 4-4L14.5 4l-4 4 4 4-2.5 2.5-4-4-4 4L1.5 12l4-4-4-4z",
    "circle-open": "M8 3a5 5 0 1 0 .01 0z", circle: "M8 3a5 5 0 1 0 .01 0z",
  };
  const dashes = { dash: "6 4", dot: "2 3", dashdot: "6 3 2 3", longdash: "10 4", longdashdot: "10 3 2 3" };
  function svg(tag, attributes) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }
  function swatch(trace) {
    const image = svg("svg", { width: 34, height: 16, "aria-hidden": "true" });
    const line = trace.line || {}, marker = trace.marker || {};
    if (trace.fill) image.append(svg("rect", { x: 2, y: 3, width: 30, height: 10, fill: trace.fillcolor }));
    else if (trace.type === "bar") image.append(svg("rect", { x: 2, y: 3, width: 30, height: 10, fill: marker.color }));
    else if (/lines/.test(trace.mode))
      image.append(svg("line", { x1: 1, x2: 33, y1: 8, y2: 8, stroke: line.color, "stroke-width": Math.min(line.width || 2, 6), "stroke-dasharray": dashes[line.dash] || "none" }));
    if (/markers/.test(trace.mode || "")) {
      const several = Array.isArray(marker.color);
      const symbol = svg("path", { d: shapes[marker.symbol] || shapes.circle, transform: "translate(9 0)", fill: several ? "#7c7b78" : marker.color });
      if (/open/.test(marker.symbol || "")) { symbol.setAttribute("fill", "none"); symbol.setAttribute("stroke", marker.color); symbol.setAttribute("stroke-width", "1.6"); }
      image.append(symbol);
    }
    return image;
  }
  function legend(place, traces) {
    const names = traces.filter((trace) => trace.name && trace.showlegend !== false);
    if (names.length < 2) return;
    const list = make("ul", "legend");
    for (const trace of names) {
      const entry = make("li");
      const text = make("span");
      text.innerText = entities(trace.name);
      entry.append(swatch(trace), text);
      list.append(entry);
    }
    place.before(list);
  }
  const entities = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");  // what charts.plain escaped
  const options = { responsive: true, displaylogo: false, displayModeBar: false, scrollZoom: false };
  const drawn = new Set();
  const paper = 680;  // pixels: the width of a printed page
  let printing = false;
  function draw(id) {
    const place = find("figure-" + id);
    if (!place) return;
    if (!drawn.has(id)) {
      place.textContent = "";
      legend(place, figures[id].data);
    }
    drawn.add(id);
    const layout = themed(figures[id], !printing && place.clientWidth < 560);
    const half = place.closest(".two") !== null;
    if (printing) Object.assign(layout, { width: half ? paper / 2 - 6 : paper, height: layout.height || (half ? 260 : 320), autosize: false });
    place.style.height = printing ? layout.height + "px" : layout.height ? layout.height + "px" : "";
    plotly.react(place, figures[id].data, layout, options);
  }
  function paint() { if (plotly) for (const id of drawn) draw(id); }
  function drawWhenSeen() {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        seen.unobserve(entry.target);
        draw(entry.target.id.replace("figure-", ""));
      }
    }, { rootMargin: "600px" });
    for (const id of Object.keys(figures)) { const place = find("figure-" + id); if (place) seen.observe(place); }
  }
  function drawAll() { if (plotly) for (const id of Object.keys(figures)) draw(id); }
  addEventListener("beforeprint", () => {
    root.setAttribute("data-theme", "light");
    printing = true;
    drawAll();
    for (const block of document.querySelectorAll("details")) block.open = true;
  });
  addEventListener("afterprint", () => {
    printing = false;
    setTheme(theme);
  });

  // ---- prompts
  const body = document.querySelector("#prompt-table tbody");
  const page = 100;
  let sorting = { key: "difference", rising: true };
  let limit = page;
  let rows = [];
  function outcome(prompt) { return prompt.difference > 1e-9 ? "win" : prompt.difference < -1e-9 ? "loss" : "tie"; }
  function select() {
    const words = find("search").value.trim().toLowerCase();
    const group = find("group").value;
    const wanted = find("outcome").value;
    rows = data.prompts.filter((prompt) =>
      (!words || (prompt.id + " " + prompt.text).toLowerCase().includes(words)) &&
      (group === "" || "g:" + prompt.group === group) &&
      (!wanted || outcome(prompt) === wanted));
    const key = sorting.key;
    const order = sorting.rising ? 1 : -1;
    const value = (prompt) => key === "text" ? (prompt.text || prompt.id) : prompt[key];
    rows.sort((a, b) => {
      const x = value(a), y = value(b);
      return order * (x < y ? -1 : x > y ? 1 : 0) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
    });
  }
  function show() {
    body.textContent = "";
    for (const prompt of rows.slice(0, limit)) body.append(row(prompt));
    find("shown").textContent = Math.min(limit, rows.length) + " of " + rows.length + " prompts shown" +
      (rows.length < data.prompts.length ? ", " + data.prompts.length + " in all" : "");
    find("more").hidden = limit >= rows.length;
    for (const button of document.querySelectorAll("#prompt-table thead button"))
      button.parentElement.setAttribute("aria-sort", button.dataset.key !== sorting.key ? "none" : sorting.rising ? "ascending" : "descending");
  }
  function refresh() { limit = page; select(); show(); }
  function row(prompt) {
    const line = make("tr");
    const first = make("td");
    const words = prompt.text || prompt.id;
    const title = words.length > 160 ? words.slice(0, 159) + "…" : words;
    if (prompt.lists) {
      const button = make("button", "open");
      button.type = "button";
      button.setAttribute("aria-expanded", "false");
      button.append(make("bdi", "", title));
      button.addEventListener("click", () => toggle(button, line, prompt));
      first.append(button);
    } else first.append(make("bdi", "", title));
    if (prompt.text) first.append(isolated("span", "id", prompt.id));
    const way = { win: " up", loss: " down", tie: "" }[outcome(prompt)];
    const cells = [
      [isolated("td", "group", prompt.group), prompt.group ? "group" : ""],
      ...("weight" in prompt ? [[make("td", "n", String(prompt.weight)), "weight"]] : []), [make("td", "n", String(prompt.relevant)), "relevant"],
      [make("td", "n", score(prompt.kept)), data.names[0]], [make("td", "n", score(prompt.pick)), data.names[1]],
      [make("td", "n" + way, signed(prompt.difference)), "difference"],
    ];
    line.append(first);
    for (const [cell, label] of cells) { cell.dataset.label = label; line.append(cell); }
    for (const cell of line.children) cell.setAttribute("role", "cell");  // stays a table where a narrow screen shows it as blocks
    line.setAttribute("role", "row");
    return line;
  }
  function toggle(button, line, prompt) {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) { line.nextElementSibling.remove(); return; }
    line.after(detail(prompt));
  }
  function detail(prompt) {
    const line = make("tr", "detail");
    line.setAttribute("role", "row");
    const cell = make("td");
    cell.setAttribute("role", "cell");
    cell.colSpan = "weight" in prompt ? 7 : 6;
    if (prompt.text.length > 160) cell.append(isolated("p", "full", prompt.text));
    const lists = make("div", "lists");
    prompt.lists.forEach((list, i) => {
      const side = make("div");
      side.append(make("h3", "", data.names[i]));
      const items = make("ol");
      list.forEach((entry, rank) => items.append(item(rank + 1, entry, "")));
      side.append(list.length ? items : make("p", "note", "returns nothing"));
      lists.append(side);
    });
    cell.append(lists);
    if (prompt.missed.length) {
      const missed = make("div", "missed");
      missed.append(make("h3", "", "Relevant, but in neither list’s first " + data.top_k));
      const items = make("ul");
      for (const entry of prompt.missed) {
        const place = (rank) => rank ? String(rank) : "none";
        items.append(item("", entry, ", rank in " + data.names[0] + " " + place(entry[4]) + ", in " + data.names[1] + " " + place(entry[5])));
      }
      missed.append(items);
      cell.append(missed);
    }
    line.append(cell);
    return line;
  }
  function item(rank, entry, more) {
    const [document_, grade, keyword, semantic] = entry;
    const line = make("li");
    line.append(make("span", "place", rank === "" ? "" : rank + "."));
    const what = make("div");
    what.append(isolated("span", "doc", data.documents[document_][0]));
    const relevant = grade !== null && grade >= Math.max(1, data.threshold);
    if (grade === null) what.append(make("span", "badge unknown", "unjudged"));
    else what.append(make("span", "badge " + (relevant ? "yes" : "no"), relevant ? "relevant" + (grade > 1 ? ", grade " + grade : "") : "not relevant"));
    what.append(make("span", "ranks", " keyword " + (keyword || "–") + " · semantic " + (semantic || "–") + more));
    if (data.documents[document_][1]) what.append(isolated("span", "snippet", data.documents[document_][1]));
    line.append(what);
    return line;
  }
  if (body) {
    const groups = [...new Set(data.prompts.map((prompt) => prompt.group))].sort();
    for (const group of groups) {
      const option = make("option", "", group.length > 60 ? group.slice(0, 59) + "…" : group || "(none)");
      option.value = "g:" + group;
      find("group").append(option);
    }
    if (groups.length < 2) find("group").parentElement.hidden = true;
    for (const button of document.querySelectorAll("#prompt-table thead button"))
      button.addEventListener("click", () => {
        const key = button.dataset.key;
        sorting = { key, rising: sorting.key === key ? !sorting.rising : key === "text" || key === "group" || key === "difference" };
        refresh();
      });
    for (const id of ["search", "group", "outcome"]) find(id).addEventListener("input", refresh);
    find("more").addEventListener("click", () => { limit += page * 5; show(); });
    refresh();
  }

  setTheme(recall());
  requestAnimationFrame(() => setTimeout(() => {
    loadPlotly().then((library) => { plotly = library; drawWhenSeen(); root.dataset.ready = "yes"; }).catch((error) => {
      for (const id of Object.keys(figures)) { const place = find("figure-" + id); if (place) place.textContent = "The chart needs a newer browser: " + error.message; }
    });
  }));
})();
