// Pairs a device, and signs what it sends. Its key is made here, cannot be read even by this page,
// and stays in this browser.

const encoder = new TextEncoder();
const algorithm = { name: "ECDSA", namedCurve: "P-256" };
const signing = { name: "ECDSA", hash: "SHA-256" };
const hexadecimal = (buffer) =>
  [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

// --- The key and the device's id, in this browser's database. ---

function database() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("anyhook", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("device");
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}

async function inStore(mode, work) {
  const opened = await database();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = opened.transaction("device", mode);
      const asked = work(transaction.objectStore("device"));
      transaction.oncomplete = () => resolve(asked.result);
      transaction.onerror = () => reject(transaction.error);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    opened.close();
  }
}

const readDevice = () => inStore("readonly", (store) => store.get("this"));
const keepDevice = (device) => inStore("readwrite", (store) => store.put(device, "this"));

async function sendJson(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    credentials: "same-origin",
  });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error?.message ?? "it was refused");
  return said;
}

// --- Signed requests: forms of pages are sent by this, not by the browser. ---

async function sendSigned(path, body) {
  const device = await readDevice();
  if (!device) throw new Error("this browser has no key any more: pair it again with anyhook ui --lan");
  const given = await fetch("/device/nonce", { credentials: "same-origin" });
  const { nonce, error } = await given.json();
  if (!given.ok) throw new Error(error?.message ?? "it was refused");
  const text = `anyhook request 1\nPOST ${path}\ndevice ${device.id}\nnonce ${nonce}\n\n${body}`;
  const signature = await crypto.subtle.sign(signing, device.key, encoder.encode(text));
  const answer = await fetch(path, {
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "x-anyhook-device": device.id,
      "x-anyhook-nonce": nonce,
      "x-anyhook-signature": hexadecimal(signature),
    },
    body,
    credentials: "same-origin",
  });
  const isJson = answer.headers.get("content-type")?.startsWith("application/json");
  const said = isJson ? await answer.json() : {};
  if (!answer.ok) {
    const hint = said.error?.hint ? ` (${said.error.hint})` : "";
    throw new Error((said.error?.message ?? "it was refused") + hint);
  }
  return said;
}

function tell(form, message) {
  let place = form.querySelector(".refusal");
  if (!place) {
    place = document.createElement("p");
    place.className = "refusal notice bad";
    place.setAttribute("role", "alert");
    form.append(place);
  }
  place.textContent = message;
}

async function send(form, button) {
  const fields = new FormData(form, button);
  // The signature says more than this word could.
  fields.delete("csrf");
  try {
    const { to } = await sendSigned(form.getAttribute("action"), new URLSearchParams(fields).toString());
    if (to && to !== location.pathname) location.assign(to);
    else location.reload();
  } catch (error) {
    tell(form, `Not done: ${error.message}.`);
    delete form.dataset.sent;
    for (const one of form.querySelectorAll("button")) one.disabled = false;
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("method") !== "post") return;
  event.preventDefault();
  if (!form.dataset.sent) send(form, event.submitter);
}, { capture: true });

// --- Pairing. ---

async function pair(secret, fingerprint, name) {
  const pair = await crypto.subtle.generateKey(algorithm, false, ["sign", "verify"]);
  const key = hexadecimal(await crypto.subtle.exportKey("raw", pair.publicKey));
  const transcript = `anyhook pairing 1\ncertificate ${fingerprint}\nkey ${key}\nname ${name}\n`;
  const word = await crypto.subtle.importKey(
    "raw", encoder.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const derived = async (purpose) =>
    hexadecimal(await crypto.subtle.sign("HMAC", word, encoder.encode(`${purpose}\n${transcript}`)));
  const proof = await derived("proof");
  const signature = await crypto.subtle.sign(signing, pair.privateKey, encoder.encode(transcript));
  const { ticket } = await sendJson("/pair", { name, key, proof, signature: hexadecimal(signature) });
  const number = Number.parseInt((await derived("code")).slice(0, 8), 16) % 1_000_000;
  const code = String(number).padStart(6, "0").match(/../g).join("-");
  document.getElementById("code").textContent = code;
  document.getElementById("pair-code").hidden = false;
  for (;;) {
    const said = await sendJson("/pair/finish", { ticket });
    if (said.state === "paired") {
      await keepDevice({ id: said.device, key: pair.privateKey });
      return location.replace("/decisions");
    }
  }
}

const form = document.getElementById("pair");
if (form) {
  const state = document.getElementById("pair-state");
  const [secret, fingerprint] = location.hash.slice(1).split(".");
  // It is good for one device; neither the history nor the address bar needs it.
  history.replaceState(null, "", location.pathname);
  if (!secret || !fingerprint) {
    state.textContent = "Scan the code that anyhook ui --lan shows in the terminal.";
  } else if (!globalThis.crypto?.subtle || !globalThis.indexedDB) {
    state.textContent = "This browser cannot make or keep keys here. A private window may be the reason.";
  } else {
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      form.hidden = true;
      state.textContent = "";
      try {
        await pair(secret, fingerprint, form.elements.name.value.trim());
      } catch (error) {
        document.getElementById("pair-code").hidden = true;
        state.textContent = `Not paired: ${error.message}.`;
      }
    });
  }
}
