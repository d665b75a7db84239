// Keeps the page up to date, counts times on, and answers keys. Without it the page works, too:
// then it has to be reloaded.

const policy = globalThis.trustedTypes?.createPolicy("anyhook", { createHTML: (text) => text });
const parse = (text) =>
  new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");

// --- Parts that have changed are replaced; what a person is typing into stays. ---

const keyOf = (node) => node.nodeType === Node.ELEMENT_NODE && (node.dataset.key || node.id || null);

function isBusy(node) {
  const fields = node.querySelectorAll("input:not([type=hidden]), textarea, select");
  return [...fields].some((field) =>
    field === document.activeElement && field.matches("input[type=text], textarea")
    || (field.type === "checkbox" || field.type === "radio"
      ? field.checked !== field.defaultChecked
      : field.tagName === "SELECT" ? false : field.value !== field.defaultValue));
}

function update(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  const replace = old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName
    || keyOf(old) !== keyOf(fresh);
  if (replace) return old.replaceWith(fresh);
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.nodeName === "FORM" && isBusy(old)) return;
  for (const { name } of [...old.attributes]) {
    // Whether details are open is the person's choice.
    if (!fresh.hasAttribute(name) && !(old.nodeName === "DETAILS" && name === "open")) {
      old.removeAttribute(name);
    }
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  updateChildren(old, fresh);
}

function updateChildren(old, fresh) {
  const known = new Map();
  for (const child of old.children) {
    const key = keyOf(child);
    if (key) known.set(key, child);
  }
  let at = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const key = keyOf(next);
    const same = key ? known.get(key) : at && !keyOf(at) ? at : null;
    if (same) {
      if (same === at) at = at.nextSibling;
      else old.insertBefore(same, at);
      update(same, next);
    } else {
      const added = old.insertBefore(next, at);
      if (key && added.classList) added.classList.add("fresh");
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    // A form that a person is filling in stays until they see that it is too late.
    gone.remove();
  }
}

let refreshing = false;
let again = false;

async function refresh() {
  if (refreshing) {
    again = true;
    return;
  }
  refreshing = true;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin", redirect: "manual" });
    const isPage = answer.headers.get("content-type")?.startsWith("text/html");
    if (answer.status === 401) return location.reload();
    if (isPage) {
      const fresh = parse(await answer.text());
      document.title = fresh.title;
      for (const id of ["nav", "main"]) {
        const old = document.getElementById(id);
        const next = fresh.getElementById(id);
        if (old && next) update(old, document.importNode(next, true));
      }
      tick();
    }
    setStale(false);
  } catch {
    setStale(true);
  } finally {
    refreshing = false;
    if (again) {
      again = false;
      refresh();
    }
  }
}

function setStale(isStale) {
  const banner = document.getElementById("stale");
  if (banner) banner.hidden = !isStale;
  document.body.toggleAttribute("data-stale", isStale);
}

// --- The daemon says what has changed. ---

const follows = new Set((document.body.dataset.follows || "").split(" ").filter(Boolean));
let state = null;

if (follows.size > 0) {
  const live = new EventSource("/live");
  live.addEventListener("hello", ({ data }) => {
    // Something may have happened before we listened, or while we did not.
    if (state !== null || data !== document.body.dataset.state) refresh();
    state = data;
    setStale(false);
    document.body.dataset.live = "yes";
  });
  live.addEventListener("change", ({ data }) => {
    const topics = data.split(" ");
    if (topics.some((topic) => follows.has(topic)) || topics.includes("decisions")) refresh();
  });
  live.addEventListener("error", () => {
    document.body.dataset.live = "no";
    setStale(true);
  });
  addEventListener("pagehide", () => live.close());
}

// --- Times go on. ---

function words(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m`;
  if (whole < 86400) return `${Math.floor(whole / 3600)}h${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")}`;
  return `${Math.floor(whole / 86400)}d`;
}

function tick() {
  const now = Date.now();
  for (const time of document.querySelectorAll("time[data-ago], time[data-left]")) {
    const at = Date.parse(time.dateTime);
    const text = words("left" in time.dataset ? (at - now) / 1000 : (now - at) / 1000);
    if (time.textContent !== text) time.textContent = text;
  }
}
setInterval(tick, 1000);

// --- Buttons are pressed once. ---

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = "yes";
  // The button that was pressed belongs to what is sent, so it is disabled afterwards.
  setTimeout(() => form.querySelectorAll("button").forEach((button) => { button.disabled = true; }));
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    form.querySelectorAll("button").forEach((button) => { button.disabled = false; });
  }
});

// --- Keys. ---

function open() {
  return [...document.querySelectorAll("[data-open], .cards > li, tr[data-key]")];
}

document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select")) return;
  if (key === "j" || key === "k") {
    const all = open();
    const at = all.findIndex((one) => one.contains(document.activeElement));
    const next = all[Math.min(all.length - 1, Math.max(0, at + (key === "j" ? 1 : at < 0 ? 1 : -1)))];
    if (next) {
      event.preventDefault();
      const inner = next.matches("[tabindex]") ? next : next.querySelector("a, button");
      inner?.focus();
      next.scrollIntoView({ block: "nearest" });
    }
  } else if (/^[1-9]$/.test(key)) {
    // Only of a decision that has the focus: no key answers what nobody looks at.
    const decision = document.activeElement?.closest("[data-open]");
    const button = decision?.querySelector(`button[data-number="${key}"]`);
    if (button) {
      event.preventDefault();
      button.click();
    }
  } else if (key === "g") {
    document.querySelector("#nav a")?.focus();
  }
});
