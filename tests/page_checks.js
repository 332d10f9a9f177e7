// What tests/browser.py asks a page, by hand and without a library: one object of functions, each gives a list of problems.
(() => {
  const TEXT_INPUTS = "input:not([type=hidden], [type=checkbox], [type=radio], [type=range], [type=color], [type=file]), select, textarea";
  const CONTROLS = "input:not([type=hidden]), select, textarea, button, meter, progress";
  const INTERACTIVE = `a[href], area[href], button, input:not([type=hidden]), select, textarea, summary, iframe, audio[controls],
    video[controls], [tabindex], [contenteditable=""], [contenteditable=true], [onclick], [role=button], [role=link],
    [role=checkbox], [role=switch], [role=slider]`;
  const ROVING = "[role=tab], [role=option], [role=menuitem], [role=treeitem], [role=gridcell], [role=radio]"; // arrows reach them
  const FOCUS_SHOWS = ["boxShadow", "borderTopColor", "borderTopWidth", "borderBottomColor", "borderBottomWidth", "borderBottomStyle",
    "backgroundColor", "color", "textDecorationLine", "textDecorationColor", "textDecorationThickness", "stroke", "strokeWidth", "fill"];
  const FEWEST = 4.5, FEWEST_LARGE = 3; // WCAG 2.2, 1.4.3

  const describe = (element) => {
    const id = element.id ? `#${element.id}` : "";
    const text = (element.getAttribute("aria-label") || element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
    return `<${element.tagName.toLowerCase()}${id}>${text ? ` “${text}”` : ""}`;
  };
  const textOf = (element) => (element?.textContent || "").trim();
  const named = (element) => {
    const ids = (element.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean);
    return Boolean((element.getAttribute("aria-label") || "").trim() || ids.some((id) => textOf(document.getElementById(id))));
  };
  const isBeside = (element) => { // left of the page or above it, where nobody can scroll to
    const box = element.getBoundingClientRect();
    return box.right + window.scrollX <= 0 || box.bottom + window.scrollY <= 0;
  };
  const isVisible = (element) => {
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true, contentVisibilityAuto: true })) return false;
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && !isBeside(element); // so is text left to screen readers alone
  };
  const isSpoken = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest("[aria-hidden=true]");

  // --- structure ---

  const structure = () => {
    const problems = [];
    if (!document.documentElement.lang.trim()) problems.push("html has no lang");
    if (!document.title.trim()) problems.push("the page has no title");
    const headings = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6, [role=heading]")].filter(isSpoken);
    const level = (h) => Number(h.getAttribute("aria-level") || h.tagName[1]);
    const first = headings.filter((h) => level(h) === 1);
    if (first.length !== 1) problems.push(`${first.length} headings of level 1, must be one`);
    let before = 0;
    for (const heading of headings) {
      if (level(heading) > before + 1) problems.push(`${describe(heading)} of level ${level(heading)} follows level ${before}`);
      if (!textOf(heading)) problems.push(`${describe(heading)} is empty`);
      before = level(heading);
    }
    const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
    for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) problems.push(`id ${id} is there twice`);
    return problems;
  };

  const names = () => {
    const problems = [];
    for (const control of [...document.querySelectorAll(CONTROLS)].filter(isSpoken)) {
      const labelled = [...(control.labels || [])].some((label) => textOf(label).replace(textOf(control), "").trim());
      const says = control.matches("button") && (textOf(control) || control.querySelector("img[alt]:not([alt='']), svg title"));
      const value = control.matches("input[type=submit], input[type=button], input[type=reset]") && control.value;
      if (!(named(control) || labelled || says || value || control.title.trim())) problems.push(`${describe(control)} has no label`);
    }
    for (const link of [...document.querySelectorAll("a[href], [role=button], [role=link], summary")].filter(isSpoken))
      if (!(named(link) || textOf(link) || link.querySelector("img[alt]:not([alt='']), svg title"))) problems.push(`${describe(link)} has no name`);
    for (const table of [...document.querySelectorAll("table:not([role=presentation])")].filter(isSpoken))
      if (!table.querySelector("th")) problems.push(`${describe(table)} has no header cell`);
    return problems;
  };

  const alternatives = () => {
    const problems = [];
    for (const image of [...document.querySelectorAll("img, svg, canvas, [role=img]")].filter(isSpoken)) {
      if (isBeside(image) && !textOf(image)) continue; // where a library measures
      if (image.parentElement?.closest("svg, [role=img]") || image.matches("[role=presentation], [role=none]")) continue;
      const holder = image.closest("button, a[href], summary");
      const captioned = textOf(image.closest("figure")?.querySelector("figcaption"));
      const own = image.matches("img") ? image.hasAttribute("alt") : image.matches("[role=img]") && (named(image) || textOf(image.querySelector("title")));
      if (!(own || captioned || (image.matches("img") && named(image)) || (holder && (named(holder) || textOf(holder)))))
        problems.push(`${describe(image)} has no text alternative`);
    }
    return problems;
  };

  // --- contrast ---

  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const read = (color) => { // any CSS colour as [r, g, b, alpha], each from 0 to 1
    if (!known.has(color)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = color;
      pen.fillRect(0, 0, 1, 1);
      known.set(color, [...pen.getImageData(0, 0, 1, 1).data].map((value) => value / 255));
    }
    return known.get(color);
  };
  const fade = ([r, g, b, a], opacity) => [r, g, b, a * opacity];
  const over = (top, below) => {
    const alpha = top[3] + below[3] * (1 - top[3]);
    if (!alpha) return [0, 0, 0, 0];
    return [...[0, 1, 2].map((i) => (top[i] * top[3] + below[i] * below[3] * (1 - top[3])) / alpha), alpha];
  };
  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const canvasColour = () => {
    const probe = document.documentElement.appendChild(document.createElement("div"));
    probe.style.backgroundColor = "Canvas"; // under a dark colour scheme it is not white
    const colour = read(getComputedStyle(probe).backgroundColor);
    probe.remove();
    return colour;
  };

  // What is drawn inside SVGs below this text, up to its own SVG: shapes that come before it and hold its centre.
  const shapesBelow = (element, shapes, point) => {
    let colour = [0, 0, 0, 0];
    for (const { shape, box } of shapes) {
      if (!(shape.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
      if (point.x < box.left || point.x > box.right || point.y < box.top || point.y > box.bottom) continue;
      const style = getComputedStyle(shape);
      if (shape.matches("svg")) {
        if (!shape.contains(element)) colour = over(read(style.backgroundColor), colour);
        continue;
      }
      if (style.fill === "none" || style.visibility !== "visible") continue;
      const matrix = shape.getScreenCTM();
      if (!matrix || !shape.isPointInFill(new DOMPoint(point.x, point.y).matrixTransform(matrix.inverse()))) continue;
      let opacity = Number(style.fillOpacity);
      for (let e = shape; e && !e.matches("svg"); e = e.parentElement) opacity *= Number(getComputedStyle(e).opacity);
      if (style.fill.startsWith("url(")) return null; // a pattern or gradient: cannot be told
      colour = over(fade(read(style.fill), opacity), colour);
    }
    return colour;
  };

  const contrastOf = (element, shapes, canvas) => { // null where it cannot be told
    const style = getComputedStyle(element), inSvg = element instanceof SVGElement && element.closest("svg");
    const box = element.getBoundingClientRect();
    let text = read(style.color), ground = [0, 0, 0, 0], start = element;
    if (inSvg) {
      text = fade(read(style.fill), Number(style.fillOpacity));
      const below = shapesBelow(element, shapes, { x: box.left + box.width / 2, y: box.top + box.height / 2 });
      if (below === null) return null;
      for (; start !== inSvg; start = start.parentElement) text = fade(text, Number(getComputedStyle(start).opacity));
      [text, ground] = [over(text, below), below];
    }
    for (let e = start; e; e = e.parentElement) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(e);
      if (backgroundImage !== "none" && ground[3] < 1) return null;
      [text, ground] = [text, ground].map((colour) => fade(over(colour, read(backgroundColor)), Number(opacity)));
    }
    return ratio(over(text, canvas), over(ground, canvas));
  };

  const texts = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = new Set();
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (walker.currentNode.data.trim() && !element.closest("script, style, noscript, template, option, datalist, textarea, title, desc"))
        found.add(element);
    }
    document.querySelectorAll(TEXT_INPUTS).forEach((control) => found.add(control));
    return [...found].filter((element) => isVisible(element) && !element.closest(":disabled, [aria-disabled=true], [inert]"));
  };

  const contrast = () => {
    const problems = [], canvas = canvasColour();
    const shapes = [...document.querySelectorAll("svg, svg rect, svg path, svg circle, svg ellipse, svg polygon")]
      .filter((shape) => !shape.closest("defs, clipPath, mask, pattern, symbol"))
      .map((shape) => ({ shape, box: shape.getBoundingClientRect() })).filter(({ box }) => box.width && box.height);
    for (const element of texts()) {
      const style = getComputedStyle(element), size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const found = contrastOf(element, shapes, canvas), least = large ? FEWEST_LARGE : FEWEST;
      if (found === null) problems.push(`${describe(element)} stands on an image: its contrast cannot be told`);
      else if (found < least) problems.push(`${describe(element)} has contrast ${found.toFixed(3)}, must be ${least} or more`);
    }
    return problems;
  };

  // --- keyboard ---

  let stops = [], resting = [];
  const look = (element) => { const style = getComputedStyle(element); return FOCUS_SHOWS.map((name) => style[name]).join("|"); };
  const keyboard = {
    begin: () => { // how many there are to reach
      document.activeElement?.blur();
      stops = [...document.querySelectorAll(INTERACTIVE)].filter((element) =>
        element.checkVisibility({ visibilityProperty: true }) && !element.closest(":disabled, [inert]"));
      stops = stops.filter((element) => !(element.matches("[tabindex='-1']:not(a, button, input, select, textarea, summary, [role], [onclick])")));
      resting = stops.map(look);
      document.body.tabIndex = -1; // the next Tab starts from the top
      document.body.focus();
      document.body.blur();
      document.body.removeAttribute("tabindex");
      window.scrollTo(0, 0);
      return stops.length;
    },
    now: () => { // [number of the focused stop or -1, whether any element has the focus, whether one sees it]
      const element = document.activeElement;
      if (!element || element === document.body || element === document.documentElement) return [-1, false, true];
      const style = getComputedStyle(element), box = element.getBoundingClientRect(), at = stops.indexOf(element);
      const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 && read(style.outlineColor)[3] > 0;
      const changed = at >= 0 && look(element) !== resting[at];
      return [at, true, (outlined || changed) && box.width > 0 && box.height > 0 && Number(style.opacity) > 0];
    },
    end: (reached, unseen) => {
      const got = new Set(reached.map((at) => stops[at]));
      const group = (e) => e.matches("input[type=radio]") && e.name && [...got].some((g) => g.name === e.name && g.type === "radio" && g.form === e.form);
      const missed = stops.filter((e) => !got.has(e) && !group(e) && !e.matches(ROVING));
      return [...missed.map((e) => `${describe(e)} is not reached by Tab`), ...unseen.map((at) => `${describe(stops[at])} does not show the focus`)];
    },
  };

  // --- width ---

  const overflow = (width) => { // elements that make the page wider than `width`, the outermost ones
    const wide = document.documentElement.scrollWidth;
    if (wide <= width) return [];
    const clipped = (e) => { for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) if (getComputedStyle(p).overflowX !== "visible") return true; return false; };
    const culprits = [...document.body.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right + window.scrollX > width + 1 && !clipped(e));
    const outer = culprits.filter((e) => !culprits.includes(e.parentElement)).slice(0, 5).map(describe);
    return [`the page is ${wide} px wide on a screen of ${width} px: ${outer.join(", ") || "the page itself"}`];
  };

  window.pageChecks = { structure, names, alternatives, contrast, keyboard, overflow };
})();
