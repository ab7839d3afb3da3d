// Shows /status.json, again and again. Everything that comes from clients is put into the page as
// text, never as markup.
"use strict";

const REFRESH_MS = 2000;
const HISTORY = 150;  // looks that the curves show
const element = (id) => document.getElementById(id);

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit + 1 < units.length) {
    count /= 1024;
    ++unit;
  }
  return `${count.toFixed(unit === 0 || count >= 100 ? 0 : 1)} ${units[unit]}`;
}

function age(seconds) {
  const days = Math.floor(seconds / 86400);
  const hours = Math.floor(seconds / 3600) % 24;
  const minutes = Math.floor(seconds / 60) % 60;
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${Math.floor(seconds) % 60} s`;
}

const number = (count) => count.toLocaleString("en", { maximumFractionDigits: 1 });
const known = (value, unit) => (value === undefined ? "–" : `${number(value)} ${unit}`);

const percent = (share) => (share === undefined ? "–" : `${Math.round(100 * share)} %`);
const perSecond = (rate) => (rate === undefined ? "–" : number(rate));
const sum = (values) => values.reduce((total, value) => total + (value ?? 0), 0);
// The sum of the values that are known; undefined if none is.
const sumOfKnown = (values) => (values.every((value) => value === undefined) ? undefined : sum(values));

// The look before, to which this one is compared: {time, status}. The time is the daemon's, in
// seconds: an answer that is late changes no rate.
let before;
// A row of figures for each look, in the order of CURVES; kept while the page is loaded again.
const looks = [];

// How fast a figure that only grows has grown since the look before. undefined: not known, as when
// the daemon or the session is new.
function growth(now, past, time) {
  if (now === undefined || past === undefined || now < past || time <= before.time) return undefined;
  return (now - past) / (time - before.time);
}

// One cell: text, or an element, with a class.
function cell(content, className = "") {
  const td = document.createElement("td");
  td.className = className;
  td.append(content);
  return td;
}

function fill(id, rows) {
  element(id).replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    row.append(...cells);
    return row;
  }));
}

function meter(value, max) {
  const bar = document.createElement("meter");
  bar.max = max || 1;
  bar.high = bar.max * 0.95;
  bar.value = value;
  return bar;
}

function showFigures(status) {
  const open = sum(Object.values(status.session_states));
  const figures = [
    ["sessions", `${open} of ${status.max_sessions}`],
    ["host memory", bytes(status.host_memory.used)],
    ["requests wait for a compiler", `${status.compiler.waiting} of ${status.compiler.max_waiting}`],
    ["compile requests from the cache", status.cache.hits + status.cache.misses === 0 ? "–" :
      `${Math.round(100 * status.cache.hits / (status.cache.hits + status.cache.misses))} %`],
    ["warm executors", number(status.executors.waiting)],
    ["connections", number(status.connections)],
    ["refused calls", number(status.refusals)],
    ["faults", number(status.faults)],
  ];
  element("figures").replaceChildren(...figures.map(([name, value]) => {
    const box = document.createElement("div");
    const strong = document.createElement("b");
    const label = document.createElement("span");
    box.className = "figure";
    strong.append(value);
    label.append(name);
    box.append(strong, label);
    return box;
  }));
}

function showDevices(devices) {
  fill("devices", devices.map((device) => {
    const used = device.total_memory - (device.free_memory ?? device.total_memory);
    return [
      cell(String(device.ordinal), "short"),
      cell(device.name),
      cell(meter(used, device.total_memory)),
      cell(bytes(used), "number"),
      cell(bytes(device.total_memory), "number"),
      cell(bytes(device.reserved_memory), "number"),
      cell(device.reason ? `${device.health}: ${device.reason}` : device.health ?? "–",
        { ready: "good", probing: "doubt", quarantined: "bad" }[device.health] ?? ""),
      cell(number(device.faults ?? 0), device.faults > 0 ? "number bad" : "number"),
      cell(known(device.probe_seconds, "s"), "number"),
      cell(known(device.gpu_seconds, "s"), "number"),
      cell(known(device.gpu_utilization, "%"), "number"),
      cell(known(device.temperature, "°C"), "number"),
      cell(known(device.power_watts, "W"), "number"),
    ];
  }));
}

// Adds to each session its part of a GPU's time and its launches a second.
function addRates(status, time) {
  const past = new Map((before?.status.sessions ?? []).map((session) => [session.id, session]));
  for (const session of status.sessions ?? []) {
    session.gpu_share = growth(session.gpu_seconds, past.get(session.id)?.gpu_seconds, time);
    session.launch_rate = growth(session.launches, past.get(session.id)?.launches, time);
  }
}

function showTenants(sessions) {
  const tenants = new Map();
  for (const session of sessions) {
    if (!tenants.has(session.tenant)) tenants.set(session.tenant, []);
    tenants.get(session.tenant).push(session);
  }
  element("tenant-section").hidden = tenants.size < 2;
  const byName = [...tenants].sort(([one], [other]) => one.localeCompare(other));
  fill("tenants", byName.map(([name, own]) => [
    cell(name),
    cell(number(own.length), "number"),
    cell(bytes(sum(own.map((session) => session.device_bytes))), "number"),
    cell(bytes(sum(own.map((session) => session.host_bytes))), "number"),
    cell(percent(sumOfKnown(own.map((session) => session.gpu_share))), "number"),
    cell(perSecond(sumOfKnown(own.map((session) => session.launch_rate))), "number"),
  ]));
}

function showSessions(status) {
  element("hidden").hidden = status.sessions !== undefined;
  element("session-table").hidden = status.sessions === undefined;
  showTenants(status.sessions ?? []);
  fill("sessions", (status.sessions ?? []).map((session) => [
    cell(session.id, "short"),
    cell(session.state, ["lost", "faulted"].includes(session.state) ? "bad" : ""),
    cell(session.tenant),
    cell(session.name),
    cell(`${session.program} ${session.pid}`),
    cell(bytes(session.device_bytes), "number"),
    cell(bytes(session.host_bytes), "number"),
    cell(known(session.gpu_seconds, "s"), "number"),
    cell(percent(session.gpu_share), "number"),
    cell(number(session.launches), "number"),
    cell(perSecond(session.launch_rate), "number"),
    cell(number(session.outstanding_commands), "number"),
    cell(number(session.faults), session.faults > 0 ? "number bad" : "number"),
    cell(age(session.age_seconds), "number"),
  ]));
}

function showRates(rates) {
  const rows = [
    ["commands", rates?.commands, number],
    ["commands that failed", rates?.failed_commands, number],
    ["launches of kernels", rates?.launches, number],
    ["launches of graphs", rates?.graph_launches, number],
    ...Object.entries(rates?.copied_bytes ?? {}).map(([path, rate]) => [`bytes copied, ${path}`, rate, bytes]),
  ].filter(([, rate]) => rate > 0);
  element("rate-section").hidden = rows.length === 0;
  fill("rates", rows.map(([name, rate, format]) => [cell(name), cell(format(rate), "number")]));
}

// [name, the figure now, how it is written]. `past` is the status of the look before.
const CURVES = [
  ["launches a second", (now, past, time) => growth(now.totals.launches + now.totals.graph_launches,
    past.totals.launches + past.totals.graph_launches, time), number],
  ["bytes copied a second", (now, past, time) =>
    growth(now.totals.copied_bytes, past.totals.copied_bytes, time), bytes],
  ["GPUs that kernels keep busy", (now, past, time) => growth(sum(now.devices.map((device) => device.gpu_seconds)),
    sum(past.devices.map((device) => device.gpu_seconds)), time), number],
  ["device memory of sessions", (now) => sum(now.devices.map((device) => device.reserved_memory)), bytes],
];

try {
  const kept = JSON.parse(sessionStorage.getItem("looks")) ?? [];
  looks.push(...kept.filter((row) => row.length === CURVES.length));
} catch { /* No storage, or nothing of this page's in it. */ }

// The values as a line from left, the oldest, to right, on a scale from 0 to the largest.
function curve(values) {
  const svg = element("curve").content.firstElementChild.cloneNode(true);
  const largest = Math.max(...values, 1e-9);
  const left = HISTORY - values.length;
  const points = values.map((value, i) => `${left + i},${(29 - 28 * value / largest).toFixed(2)}`);
  svg.setAttribute("viewBox", `0 0 ${HISTORY - 1} 30`);
  svg.firstElementChild.setAttribute("d", points.length > 0 ? `M${points.join("L")}` : "");
  return svg;
}

function showCurves(status, time) {
  if (before !== undefined) {
    looks.push(CURVES.map(([, figure]) => figure(status, before.status, time) ?? 0));
    looks.splice(0, looks.length - HISTORY);
    try {
      sessionStorage.setItem("looks", JSON.stringify(looks));
    } catch { /* No storage. */ }
  }
  element("curves").replaceChildren(...CURVES.map(([name, , format], i) => {
    const values = looks.map((row) => row[i]);
    const box = document.createElement("div");
    const strong = document.createElement("b");
    const label = document.createElement("span");
    box.className = "curve";
    strong.append(values.length === 0 ? "–" : format(values.at(-1)));
    label.append(name);
    box.append(strong, label, curve(values));
    return box;
  }));
}

function show(status) {
  const time = status.uptime_seconds;
  element("host").textContent = status.host || "Holdfast";
  document.title = status.host ? `${status.host} – Holdfast` : "Holdfast";
  element("version").textContent = `Holdfast ${status.version}`;
  element("state").textContent = `up ${age(status.uptime_seconds)}`;
  element("state").className = "";
  element("looked").textContent = new Date().toLocaleTimeString();
  addRates(status, time);
  showFigures(status);
  showCurves(status, time);
  showDevices(status.devices);
  showSessions(status);
  showRates(status.rates);
  before = { time, status };
}

async function refresh() {
  try {
    const answer = await fetch("/status.json");
    if (!answer.ok) throw new Error(`the daemon answers ${answer.status}`);
    show(await answer.json());
  } catch (error) {
    element("state").textContent = `no answer: ${error.message}`;
    element("state").className = "failed";
  }
  setTimeout(refresh, REFRESH_MS);
}

refresh();
