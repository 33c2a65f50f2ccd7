// Puts what is told on the page; a live one asks for more once a second, until the run has ended.
"use strict";

const KEPT = 1000; // micro-batches; as many as the server keeps
const EVERY = 1000; // milliseconds
const at = (id) => document.getElementById(id);

class Page {
  constructor(told) {
    this.live = told.live;
    this.moments = [];
    this.chosen = null; // the number of a micro-batch; null is the newest one
    this.missed = 0;
    this.charts = null;
    at("keep").hidden = !this.live;
    at("plan").hidden = !told.plan;
    at("plan").querySelector("pre").textContent = told.plan;
    at("batch").addEventListener("input", () => this.choose(Number(at("batch").value)));
    this.take(told);
    if (this.live && told.state === "running") setTimeout(() => this.ask(), EVERY);
  }

  take(told) {
    at("title").textContent = told.title;
    this.say(told.state, told.said);
    at("on").textContent = told.facts.condition ?? "";
    at("facts").replaceChildren(...Object.entries(told.facts).flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
    if (told.moments.length) {
      const first = told.moments[0].batch; // one that Spark has repeated replaces what was told of it
      this.moments = [...this.moments.filter((each) => each.batch < first), ...told.moments].slice(-KEPT);
    }
    at("waiting").hidden = this.moments.length > 0 || told.state !== "running";
    at("charts").hidden = at("windows").hidden = at("tiles").hidden = this.moments.length === 0;
    if (this.moments.length === 0) return;
    this.tiles(told.total);
    if (told.moments.length || this.charts === null) {
      this.charts ??= new Charts((index) => this.choose(index));
      this.charts.show(this.moments);
      this.picture();
    }
  }

  say(state, said) {
    at("badge").textContent = state;
    at("badge").dataset.state = state;
    at("said").textContent = said;
  }

  tiles(total) {
    const now = this.moments[this.moments.length - 1];
    const busy = this.moments.findLast((each) => each.rate > 0) ?? now; // not one that only expired tuples
    const newest = SIDES.flatMap((side) => now.chains[side]).map((each) => each.newest).filter((each) => each !== null);
    const behind = now.watermark === null || !newest.length ? "–" : long((newest.reduce((a, b) => Math.max(a, b)) - now.watermark) / 1e6);
    const shown = [
      ["tuples", whole(total.left + total.right)],
      ["matches", whole(total.pairs)],
      ["tuples/s, all", whole(total.rate)],
      ["tuples/s, last", whole(busy.rate)],
      ["too late", whole(total.late)],
      ["watermark lag", behind],
      ["in memory", bytes(now.resident_bytes)],
      ["in state", bytes(now.state_bytes)],
    ];
    at("tiles").replaceChildren(...shown.map(([name, text]) => {
      const tile = element("div", undefined, "tile");
      tile.dataset.name = name;
      tile.append(element("b", text), element("span", name));
      return tile;
    }));
  }

  // By place among those that are shown; the last one means: whichever is the newest.
  choose(index) {
    this.chosen = index >= this.moments.length - 1 ? null : this.moments[index].batch;
    this.picture();
  }

  picture() {
    const last = this.moments.length - 1;
    const found = this.chosen === null ? last : this.moments.findIndex((each) => each.batch === this.chosen);
    const index = found < 0 ? last : found;
    const moment = this.moments[index];
    Object.assign(at("batch"), { max: `${last}`, value: `${index}` });
    at("picked").textContent = `${moment.batch}${index === last ? " (newest)" : ""}`;
    at("when").textContent = `after micro-batch ${moment.batch}, ${stamp(moment.at * 1e6)} UTC`;
    if (moment.chains !== null) chains(moment);
    else for (const side of SIDES) at(side).replaceChildren(element("p", `${side}: the picture of so old a micro-batch is not kept`, "side"));
  }

  async ask() {
    const last = this.moments.length ? this.moments[this.moments.length - 1].batch : -1;
    let told = null;
    try {
      const answer = await fetch(`told?after=${last}`, { cache: "no-store" });
      if (answer.ok) told = await answer.json();
    } catch {
      // the run may have ended, or this machine lost sight of it
    }
    this.missed = told === null ? this.missed + 1 : 0;
    if (told !== null) this.take(told);
    if (this.missed >= 5) this.say("lost", "no answer any more: the run has ended, or its machine is out of reach");
    else if (told === null || told.state === "running") setTimeout(() => this.ask(), EVERY);
  }
}

new Page(JSON.parse(at("data").textContent));
