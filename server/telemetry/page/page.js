// Shows /status.json, again and again. Everything that comes from clients is put into the page as
// text, never as markup.
"use strict";

const REFRESH_MS = 2000;
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
  const open = Object.values(status.session_states).reduce((sum, count) => sum + count, 0);
  const figures = [
    ["sessions", `${open} of ${status.max_sessions}`],
    ["host memory", bytes(status.host_memory.used)],
    ["requests wait for a compiler", `${status.compiler.waiting} of ${status.compiler.max_waiting}`],
    ["compile requests from the cache", status.cache.hits + status.cache.misses === 0 ? "–" :
      `${Math.round(100 * status.cache.hits / (status.cache.hits + status.cache.misses))} %`],
    ["warm executors", number(status.executors.waiting)],
    ["connections", number(status.connections)],
    ["refusals", number(status.refusals)],
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
      cell(String(device.ordinal)),
      cell(device.name),
      cell(meter(used, device.total_memory)),
      cell(bytes(used), "number"),
      cell(bytes(device.total_memory), "number"),
      cell(bytes(device.reserved_memory), "number"),
      cell(device.reason ? `${device.health}: ${device.reason}` : device.health ?? "–",
        device.health === "quarantined" ? "bad" : ""),
      cell(number(device.faults ?? 0), device.faults > 0 ? "number bad" : "number"),
      cell(known(device.probe_seconds, "s"), "number"),
      cell(known(device.gpu_seconds, "s"), "number"),
      cell(known(device.gpu_utilization, "%"), "number"),
      cell(known(device.temperature, "°C"), "number"),
      cell(known(device.power_watts, "W"), "number"),
    ];
  }));
}

function showSessions(status) {
  element("hidden").hidden = status.sessions !== undefined;
  element("session-table").hidden = status.sessions === undefined;
  fill("sessions", (status.sessions ?? []).map((session) => [
    cell(session.id),
    cell(session.state, ["lost", "faulted"].includes(session.state) ? "bad" : ""),
    cell(session.tenant),
    cell(session.name),
    cell(`${session.program} ${session.pid}`),
    cell(bytes(session.device_bytes), "number"),
    cell(bytes(session.host_bytes), "number"),
    cell(known(session.gpu_seconds, "s"), "number"),
    cell(number(session.launches), "number"),
    cell(number(session.outstanding_commands), "number"),
    cell(number(session.faults), session.faults > 0 ? "number bad" : "number"),
    cell(age(session.age_seconds), "number"),
  ]));
}

function showRates(rates) {
  if (rates === undefined) {
    return fill("rates", [[cell("known from the second look on"), cell("–", "number")]]);
  }
  fill("rates", [
    [cell("commands"), cell(number(rates.commands), "number")],
    [cell("commands that failed"), cell(number(rates.failed_commands), "number")],
    [cell("launches of kernels"), cell(number(rates.launches), "number")],
    [cell("launches of graphs"), cell(number(rates.graph_launches), "number")],
    ...Object.entries(rates.copied_bytes).map(([path, rate]) =>
      [cell(`bytes copied, ${path}`), cell(bytes(rate), "number")]),
  ]);
}

function show(status) {
  element("version").textContent = status.version;
  element("state").textContent = `up ${age(status.uptime_seconds)}`;
  element("state").className = "";
  showFigures(status);
  showDevices(status.devices);
  showSessions(status);
  showRates(status.rates);
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
