// One line about what went wrong, or is new, for a few seconds.
let timer = 0;
export function toast(message, kind = 'trouble') {
  const note = document.createElement('div');
  note.className = `toast ${kind}`;
  note.textContent = message;
  document.getElementById('toasts').replaceChildren(note); // the newest only: a row of them would cover the picture
  clearTimeout(timer);
  timer = setTimeout(() => note.remove(), 6000);
}
