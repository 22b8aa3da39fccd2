// What a reader can do in the page: try a case, search, fold sections, sort tables. Without this
// script everything but the case is there to read. Names and levels become text, never markup.
// `predict` is the JavaScript export of the model, above.

const SVG = "http://www.w3.org/2000/svg";
const NARROW = window.matchMedia("(max-width: 44rem)");

function all(selector, root) {
  return Array.from((root || document).querySelectorAll(selector));
}

function make(tag, attributes, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

// A number to some significant digits; thousands apart.
function short(value, digits = 4) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1000 && size < 1e9) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

function signed(value) {
  return (value > 0 ? "+" : "") + short(value, 3);
}

function percent(value) {
  return (100 * value).toFixed(1) + "%";
}

// ---- Try a case ----

function caseForm(data, place) {
  const several = data.classes.length > 0;
  const controls = data.controls.map(control);
  const more = { exposure: null, offset: null, stratum: null };
  const form = make("form", { class: "controls", "aria-label": "The case" });
  const head = make("div", { class: "answer", "aria-live": "polite" });
  const detail = make("div", { class: "detail" });
  const again = make("button", { type: "button" }, "Start again");
  let chosen = null; // the class whose score is taken apart; the predicted one if null

  form.addEventListener("submit", (event) => event.preventDefault());
  for (const each of controls) form.append(each.element);
  for (const [role, start] of [["exposure", 1], ["offset", 0]]) {
    if (!data[role]) continue;
    more[role] = make("input", { type: "number", step: "any", value: start, id: "case-" + role });
    form.append(row(data[role], "case-" + role, more[role]));
  }
  const strata = [...new Set((data.survival || []).map((at) => at.stratum))];
  if (strata.length > 1) {
    more.stratum = make("select", { id: "case-stratum" }, ...strata.map(option));
    form.append(row("stratum", "case-stratum", more.stratum));
  }
  form.append(again);
  place.replaceChildren(head, form, detail);

  function show() {
    const cells = {};
    for (const each of controls) cells[each.name] = each.read();
    let found;
    try {
      found = predict(cells);
    } catch (error) {
      head.replaceChildren(make("p", { class: "bad" }, error.message));
      detail.replaceChildren();
      return;
    }
    head.replaceChildren(...(several ? ofClasses(found) : ofOne(found)));
    detail.replaceChildren(...(several ? classSum(found) : sum(found, found.score, 0, data.unit)));
  }

  function ofOne(found) {
    const value = found[data.response];
    const shown = data.response === "probability" ? percent(value) : short(value);
    const parts = [make("p", {}, data.response_text + " ", output(shown, "response", value))];
    if (data.response === "probability") parts.push(meter(value));
    if (more.exposure || more.offset) parts.push(forThis(found));
    if (data.survival.length) parts.push(survival(found));
    parts.push(make("p", {}, "score, " + data.unit + " ", output(signed(found.score), "score", found.score)));
    return parts;
  }

  // What is predicted for the exposure and the offset of the case.
  function forThis(found) {
    const exposure = more.exposure ? Number(more.exposure.value) : 1;
    const offset = more.offset ? Number(more.offset.value) : 0;
    const moved = data.log ? found.mean * Math.exp(offset) : found.mean + offset;
    const value = moved * exposure;
    return make("p", {}, "for this case ", output(short(value), "predicted", value));
  }

  function survival(found) {
    const stratum = more.stratum ? more.stratum.value : strata[0];
    const of = data.survival.filter((at) => at.stratum === stratum || (!more.stratum && !stratum));
    const told = make("p", {}, "survival ");
    of.forEach((at, n) => {
      const value = found[at.name];
      told.append(n ? ", " : "", at.text + ": ", output(percent(value), at.name, value));
    });
    return told;
  }

  function ofClasses(found) {
    const list = make("ul", { class: "shares" });
    const order = [...data.classes].sort((a, b) => found.probabilities[b] - found.probabilities[a]);
    for (const name of order) {
      const value = found.probabilities[name];
      const shown = output(percent(value), "probability " + name, value);
      list.append(make("li", {}, make("span", {}, name), meter(value), shown));
    }
    return [make("p", {}, "predicted ", output(String(found.class), "class", found.class)), list];
  }

  function classSum(found) {
    const name = chosen === null ? String(found.class) : chosen;
    const pick = make("select", { id: "case-class" }, ...data.classes.map(option));
    pick.value = name;
    pick.addEventListener("change", () => {
      chosen = pick.value;
      show();
      document.getElementById("case-class").focus();
    });
    const k = data.classes.indexOf(name);
    const one = { contributions: found.contributions[name] };
    const label = make("label", { for: "case-class" }, "The score of ");
    return [make("p", {}, label, pick), ...sum(one, found.scores[name], k, "the score")];
  }

  // The terms by size, zeros folded; then the sum, as it is defined: components in their order.
  function sum(found, score, k, unit) {
    const terms = [];
    const line = make("p", { class: "sum" });
    line.append(signed(data.intercepts[k]) + " intercept");
    for (const component of data.components) {
      const total = found.contributions[component.name] || 0;
      if (total !== 0) {
        const sign = total < 0 ? " − " : " + ";
        line.append(sign, short(Math.abs(total)), make("small", {}, " " + component.name));
      }
      for (const part of component.parts) {
        const value = found.contributions[part.name] || 0;
        const because = component.sources.map((s) => s + " = " + shownCell(s)).join(", ");
        terms.push({ name: part.name, text: words(part, value, k), value, because });
      }
    }
    line.append(" = ", output(signed(score), "sum", score));
    const list = make("ul", { class: "terms" });
    const active = terms.filter((term) => term.value !== 0);
    active.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const largest = active.length ? Math.abs(active[0].value) : 1;
    for (const term of active) list.append(bar(term, largest));
    const zero = terms.filter((term) => term.value === 0).map((term) => term.name);
    const none = make("p", { class: "note" }, zero.length + " terms add 0: " + zero.join(", "));
    const title = make("p", { class: "note" }, "What adds to " + unit + ", largest first");
    return [title, list, ...(zero.length ? [none] : []), line];
  }

  function shownCell(name) {
    return controls.find((each) => each.name === name).said();
  }

  form.addEventListener("input", show);
  again.addEventListener("click", () => {
    for (const each of controls) each.reset();
    if (more.exposure) more.exposure.value = 1;
    if (more.offset) more.offset.value = 0;
    chosen = null;
    show();
  });
  show();
}

function output(text, role, value) {
  return make("output", { "data-role": role, "data-value": value }, text);
}

function option(text) {
  return make("option", { value: text }, text);
}

function meter(share) {
  const inside = make("i", {});
  inside.style.width = 100 * share + "%";
  return make("span", { class: "meter", "aria-hidden": "true" }, inside);
}

// The leaf that was reached is the one of the coefficient that was added, if only one has it.
function words(part, value, k) {
  if (!part.leaves) return part.text;
  const same = part.leaves.filter((leaf) => leaf.values[k] === value);
  return part.text + (same.length === 1 ? ": " + same[0].text : "");
}

function bar(term, largest) {
  const line = document.createElementNS(SVG, "svg");
  const box = document.createElementNS(SVG, "rect");
  const length = (Math.abs(term.value) / largest) * 50;
  const look = { x: term.value < 0 ? 50 - length : 50, y: 0, width: Math.max(length, 0.5) };
  for (const [name, value] of Object.entries({ ...look, height: 10 })) box.setAttribute(name, value);
  box.setAttribute("class", term.value < 0 ? "lowers" : "raises");
  line.setAttribute("viewBox", "0 0 100 10");
  line.setAttribute("preserveAspectRatio", "none");
  line.setAttribute("aria-hidden", "true");
  line.append(box);
  const number = make("b", { "data-term": term.name, "data-value": term.value }, signed(term.value));
  const text = make("span", {}, make("small", {}, term.name + " "), term.text);
  return make("li", { title: term.because }, number, line, text);
}

function row(name, id, ...inside) {
  return make("div", { class: "control" }, make("label", { for: id }, name), ...inside);
}

// A control has `read`, which gives the cell for `predict`; `said`, for people; and `reset`.
function control(given, number) {
  const id = "case-" + number;
  return given.kind === "number" ? numberControl(given, id) : categoryControl(given, id);
}

function categoryControl(given, id) {
  const other = given.pooled ? "any other (counts as rare)" : "not seen in training";
  const select = make("select", { id: id, "data-name": given.name });
  given.levels.forEach((level, n) => select.append(make("option", { value: n }, level)));
  select.append(make("option", { value: "missing" }, "(missing)"));
  select.append(make("option", { value: "unseen" }, "(" + other + ")"));
  const reset = () => {
    select.value = given.start === null ? "missing" : given.levels.indexOf(given.start);
  };
  const read = () => {
    if (select.value === "missing") return null;
    return select.value === "unseen" ? given.unseen : given.levels[Number(select.value)];
  };
  const said = () => select.options[select.selectedIndex].textContent;
  reset();
  return { name: given.name, element: row(given.name, id, select), read, said, reset };
}

function numberControl(given, id) {
  const ends = { min: given.low, max: given.high, step: given.step };
  const slider = make("input", { type: "range", ...ends, "aria-label": given.name });
  const box = make("input", { type: "number", step: "any", id: id, "data-name": given.name });
  const state = make("select", { "aria-label": given.name + ": number, missing or code" });
  state.append(make("option", { value: "number" }, "number"));
  state.append(make("option", { value: "missing" }, "missing"));
  given.codes.forEach((code, n) => state.append(make("option", { value: n }, "code " + code.text)));
  const enable = () => {
    slider.disabled = box.disabled = state.value !== "number";
  };
  const reset = () => {
    state.value = "number";
    box.value = slider.value = given.start;
    enable();
  };
  const read = () => {
    if (state.value === "number") return box.value === "" ? null : Number(box.value);
    return state.value === "missing" ? null : given.codes[Number(state.value)].cell;
  };
  const said = () => {
    const cell = read();
    return cell === null ? "missing" : String(cell);
  };
  slider.addEventListener("input", () => {
    box.value = Number(Number(slider.value).toPrecision(12));
  });
  box.addEventListener("input", () => {
    slider.value = box.value;
  });
  state.addEventListener("input", enable);
  reset();
  return { name: given.name, element: row(given.name, id, slider, box, state), read, said, reset };
}

// ---- Fold ----

function foldable(section) {
  const title = section.querySelector("h2");
  const button = make("button", { type: "button", class: "fold", "aria-expanded": "true" });
  button.append(...title.childNodes);
  title.append(button);
  button.addEventListener("click", () => fold(section, !section.classList.contains("folded")));
}

function fold(section, folded) {
  section.classList.toggle("folded", folded);
  section.querySelector("h2 button").setAttribute("aria-expanded", String(!folded));
}

function unfoldTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const section = target && target.closest("main > section");
  if (!section || !section.classList.contains("folded")) return;
  fold(section, false);
  target.scrollIntoView();
}

// ---- Search ----

function search(field, note) {
  const words = field.value.trim().toLowerCase();
  let hits = 0;
  for (const section of all("main > section")) {
    const units = all(".card, tr:not(.card tr), dl.about > div", section).filter(
      (unit) => !unit.closest("thead"),
    );
    let inside = 0;
    for (const unit of units) {
      const found = unit.textContent.toLowerCase().includes(words);
      unit.classList.toggle("apart", Boolean(words) && !found);
      inside += found ? 1 : 0;
    }
    const there = inside > 0 || section.textContent.toLowerCase().includes(words);
    if (!inside) for (const unit of units) unit.classList.remove("apart");
    section.classList.toggle("apart", Boolean(words) && !there);
    hits += inside;
    if (words && there) fold(section, false);
  }
  note.textContent = !words ? "" : hits === 1 ? "1 place" : hits ? hits + " places" : "nothing found";
}

// ---- Sort ----

function sortable(table) {
  const body = table.tBodies[0];
  const heads = table.tHead ? Array.from(table.tHead.rows[0].cells) : [];
  if (!body || body.rows.length < 3 || all("[colspan], [rowspan]", table).length) return;
  const order = Array.from(body.rows);
  heads.forEach((head, column) => {
    const button = make("button", { type: "button", class: "sort" });
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" };
      const way = next[head.getAttribute("aria-sort") || "none"];
      for (const other of heads) other.removeAttribute("aria-sort");
      if (way !== "none") head.setAttribute("aria-sort", way);
      body.append(...(way === "none" ? order : sorted(order, column, way === "descending")));
    });
  });
}

// By number if all cells that say something begin with one; what says nothing comes last.
function sorted(rows, column, falling) {
  const texts = new Map(rows.map((line) => [line, cellText(line.cells[column])]));
  const known = rows.filter((line) => !["", "-"].includes(texts.get(line)));
  const numbers = new Map(known.map((line) => [line, number(texts.get(line))]));
  const numeric = known.every((line) => !Number.isNaN(numbers.get(line)));
  const compare = (a, b) =>
    numeric
      ? numbers.get(a) - numbers.get(b)
      : texts.get(a).localeCompare(texts.get(b), "en", { numeric: true });
  const found = [...known].sort((a, b) => (falling ? compare(b, a) : compare(a, b)));
  return [...found, ...rows.filter((line) => !known.includes(line))];
}

function cellText(cell) {
  return cell ? cell.textContent.trim().replace(/\s+/g, " ") : "";
}

function number(text) {
  const found = /^[<±]?\s*([+-]?[0-9][0-9,]*(\.[0-9]+)?(e[+-]?[0-9]+)?)/i.exec(text);
  return found ? Number(found[1].replace(/,/g, "")) : NaN;
}

// ---- Narrow windows: a table that does not fit becomes a list, each cell with its head ----

function label(table) {
  const heads = table.tHead ? Array.from(table.tHead.rows[0].cells, cellText) : [];
  for (const line of table.tBodies[0] ? table.tBodies[0].rows : []) {
    Array.from(line.cells).forEach((cell, column) => {
      if (heads[column]) cell.setAttribute("data-head", heads[column]);
    });
  }
}

function fit() {
  for (const table of all(".scroll > table")) {
    table.classList.remove("stacked");
    const over = table.scrollWidth > table.parentElement.clientWidth + 1;
    table.classList.toggle("stacked", NARROW.matches && over);
  }
}

// ---- Pictures: what is shown at a place, by the pointer or the arrow keys ----

function askable(group) {
  const spots = JSON.parse(group.dataset.spots);
  const [top, foot] = group.dataset.ends.split(" ").map(Number);
  const picture = group.closest("svg");
  const said = make("p", { class: "spot", "aria-live": "polite" });
  const mark = document.createElementNS(SVG, "path");
  mark.setAttribute("class", "cursor");
  group.append(mark);
  let at = -1;
  const show = (place) => {
    at = Math.max(0, Math.min(place, spots.length - 1));
    const [x, y, words] = spots[at];
    const line = group.dataset.along === "x" ? `M${x} ${top}V${foot}` : "";
    mark.setAttribute("d", `${line}M${x - 5} ${y}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0`);
    said.textContent = words;
    if (!said.isConnected) picture.after(said);
  };
  const hide = () => {
    mark.removeAttribute("d");
    said.textContent = "";
  };
  const near = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY);
    const here = point.matrixTransform(group.getScreenCTM().inverse());
    const [across, up] = { x: [1, 0], y: [0, 1], both: [1, 1] }[group.dataset.along];
    const gap = ([x, y]) => Math.hypot(across * (x - here.x), up * (y - here.y));
    return spots.reduce((best, spot, k) => (gap(spot) < gap(spots[best]) ? k : best), 0);
  };
  picture.setAttribute("tabindex", "0");
  picture.addEventListener("pointermove", (event) => show(near(event)));
  picture.addEventListener("pointerdown", (event) => show(near(event)));
  picture.addEventListener("pointerleave", hide);
  picture.addEventListener("blur", hide);
  picture.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const ends = { Home: 0, End: spots.length - 1 };
    if (event.key === "Escape") hide();
    else if (event.key in ends) show(ends[event.key]);
    else if (event.key in steps) show(at + steps[event.key]);
    else return;
    event.preventDefault();
  });
}

// ---- Begin ----

function begin() {
  const data = document.getElementById("case-data");
  const place = document.getElementById("case-form");
  if (data && place) caseForm(JSON.parse(data.textContent), place);
  for (const section of all("main > section")) foldable(section);
  const field = make("input", { type: "search", id: "find", autocomplete: "off" });
  const note = make("span", { class: "found", role: "status" });
  field.addEventListener("input", () => search(field, note));
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    field.value = "";
    search(field, note);
  });
  const every = make("button", { type: "button" }, "Fold all");
  every.addEventListener("click", () => {
    const folded = every.textContent === "Fold all";
    for (const section of all("main > section:not(#summary)")) fold(section, folded);
    every.textContent = folded ? "Unfold all" : "Fold all";
  });
  const title = make("label", { for: "find" }, "Find a variable, term or section");
  const tools = make("div", { class: "tools", role: "search" }, title, field, note, every);
  const contents = document.querySelector("nav details");
  contents.before(tools);
  contents.open = !NARROW.matches;
  for (const table of all("main table")) {
    label(table);
    sortable(table);
  }
  for (const group of all("[data-spots]")) askable(group);
  fit();
  window.addEventListener("resize", fit);
  window.addEventListener("hashchange", unfoldTarget);
}

begin();
