"use strict";
// What makes the pages better. Everything works without it.

// Times in the reader's zone. The exact one stays in the title.
function showTimes(root) {
  const time = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const it of root.querySelectorAll("time[data-shown]")) {
    const at = new Date(it.dateTime);
    if (it.dataset.shown === "time") it.textContent = time.format(at);
  }
}

// A question before what cannot be undone, and a word about what is waited for.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented) return;
  const form = event.target;
  if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) {
    event.preventDefault();
    return;
  }
  if (form.method !== "post") return;
  const button = event.submitter ?? form.querySelector("button");
  window.setTimeout(() => {
    if (button) button.disabled = true;
    if (!form.dataset.wait) return;
    const said = document.createElement("p");
    said.setAttribute("role", "status");
    said.textContent = form.dataset.wait;
    form.append(said);
  });
});

// Filters act when they are changed.
document.addEventListener("change", (event) => {
  const form = event.target.closest("form.filters");
  if (form && event.target.matches("select")) form.requestSubmit();
});

// Cells with the names of their columns, for narrow screens, where rows are stacked.
function labelCells(root) {
  for (const table of root.querySelectorAll("table")) {
    const names = Array.from(table.tHead?.rows[0]?.cells ?? [], (it) => it.querySelector(".hidden") ? "" : it.textContent);
    for (const row of table.tBodies[0]?.rows ?? []) {
      for (const cell of row.querySelectorAll("td:not([colspan])")) {
        if (names[cell.cellIndex]) cell.dataset.label = names[cell.cellIndex];
      }
    }
  }
}

// One box for all boxes of a name, or those of them whose values begin with data-only.
for (const all of document.querySelectorAll("[data-all]")) {
  all.closest("label").hidden = false;
  all.addEventListener("change", () => {
    for (const it of document.getElementsByName(all.dataset.all)) {
      if (it.value.startsWith(all.dataset.only ?? "")) it.checked = all.checked;
    }
  });
}

// Parts of a page that change by themselves: what is in an element with data-refresh is read again after so many seconds.
// After ten minutes, or while nobody looks, no longer: each time counts as a use of the session.
const REFRESH_S = 600;

function refresh(part, elapsed = 0) {
  const seconds = Number(part.dataset.refresh);
  if (REFRESH_S < elapsed) return;
  window.setTimeout(async () => {
    if (document.hidden) {
      refresh(part, elapsed + seconds);
      return;
    }
    try {
      const answer = await fetch(window.location.href, { headers: { Accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById(part.id);
      if (!answer.ok || answer.redirected || !fresh) return;
      part.replaceWith(fresh);
      liven(fresh);
      if (fresh.dataset.refresh) refresh(fresh, elapsed + seconds);
    } catch {
      refresh(part, elapsed + seconds);
    }
  }, seconds * 1000);
}

// A button to copy what is to be pasted elsewhere. Browsers give no clipboard to pages without TLS.
function offerCopy(root) {
  if (!navigator.clipboard) return;
  for (const it of root.querySelectorAll("pre[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const done = await navigator.clipboard.writeText(it.textContent.trim()).then(() => true, () => false);
      button.textContent = done ? "Copied" : "Select it, and copy it yourself";
    });
    it.after(button);
  }
}

// Sends a form with one of its files, and shows how much is sent. Returns the page that answers, and its address.
function send(form, file, shown) {
  const body = new FormData(form);
  body.set("file", file);
  const request = new XMLHttpRequest();
  const bar = document.createElement("progress");
  const said = document.createElement("span");
  bar.setAttribute("aria-label", file.name);
  shown.replaceChildren(`${file.name} `, bar, " ", said);
  request.upload.addEventListener("progress", (event) => {
    bar.value = event.loaded / event.total;
    said.textContent = event.loaded < event.total ? `${Math.floor((100 * event.loaded) / event.total)} %` : form.dataset.wait;
  });
  return new Promise((resolve, reject) => {
    request.addEventListener("load", () => resolve({ url: new URL(request.responseURL), page: request.response }));
    request.addEventListener("error", () => reject(new Error("The connection broke off. Try again.")));
    request.responseType = "document";
    request.open("POST", form.action);
    request.send(body);
  });
}

// Files go one after another. One that is refused shows the page that says why; several say it in a list.
async function sendFiles(form, files) {
  const list = document.createElement("ul");
  list.setAttribute("role", "status");
  form.append(list);
  let there = null;
  let refused = 0;
  for (const file of files) {
    const shown = list.appendChild(document.createElement("li"));
    try {
      const { url, page } = await send(form, file, shown);
      const main = page?.querySelector("main");
      if (url.href !== form.action && !url.searchParams.has("done")) {
        // The session has ended, or wants the password again.
        refused += 1;
        for (const left of files.slice(files.indexOf(file) + 1)) list.append(Object.assign(document.createElement("li"), { textContent: `${left.name}: not sent` }));
        shown.replaceChildren(`${file.name}: not sent; reload the page to sign in again`);
        break;
      } else if (url.href !== form.action) {
        there = url;
        shown.replaceChildren(`${file.name}: done`);
      } else if (files.length === 1 && main) {
        document.querySelector("main").replaceWith(main);
        liven(main);
        main.querySelector("[role=alert]")?.scrollIntoView();
        return;
      } else {
        refused += 1;
        shown.replaceChildren(`${file.name}: ${main?.querySelector("[role=alert]")?.textContent.trim() ?? "refused"}`);
      }
    } catch (error) {
      refused += 1;
      shown.replaceChildren(`${file.name}: ${error.message}`);
    }
  }
  if (there && !refused) window.location.assign(there);
  form.querySelector("button:not([type])").disabled = false;
}

// The field that an error is about, by the name that the page gives it.
function markField(root) {
  const said = root.querySelector("[role=alert][data-field]");
  if (!said) return;
  const named = root.querySelectorAll(`[name="${CSS.escape(said.dataset.field)}"]:not([type=hidden])`);
  const shown = Array.from(named).filter((it) => it.checkVisibility());
  if (shown.length !== 1) return;
  const [field] = shown;
  field.setAttribute("aria-invalid", "true");
  field.focus();
  const prefix = `${said.dataset.field}: `;
  const label = field.closest("label")?.firstChild?.textContent.trim();
  if (label && said.textContent.startsWith(prefix)) said.textContent = `${label}: ${said.textContent.slice(prefix.length)}`;
}

// A file can be dropped on its form.
function takeFiles(form) {
  const input = form.querySelector("input[type=file]");
  form.addEventListener("dragover", (event) => event.preventDefault());
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) input.files = event.dataTransfer.files;
  });
  if (!form.dataset.wait) return;
  input.multiple = true;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    form.querySelector("button:not([type])").disabled = true;
    form.querySelector("ul[role=status]")?.remove();
    sendFiles(form, Array.from(input.files));
  });
}

// Where one is, also where a line of links is longer than the screen.
for (const it of document.querySelectorAll("nav [aria-current]")) it.parentElement.scrollLeft = it.offsetLeft - it.parentElement.offsetLeft - 16;

// Passkeys. A form with data-passkey gets a question from there, asks the browser for a passkey, and sends what it answers.
const FAULTS = {
  InvalidStateError: "This device has a passkey of yours already.",
  NotAllowedError: "No passkey was given. Try again.",
  SecurityError: "This browser gives no passkey to this address.",
};

async function answerOf(form) {
  const body = new URLSearchParams(new FormData(form));
  const got = await fetch(form.dataset.passkey, { method: "POST", body });
  if (got.redirected) throw new Error("Your session ended, or must be confirmed. Reload the page.");
  const question = await got.json().catch(() => {
    throw new Error("The service did not answer as it should. Reload the page.");
  });
  if (!got.ok) throw new Error(question.error.message);
  const { credentials } = navigator;
  const made = form.elements.name
    ? await credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(question) })
    : await credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(question) });
  return JSON.stringify(made.toJSON());
}

function offerPasskey(form) {
  if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) return;
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    form.querySelector("[role=alert]")?.remove();
    try {
      form.elements.answer.value = await answerOf(form);
      form.submit();
    } catch (error) {
      const said = document.createElement("p");
      said.className = "note bad";
      said.setAttribute("role", "alert");
      said.textContent = FAULTS[error.name] ?? error.message;
      form.append(said);
      button.disabled = false;
    }
  });
}

for (const form of document.querySelectorAll("form[data-passkey]")) offerPasskey(form);

// What a part of a page gets when it is shown.
function liven(root) {
  showTimes(root);
  labelCells(root);
  offerCopy(root);
  markField(root);
  for (const form of root.querySelectorAll("form[enctype='multipart/form-data']")) takeFiles(form);
}

liven(document);
for (const part of document.querySelectorAll("[data-refresh][id]")) refresh(part);
