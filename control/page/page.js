// The page: one stream's picture, clicks and boxes on it, and the list of its objects. Coordinates sent are pixels of the
// stream's own picture, whatever size it is shown at.
'use strict';

const $ = (id) => document.getElementById(id);
const dragFrom = 7; // CSS pixels: less is a click
const pollEvery = 500; // ms
const keys = matchMedia('(hover: hover)').matches ? ' (or Shift)' : ''; // what a finger has no keys for

const view = {
  stream: decodeURIComponent(location.hash.slice(1)),
  status: null,
  selected: null, // object id; null: a prompt makes a new object
  negative: false,
  run: '', // of the process whose picture is shown; '' after an outage
  drag: null,
  token: sessionStorage.getItem('token') || '',
  asking: false,
};

// Requests

async function request(method, path, body) {
  const headers = {};
  if (view.token) headers.Authorization = `Bearer ${view.token}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Error('The tracker does not answer. Is it still running?');
  }
  if (response.status === 401) {
    askForToken();
    throw new Error('A token is required.');
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok) {
    const error = new Error(answer?.error?.message || `The tracker answered ${response.status}.`);
    error.code = answer?.error?.code;
    throw error;
  }
  return answer;
}

const streamPath = (rest = '') => `/api/streams/${encodeURIComponent(view.stream)}${rest}`;

async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    toast(error.message);
    return null;
  }
}

function askForToken() {
  const dialog = $('login');
  if (view.asking) return;
  view.asking = true;
  dialog.showModal();
  dialog.addEventListener('close', () => {
    view.asking = false;
    view.token = $('token').value.trim();
    sessionStorage.setItem('token', view.token);
    showPicture();
    poll();
  }, { once: true });
}

let toastTimer = 0;
function toast(message) {
  const note = document.createElement('div');
  note.className = 'toast';
  note.textContent = message;
  $('toasts').replaceChildren(note); // the newest only: a row of them would cover the picture
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => note.remove(), 6000);
}

// Picture

function showPicture() {
  if (!view.stream) return;
  const token = view.token ? `&token=${encodeURIComponent(view.token)}` : '';
  $('picture').src = `/preview/${encodeURIComponent(view.stream)}.mjpeg?t=${Date.now()}${token}`;
}

let retry = 0;
function pictureLost() {
  $('frame').classList.remove('shown');
  $('blank').hidden = false;
  clearTimeout(retry);
  retry = setTimeout(showPicture, 1500);
}

function pictureThere() {
  $('blank').hidden = true;
  $('frame').classList.add('shown');
  fit();
}

// fit makes the frame as large as the stage allows, in the picture's proportions.
function fit() {
  const [h, w] = view.status?.size?.[0] ? view.status.size : [$('picture').naturalHeight, $('picture').naturalWidth];
  if (!h || !w) return;
  const stage = $('stage');
  const style = getComputedStyle(stage);
  const room = stage.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const high = matchMedia('(max-width: 800px)').matches
    ? innerHeight * 0.62
    : stage.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
  const scale = Math.max(0.05, Math.min(room / w, high / h));
  $('frame').style.width = `${Math.floor(w * scale)}px`;
  $('frame').style.height = `${Math.floor(h * scale)}px`;
}

// place is where a pointer is, in the frame (CSS pixels) and in the stream's picture.
function place(event) {
  const r = $('picture').getBoundingClientRect();
  const x = Math.min(Math.max(event.clientX - r.left, 0), r.width);
  const y = Math.min(Math.max(event.clientY - r.top, 0), r.height);
  const [h, w] = view.status.size;
  return { x, y, px: Math.round((x / r.width) * w * 10) / 10, py: Math.round((y / r.height) * h * 10) / 10 };
}

function pointerDown(event) {
  if (event.button !== 0 || !view.status?.size?.[0]) return;
  event.preventDefault();
  $('picture').setPointerCapture(event.pointerId);
  // A box around what the picture's edge cuts off begins or ends outside the picture; a click does not.
  view.drag = { from: place(event), id: event.pointerId, box: false, inside: event.target === $('picture') };
}

function pointerMove(event) {
  const drag = view.drag;
  if (!drag || drag.id !== event.pointerId) return;
  const at = place(event);
  drag.box ||= Math.hypot(at.x - drag.from.x, at.y - drag.from.y) > dragFrom;
  if (!drag.box) return;
  const box = $('box');
  box.hidden = false;
  box.style.left = `${Math.min(at.x, drag.from.x)}px`;
  box.style.top = `${Math.min(at.y, drag.from.y)}px`;
  box.style.width = `${Math.abs(at.x - drag.from.x)}px`;
  box.style.height = `${Math.abs(at.y - drag.from.y)}px`;
}

function pointerUp(event) {
  const drag = view.drag;
  if (!drag || drag.id !== event.pointerId) return;
  dropDrag();
  const at = place(event);
  if (!drag.box) {
    if (drag.inside) click(at, event.shiftKey || view.negative);
    return;
  }
  const box = [Math.min(at.px, drag.from.px), Math.min(at.py, drag.from.py), Math.max(at.px, drag.from.px), Math.max(at.py, drag.from.py)];
  if (box[2] > box[0] && box[3] > box[1]) prompt({ box });
}

function dropDrag() {
  view.drag = null;
  $('box').hidden = true;
}

function click(at, negative) {
  if (negative && view.selected === null) {
    toast('First choose the object that this point does not belong to.');
    return;
  }
  const mark = document.createElement('i');
  mark.className = negative ? 'mark negative' : 'mark';
  mark.style.left = `${at.x}px`;
  mark.style.top = `${at.y}px`;
  mark.addEventListener('animationend', () => mark.remove());
  $('marks').append(mark);
  prompt({ points: [[at.px, at.py]], labels: [negative ? 0 : 1], clear_old_points: view.selected === null });
}

async function prompt(body) {
  const asked = view.selected;
  if (asked !== null) body.object = asked;
  const known = new Set((view.status?.objects || []).map((o) => o.id));
  const frame = await attempt(() => request('POST', streamPath('/prompts'), body));
  if (!frame) return;
  $('toasts').replaceChildren(); // what was wrong before is over
  if (asked === null) {
    const added = frame.objects.map((o) => o.id).filter((id) => !known.has(id));
    if (added.length) view.selected = added[added.length - 1];
  }
  poll();
}

// Objects

function choose(id) {
  view.selected = view.selected === id ? null : id;
  showObjects();
}

function setMode(negative) {
  view.negative = negative;
  $('positive').setAttribute('aria-checked', String(!negative));
  $('negative').setAttribute('aria-checked', String(negative));
}

const rows = new Map(); // object id → its row, kept so that a click never meets a row that is being replaced

function makeRow(id) {
  const row = document.createElement('li');
  const pick = document.createElement('button');
  pick.type = 'button';
  pick.className = 'choose';
  const swatch = document.createElement('i');
  swatch.className = 'swatch';
  const name = document.createElement('span');
  name.textContent = `Object ${id}`;
  const state = document.createElement('small');
  pick.append(swatch, name, state);
  pick.addEventListener('click', () => choose(id));
  const remove = document.createElement('button');
  remove.type = 'button';
  remove.className = 'remove';
  remove.textContent = '×';
  remove.title = `Remove object ${id}`;
  remove.setAttribute('aria-label', remove.title);
  remove.addEventListener('click', async () => {
    await attempt(() => request('DELETE', streamPath(`/objects/${id}`)));
    poll();
  });
  row.append(pick, remove);
  return { row, pick, swatch, state };
}

function showObjects() {
  const objects = view.status?.objects || [];
  const present = new Set(objects.map((o) => o.id));
  if (view.selected !== null && !present.has(view.selected)) view.selected = null;
  for (const [id, parts] of rows) {
    if (!present.has(id)) {
      parts.row.remove();
      rows.delete(id);
    }
  }
  for (const object of objects) {
    if (!rows.has(object.id)) {
      rows.set(object.id, makeRow(object.id));
      $('objects').append(rows.get(object.id).row);
    }
    const { row, pick, swatch, state } = rows.get(object.id);
    row.className = `${object.state}${object.id === view.selected ? ' selected' : ''}`;
    pick.setAttribute('aria-pressed', String(object.id === view.selected));
    swatch.style.backgroundColor = object.color;
    state.textContent = object.state;
  }
  $('none').hidden = objects.length > 0;
  $('reset').disabled = objects.length === 0;
  $('fresh').disabled = view.selected === null;
  $('negative').disabled = view.selected === null; // a new object begins with a point on it
  if (view.selected === null && view.negative) setMode(false);
  $('help').textContent = view.selected === null
    ? 'Click an object in the picture, or drag a box around it.'
    : `Clicks now correct object ${view.selected}: + adds to it, −${keys} takes away. A box replaces its prompts.`;
}

// Status

let polling = 0;
let pollNumber = 0;
async function poll() {
  clearTimeout(polling);
  const mine = ++pollNumber;
  try {
    const { streams } = await request('GET', '/api/streams');
    if (mine !== pollNumber) return; // a newer one is under way
    showStreams(streams);
    view.status = streams.find((s) => s.name === view.stream) || null;
    resume();
    showStatus();
  } catch (error) {
    if (mine !== pollNumber) return;
    view.status = null;
    view.run = '';
    showStatus(error.message);
  }
  if (!view.asking) polling = setTimeout(poll, pollEvery);
}

// resume asks for the picture again after an outage: an <img> does not tell when its pictures end.
function resume() {
  const run = view.status?.run || '';
  if (view.run !== run) {
    view.run = run;
    if (run) showPicture();
  }
}

function showStreams(streams) {
  const select = $('streams');
  const names = streams.map((s) => s.name);
  if (!names.includes(view.stream)) change(names[0] || '');
  if ([...select.options].map((o) => o.value).join() !== names.join()) {
    select.replaceChildren(...names.map((name) => new Option(name, name)));
  }
  select.value = view.stream;
}

function change(name) {
  if (name === view.stream && $('picture').src) return;
  view.stream = name;
  view.selected = null;
  history.replaceState(null, '', name ? `#${encodeURIComponent(name)}` : ' ');
  pictureLost();
  showPicture();
}

function showStatus(trouble) {
  const s = view.status;
  const state = s ? s.state : 'down';
  $('state').firstElementChild.className = `dot ${state}`;
  $('state').lastElementChild.textContent = s ? state : 'offline';
  $('fps').textContent = s ? s.fps.toFixed(1) : '–';
  $('latency').textContent = s && s.latency_ms ? `${Math.round(s.latency_ms)} ms` : '–';
  $('size').textContent = s?.size?.[0] ? `${s.size[1]} × ${s.size[0]}` : '–';
  $('blank').textContent = trouble || s?.error || (s && s.state === 'ended' ? 'The stream has ended.' : 'Waiting for the first picture …');
  if (s) {
    showObjects();
    fit();
  }
}

// Wiring

const picture = $('picture');
picture.addEventListener('load', pictureThere);
picture.addEventListener('error', pictureLost);
$('stage').addEventListener('pointerdown', pointerDown);
picture.addEventListener('pointermove', pointerMove);
picture.addEventListener('pointerup', pointerUp);
picture.addEventListener('pointercancel', dropDrag);
picture.addEventListener('contextmenu', (event) => event.preventDefault());
$('streams').addEventListener('change', (event) => {
  change(event.target.value);
  poll();
});
$('positive').addEventListener('click', () => setMode(false));
$('negative').addEventListener('click', () => setMode(true));
$('fresh').addEventListener('click', () => {
  view.selected = null;
  showObjects();
});
$('reset').addEventListener('click', async () => {
  await attempt(() => request('POST', streamPath('/reset')));
  view.selected = null;
  poll();
});
addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || view.asking) return;
  dropDrag();
  view.selected = null;
  showObjects();
});
addEventListener('resize', fit);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) poll();
});

poll();
