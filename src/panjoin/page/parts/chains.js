// The two chains of subwindows, one row per side and worker, oldest on the left.
"use strict";

const SIDES = ["left", "right"];

function chains(moment) {
  const all = SIDES.flatMap((side) => moment.chains[side]);
  const times = all.flatMap((each) => [each.oldest, each.newest]).filter((each) => each !== null);
  const within = times.length ? [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))] : null;
  for (const side of SIDES) {
    const place = document.getElementById(side);
    const stood = new Map([...place.querySelectorAll(".chain")].map((list) => [list.ariaLabel, stands(list)]));
    place.replaceChildren(...rows(side, moment.chains[side], within));
    for (const list of place.querySelectorAll(".chain")) list.scrollLeft = stood.get(list.ariaLabel) ?? list.scrollWidth;
  }
}

// Where somebody has scrolled to; null at the right end, where the newest subwindow is, and stays in sight.
const stands = (list) => (list.scrollLeft + list.clientWidth >= list.scrollWidth - 2 ? null : list.scrollLeft);

function rows(side, chain, within) {
  const held = chain.reduce((sum, each) => sum + each.size + each.late, 0);
  const made = [element("p", `${side}: ${whole(held)} tuples in ${chain.length} subwindows`, "side")];
  const workers = [...new Set(chain.map((each) => each.worker))].sort((a, b) => a - b);
  for (const worker of workers) {
    const list = element("ol", undefined, "chain");
    list.tabIndex = 0;
    list.setAttribute("aria-label", `${side} window, worker ${worker}`);
    list.append(...chain.filter((each) => each.worker === worker).map((each) => subwindow(each, within)));
    made.push(list);
  }
  return made;
}

function subwindow(each, within) {
  const card = element("div", undefined, each.sealed ? "sub" : "sub open");
  const fill = each.capacity ? each.size / each.capacity : 0;
  card.append(
    row(`#${each.number} ${each.structure}`, each.sealed ? "sealed" : "open", "b"),
    drawn("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", height: 12, role: "img", "aria-label": "fill" }, [
      drawn("rect", { class: "track", width: 100, height: 12, rx: 1 }),
      drawn("rect", { class: "filled", width: 100 * Math.min(1, fill), height: 12, rx: 1 }),
    ]),
    row(`${whole(each.size)} of ${short(each.capacity)}`, `${Math.round(100 * fill)}%`),
    row(each.late ? `${whole(each.late)} late beside` : `worker ${each.worker}`, bytes(each.bytes)),
    span(each, within),
    row(each.oldest === null ? "no event time" : `${clock(each.oldest)} – ${clock(each.newest)}`,
      each.oldest === null ? "" : long((each.newest - each.oldest) / 1e6)),
    partitions(each),
    row(each.partitions.length ? "fullest partition" : "partitions", balance(each)),
  );
  card.title = each.oldest === null ? "" : `${stamp(each.oldest)} to ${stamp(each.newest)} UTC`;
  const item = element("li");
  item.append(card);
  return item;
}

function row(text, right, name = "span") {
  const made = element("div", undefined, "row");
  made.append(element(name, text), element("span", right, "soft"));
  return made;
}

function span(each, within) {
  const inside = [drawn("rect", { class: "track", y: 2, width: 100, height: 2 })];
  if (each.oldest !== null && within !== null) {
    const long = Math.max(1, within[1] - within[0]);
    const width = Math.max(1.5, (100 * (each.newest - each.oldest)) / long);
    const x = Math.min(100 - width, (100 * (each.oldest - within[0])) / long);
    inside.push(drawn("rect", { class: "spanned", x, y: 0, width, height: 6 }));
  }
  const settings = { viewBox: "0 0 100 6", preserveAspectRatio: "none", height: 6, role: "img", "aria-label": "time span" };
  return drawn("svg", settings, inside);
}

function balance(each) {
  if (each.balance !== null) return `${each.balance.toFixed(2)}x`;
  return even(each) ? "cut evenly" : each.size ? "none" : "empty";
}

// BI-Sort cuts by position, so that nothing is told of its partitions.
const even = (each) => each.structure.startsWith("bi-sort");

// One bar per stretch of partitions; the dashed line is the mean. Structures that cut evenly have bars of one height.
function partitions(each) {
  const given = each.partitions.length ? each.partitions : Array(16).fill(even(each) ? 100 : 0);
  const kind = each.partitions.length ? "part" : "part even";
  const top = Math.max(200, ...given);
  const wide = 100 / given.length;
  const bars = given.map((percent, at) => {
    const height = (24 * percent) / top;
    return drawn("rect", { class: kind, x: at * wide + 0.6, y: 24 - height, width: Math.max(0.5, wide - 1.2), height });
  });
  const mean = 24 - (24 * 100) / top;
  bars.push(drawn("line", { class: "mean", x1: 0, x2: 100, y1: mean, y2: mean, "vector-effect": "non-scaling-stroke" }));
  return drawn("svg", { viewBox: "0 0 100 24", preserveAspectRatio: "none", height: 24, role: "img", "aria-label": "balance of partitions" }, bars);
}
