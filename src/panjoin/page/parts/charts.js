// Three charts over the same micro-batches; the cursor of one is the cursor of all.
"use strict";

const STEPS = ["spark", "probe", "insert", "state"];
const HEIGHT = 170;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function axes(unit) {
  const look = { stroke: () => colour("soft"), grid: { stroke: () => colour("line"), width: 1 }, ticks: { show: false } };
  return [
    { ...look, values: (_, numbers) => numbers.map((each) => (Number.isInteger(each) ? `${each}` : "")), space: 60, size: 28 },
    { ...look, values: (_, numbers) => numbers.map((each) => short(each) + unit), size: 52 },
  ];
}

class Charts {
  constructor(choose) {
    this.moments = [];
    this.choose = choose;
    this.throughput = this.line("throughput", "tuples/s", "accent", whole);
    this.matches = this.bars("matches", ["matches"], ["accent"], whole, "");
    // Bars that stand behind each other make a stack: the last step's bar is the sum of all.
    this.time = this.bars("time", [...STEPS].reverse(), [...STEPS].reverse(), (value) => `${value.toFixed(2)} s`, " s");
    this.all = [this.throughput, this.matches, this.time];
    new ResizeObserver(() => this.fit()).observe(document.getElementById("charts"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.all.forEach((each) => each.redraw(false)));
  }

  x() {
    const told = (_, value, __, at) => (this.moments[at] ? `${value}, ${clock(this.moments[at].at * 1e6)}` : "–");
    return { label: "micro-batch", value: told };
  }

  plot(id, series, unit, most) {
    const into = document.getElementById(id);
    const settings = {
      width: into.clientWidth || 300,
      height: HEIGHT,
      series: [this.x(), ...series],
      axes: axes(unit),
      scales: {
        x: { time: false, range: (_, low, high) => (low === null ? [-0.6, 0.6] : [low - 0.6, high + 0.6]) },
        y: { range: (_, low, high) => [0, high > 0 ? high * 1.08 : 1] },
      },
      cursor: { sync: { key: "micro-batches" }, drag: { x: true, y: false } },
      legend: { live: true },
    };
    const plot = new uPlot(settings, [[], ...series.map(() => [])], into);
    plot.over.addEventListener("click", () => {
      if (plot.cursor.idx !== null && plot.cursor.idx !== undefined) this.choose(plot.cursor.idx);
    });
    return plot;
  }

  line(id, label, name, told) {
    const value = (_, given) => (given === null || given === undefined ? "–" : told(given));
    const points = { size: 5, fill: () => colour(name), stroke: () => colour(name) };
    return this.plot(id, [{ label, value, stroke: () => colour(name), fill: () => `${colour(name)}22`, width: 2, points }], "");
  }

  bars(id, labels, names, told, unit) {
    const paths = uPlot.paths.bars({ size: [0.72, 40], gap: 1 });
    const series = labels.map((label, at) => ({
      label,
      stroke: () => colour(names[at]),
      fill: () => colour(names[at]),
      width: 0,
      paths,
      points: { show: false },
      // What is drawn is the sum of this step and those below it; what is told is the step alone.
      value: (plot, _, number, at_) => {
        const own = plot.data[number]?.[at_], below = plot.data[number + 1]?.[at_] ?? 0;
        return own === null || own === undefined ? "–" : told(own - below);
      },
    }));
    return this.plot(id, series, unit);
  }

  show(moments) {
    this.moments = moments;
    const batches = moments.map((each) => each.batch);
    const sums = STEPS.map((_, at) => moments.map((each) => STEPS.slice(0, at + 1).reduce((sum, step) => sum + (each.split[step] ?? 0), 0)));
    this.throughput.setData([batches, moments.map((each) => each.rate || null)]);
    this.matches.setData([batches, moments.map((each) => each.pairs)]);
    this.time.setData([batches, ...sums.reverse()]);
  }

  fit() {
    for (const plot of this.all) {
      const width = plot.root.parentElement.clientWidth;
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: HEIGHT });
    }
  }
}
