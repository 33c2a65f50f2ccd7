// Numbers and times for people, and elements that only ever hold text: no name from outside is read as markup.
"use strict";

const whole = (value) => Math.round(value).toLocaleString("en-US");

function short(value) {
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (Math.abs(value) >= size) return `${Number((value / size).toPrecision(3))}${unit}`;
  return `${Number(value.toPrecision(3))}`;
}

function bytes(value) {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (value < 1000 || unit === "GB") return `${unit === "B" ? value : value.toFixed(1)} ${unit}`;
    value /= 1000;
  }
}

// Microseconds since 1970, in UTC; a time that a Date cannot hold is given as its number.
function stamp(microseconds) {
  const date = new Date(microseconds / 1000);
  return isNaN(date) ? `${microseconds} µs` : date.toISOString().replace("T", " ").slice(0, 19);
}

const clock = (microseconds) => stamp(microseconds).slice(11) || stamp(microseconds);

function long(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const [size, unit] = units.find(([size]) => Math.abs(seconds) >= 2 * size) ?? [1, "s"];
  return `${Number((seconds / size).toFixed(1))} ${unit}`;
}

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function drawn(name, settings, inside = []) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(settings)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}
