// The page: one stream's picture, clicks and boxes on it, and the list of its objects. Coordinates sent are pixels of the
// stream's own picture, whatever size it is shown at.
'use strict';

import { request, session, setToken } from './api.js';
import { ObjectList } from './objects.js';
import { watchPointer } from './pointer.js';
import { Show } from './show.js';
import { toast } from './toast.js';

const $ = (id) => document.getElementById(id);
const pollEvery = 500; // ms
const keys = matchMedia('(hover: hover)').matches ? ' (or Shift)' : ''; // what a finger has no keys for

const view = {
  stream: decodeURIComponent(location.hash.slice(1)),
  status: null,
  selected: null, // object id; null: a prompt makes a new object
  negative: false,
  run: '', // of the process whose picture is shown; '' after an outage
  pointed: null, // the frame of results that was seen when the pointer went down
  asking: false,
  how: null,
};

const streamPath = (rest = '') => `/api/streams/${encodeURIComponent(view.stream)}${rest}`;

async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    toast(error.message);
    return null;
  }
}

session.onToken = () => {
  if (view.asking) return;
  view.asking = true;
  $('login').showModal();
  $('login').addEventListener('close', () => {
    view.asking = false;
    setToken($('token').value.trim());
    show.start();
    poll();
  }, { once: true });
};

// Picture

const show = new Show({
  canvas: $('canvas'), video: $('video'), mjpeg: $('mjpeg'),
  onShown: () => {
    $('blank').hidden = true;
    $('frame').classList.add('shown');
    fit();
  },
  onLost: () => {
    $('frame').classList.remove('shown');
    $('blank').hidden = false;
  },
  onHow: (how) => {
    view.how = how;
    showHow();
  },
});

show.expected = () => view.status?.state === 'up' && !document.hidden; // else no picture is to be expected
show.onDrawn = (message) => {
  if (message?.objects.some((o) => !show.painter.colours.has(o.id))) poll(); // a new one: its colour is not known yet
};

// fit makes the frame as large as the stage allows, in the picture's proportions.
function fit() {
  const [h, w] = view.status?.size?.[0] ? view.status.size : show.natural();
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

const dropDrag = watchPointer({
  stage: $('stage'), surface: $('picture'), frame: $('box'),
  size: () => view.status?.size,
  began: () => { view.pointed = show.painter.drawn; },
  dragging: () => { // what is pointed at stands still meanwhile
    show.painter.frozen = true;
    view.pointed = show.painter.drawn;
  },
  ended: () => { show.painter.frozen = false; },
  click: (at, event) => click(at, event.shiftKey || view.negative),
  box: (box) => prompt({ box }),
});

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
  if (view.pointed) Object.assign(body, { frame: view.pointed.frame, epoch: view.pointed.epoch });
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

const list = new ObjectList($('objects'), {
  choose: (id) => select(view.selected === id ? null : id),
  remove: async (id) => {
    await attempt(() => request('DELETE', streamPath(`/objects/${id}`)));
    poll();
  },
});

function select(id) {
  view.selected = id;
  showObjects();
}

function setMode(negative) {
  view.negative = negative;
  $('positive').setAttribute('aria-checked', String(!negative));
  $('negative').setAttribute('aria-checked', String(negative));
}

function showObjects() {
  const objects = view.status?.objects || [];
  if (view.selected !== null && !objects.some((o) => o.id === view.selected)) view.selected = null;
  list.show(objects, view.selected);
  show.painter.selected = view.selected;
  show.painter.colours = new Map(objects.map((o) => [o.id, o.color]));
  $('none').hidden = objects.length > 0;
  $('reset').disabled = $('reverse').disabled = objects.length === 0;
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

// resume asks for the picture, at first and again after an outage: an <img> does not tell when its pictures end. The last picture of
// a stream that has ended stays.
function resume() {
  const run = view.status && view.status.state !== 'ended' ? view.status.run : '';
  if (view.run === run) return;
  view.run = run;
  if (!run) {
    show.stop();
    return;
  }
  show.stream = view.stream;
  show.webrtc = Boolean(view.status.webrtc);
  show.mode = localStorage.getItem('mode') || view.status.webrtc?.mode || 'locked';
  $('mode').value = show.mode;
  $('mode').disabled = !show.webrtc;
  show.start();
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
  view.stream = name;
  view.selected = null;
  view.run = '';
  history.replaceState(null, '', name ? `#${encodeURIComponent(name)}` : ' ');
  show.stop();
  show.onLost();
}

function showStatus(trouble) {
  const s = view.status;
  const state = s ? s.state : 'down';
  const live = view.how?.way === 'webrtc';
  const fps = live ? show.painter.rate() : s?.fps;
  const latency = live && show.latency > 0 ? show.latency : s?.latency_ms;
  $('state').firstElementChild.className = `dot ${state}`;
  $('state').lastElementChild.textContent = s ? state : 'offline';
  $('fps').textContent = s ? fps.toFixed(live ? 0 : 1) : '–';
  $('latency').textContent = s && latency ? `${Math.round(latency)} ms` : '–';
  $('size').textContent = s?.size?.[0] ? `${s.size[1]} × ${s.size[0]}` : '–';
  $('blank').textContent = trouble || s?.error || (s && s.state === 'ended' ? 'The stream has ended.' : 'Waiting for the first picture …');
  if (s) {
    showObjects();
    showHow();
    fit();
  }
}

function showHow() {
  const w = view.status?.webrtc;
  let text = '';
  if (view.how?.way === 'mjpeg') text = `MJPEG, since WebRTC cannot be had: ${view.how.why}.`;
  else if (view.how) text = `WebRTC; the video is ${w?.video || 'on its way'}${w?.reason ? `: ${w.reason}` : ''}.`;
  if ($('how').textContent !== text) $('how').textContent = text;
}

// Wiring

$('streams').addEventListener('change', (event) => {
  change(event.target.value);
  poll();
});
$('mode').addEventListener('change', (event) => {
  localStorage.setItem('mode', event.target.value);
  show.mode = event.target.value;
  show.start();
});
$('positive').addEventListener('click', () => setMode(false));
$('negative').addEventListener('click', () => setMode(true));
$('fresh').addEventListener('click', () => select(null));
$('discover').addEventListener('click', async (event) => {
  event.target.disabled = true;
  const before = view.status?.objects.length ?? 0;
  const frame = await attempt(() => request('POST', streamPath('/discover')));
  event.target.disabled = false;
  const more = frame ? Math.max(0, frame.objects.length - before) : 0;
  if (frame) toast(more === 1 ? 'One more object was found.' : `${more || 'No'} more objects were found${more ? '' : ' that the model is sure enough of'}.`, 'news');
  poll();
});
$('reverse').addEventListener('click', async () => {
  const body = view.selected === null ? {} : { objects: [view.selected] };
  if (await attempt(() => request('POST', streamPath('/reverse'), body))) {
    toast(`${view.selected === null ? 'All objects are' : `Object ${view.selected} is`} being followed back in time. The masks go where the others go.`, 'news');
  }
});
$('reset').addEventListener('click', async () => {
  await attempt(() => request('POST', streamPath('/reset')));
  view.selected = null;
  poll();
});
addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || view.asking) return;
  dropDrag();
  select(null);
});
addEventListener('resize', fit);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) poll();
});

poll();
